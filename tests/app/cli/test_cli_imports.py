"""The modules that each command imports: unused ones would only delay its start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.sessions.searching import DOUBLE

from tilewright.app.cli.table import COMMANDS, command_line

ROOT = Path(__file__).parents[3]

SCREEN = {"panel", "bokeh", "param", "tornado", "asyncio", "anywidget", "ipywidgets", "IPython", "resvg_py"}
SEARCH = {"optuna", "dask", "distributed", "multiprocessing"}
ELSEWHERE = SCREEN | SEARCH | {"tvm", "rich", "shtab"}
"""Libraries that only some commands use: the server, `explore`, `completion`, and commands that print on a terminal."""

VIEWS = "tilewright.app.views"


def imported_by(*lines: tuple[str, ...]) -> list[set[str]]:
    """The modules of a process after each of the command lines that it runs, its output in a pipe."""
    code = f"""if True:
        import contextlib, io, sys
        from tilewright.app.cli import main
        for words in {lines!r}:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main([*words])
            print(*sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return [set(line.split()) for line in done.stdout.splitlines()]


@pytest.fixture
def example(tmp_path: Path) -> str:
    file = tmp_path / "double.py"
    file.write_text(DOUBLE, encoding="utf-8")
    return str(file)


def test_each_command_imports_only_its_modules(example: str) -> None:
    """Imports accumulate from line to line, so the lines with the fewest modules come first."""
    *bare, machines, lower, lint, run, check = imported_by(
        ("--help",), ("--version",), ("rnu",), ("machines",), *((name, example) for name in ("lower", "lint", "run", "check"))
    )  # fmt: skip
    engine = {f"tilewright.engine.{part}" for part in ("arith", "script", "schedule", "execute", "hwsim")}
    for found in bare:
        assert not found & {*engine, *ELSEWHERE, "numpy", "islpy", "sqlite3"}
        assert not {name for name in found if name.startswith("tilewright.app.cli.commands")}
    assert not machines & {*ELSEWHERE, "islpy", "tilewright.app.document", VIEWS}
    assert not lint & {*ELSEWHERE, "islpy", VIEWS, "tilewright.engine.explore"}
    assert not check & {*ELSEWHERE, VIEWS, "tilewright.engine.explore"}
    for name, found in {"machines": machines, "lower": lower, "lint": lint, "run": run, "check": check}.items():
        assert f"tilewright.app.cli.commands.{name}" in found


def test_commands_that_handle_only_text_import_no_prover(example: str) -> None:
    imports, _, diff = imported_by(("import", example), ("export", example), ("diff", example))
    assert not imports & {*ELSEWHERE, "islpy", VIEWS}
    assert not diff & {*ELSEWHERE, "islpy"}


def test_every_command_module_is_in_the_table() -> None:
    folder = ROOT / "app" / "cli" / "commands"
    named = {command.module_name or command.name for command in COMMANDS}
    modules = (file.relative_to(folder).with_suffix("") for file in folder.rglob("*.py") if file.stem != "__init__")
    assert named == {".".join(module.parts) for module in modules}


def test_the_help_has_a_line_for_every_command() -> None:
    lines = command_line(()).format_help().splitlines()
    for command in COMMANDS:
        assert any(line.split()[:1] == [command.name] for line in lines), command.name
