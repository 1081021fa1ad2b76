"""What a command imports: a module that it does not use would only make it slow to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.app.cli.table import COMMANDS, command_line

ROOT = Path(__file__).parents[3]
EXAMPLE = str(ROOT / "static" / "examples" / "box_blur.py")

SCREEN = {"panel", "bokeh", "param", "tornado", "asyncio", "anywidget", "ipywidgets", "IPython", "resvg_py"}
SEARCH = {"optuna", "dask", "distributed", "multiprocessing"}
ELSEWHERE = SCREEN | SEARCH | {"tvm", "rich", "shtab"}
"""Libraries that only some commands use: the server, `explore`, `completion`, and each one that prints on a terminal."""

VIEWS = "tilewright.app.views"


def imported_by(*words: str) -> set[str]:
    """The modules of a process that has run a command line, its output in a pipe."""
    code = f"""if True:
        import contextlib, io, sys
        from tilewright.app.cli import main
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main({list(words)!r})
        print(*sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("rnu",)])
def test_given_no_command_then_no_command_and_no_simulator_is_imported(words: tuple[str, ...]) -> None:
    found = imported_by(*words)
    assert not found & {f"tilewright.engine.{part}" for part in ("arith", "script", "schedule", "execute", "hwsim")}
    assert not {name for name in found if name.startswith("tilewright.app.cli.commands")}
    assert not found & {*ELSEWHERE, "numpy", "islpy", "sqlite3"}


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (("machines",), {"islpy", "tilewright.app.document", VIEWS}),
        (("run", EXAMPLE), {VIEWS, "tilewright.engine.explore"}),
        (("check", EXAMPLE), {VIEWS, "tilewright.engine.explore"}),
        (("lint", EXAMPLE), {"islpy", VIEWS, "tilewright.engine.explore"}),
        (("diff", EXAMPLE), {"islpy"}),
        (("lower", EXAMPLE), {"islpy", VIEWS, "tilewright.engine.explore"}),
        (("export", EXAMPLE), {"islpy"}),
        (("import", EXAMPLE), {"islpy", VIEWS}),
    ],
    ids=lambda found: found[0] if isinstance(found, tuple) else "",
)
def test_given_a_command_then_only_what_it_uses_is_imported(words: tuple[str, ...], unused: set[str]) -> None:
    found = imported_by(*words)
    assert f"tilewright.app.cli.commands.{words[0].replace('import', 'import_')}" in found
    assert not found & (ELSEWHERE | unused)


def test_given_a_module_of_a_command_then_it_is_in_the_table() -> None:
    folder = ROOT / "app" / "cli" / "commands"
    named = {command.module_name or command.name for command in COMMANDS}
    assert named == {file.stem for file in folder.glob("*.py")} - {"__init__"}


def test_given_the_help_then_every_command_has_its_line() -> None:
    lines = command_line(()).format_help().splitlines()
    for command in COMMANDS:
        assert any(line.split()[:1] == [command.name] for line in lines), command.name
