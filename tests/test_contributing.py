"""CONTRIBUTING.md's recipes, executed literally in a copy of the repository: its blocks are applied, its commands run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.installed import link_package

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOLDERS = ("tilewright", "engine", "app", "static", "tests", "docs")

WORKLOAD = """\
# %% workload
@T.prim_func(s_tir=True)
def scale(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
# %% schedule
sch = tilewright.Schedule(scale)
i, j = sch.get_loops("B")
"""


def changes(root: Path, diff: str) -> Iterator[tuple[Path, str, str]]:
    """The files of a block, each with its lines before and after the change."""
    for part in re.split(r"^--- ", diff, flags=re.MULTILINE)[1:]:
        name, _, lines = part.partition("\n")
        rows = [line or " " for line in lines.rstrip("\n").split("\n")]
        before = "".join(f"{row[1:]}\n" for row in rows if row[0] in " -")
        after = "".join(f"{row[1:]}\n" for row in rows if row[0] in " +")
        yield root / name.strip(), before, after


class Copy:
    """A copy of the repository in place of the installed package."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__", "pictures"))
        for name in ("pyproject.toml", "CONTRIBUTING.md"):
            shutil.copy(ROOT / name, self.root)
        link_package(folder / "site", self.root)
        # The folder of the same name in the repository is not the package.
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(folder / "site"), str(self.root / "tests"))),
        }
        self.environment |= {"PYTHONSAFEPATH": "1", "HYPOTHESIS_PROFILE": "ci"}

    def change(self, diff: str) -> None:
        """Insert the lines of a block at their neighbours."""
        for path, before, after in changes(self.root, diff):
            text = path.read_text(encoding="utf-8")
            assert text.count(before) == 1, f"{path} has no such place, or several:\n{before}"
            path.write_text(text.replace(before, after), encoding="utf-8")

    def run(self, command: str, expected: int = 0) -> str:
        """A command of the page, by this Python."""
        words = [word for word in shlex.split(command) if "=" not in word or word.startswith("-")]
        start = {"python": [sys.executable], "tilewright": [sys.executable, "-m", "tilewright"]}[words[0]]
        done = subprocess.run(
            [*start, *words[1:]], cwd=self.root, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == expected, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def section(title: str) -> str:
    return TEXT.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def blocks(title: str, language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", section(title), re.MULTILINE | re.DOTALL)
    return [text for found, text in fenced if found == language]


def carried_out(copy: Copy, title: str) -> None:
    """Execute a section: changes first, then its commands."""
    for diff in blocks(title, "diff"):
        copy.change(diff)
    commands = [line for block in blocks(title, "") for line in block.splitlines()]
    assert commands
    for command in commands:
        copy.run(command)


@pytest.mark.parametrize("title", ["Add a primitive", "Add a lint"])
def test_the_lines_that_a_recipe_changes_exist(title: str) -> None:
    """The other tests execute the recipes; each needs a copy of the repository, and processes."""
    texts: dict[Path, str] = {}
    for diff in blocks(title, "diff"):
        for path, before, after in changes(ROOT, diff):
            text = texts.setdefault(path, path.read_text(encoding="utf-8"))
            assert text.count(before) == 1, f"{path} has no such place, or several:\n{before}"
            texts[path] = text.replace(before, after)
    assert len(texts) > 1
    for path, text in texts.items():
        compile(text, str(path), "exec")


@pytest.mark.slow
def test_the_recipe_of_a_primitive_adds_it_to_notebooks(copy: Copy) -> None:
    carried_out(copy, "Add a primitive")
    (copy.root / "nb.py").write_text(f"{WORKLOAD}sch.parallel(i)\nsch.serial(i)\n", encoding="utf-8")
    assert "for i, j in T.grid(64, 64)" in copy.run("tilewright export nb.py --to tvmscript")
    (copy.root / "nb.py").write_text(f'{WORKLOAD}sch.bind(i, "threadIdx.x")\nsch.serial(i)\n', encoding="utf-8")
    assert "loop-bound" in copy.run("tilewright run nb.py --json", expected=1)


@pytest.mark.slow
def test_recipe_of_a_machine_runs_a_program_on_it(copy: Copy) -> None:
    (machine,) = blocks("Add a machine", "toml")
    (copy.root / "toy.toml").write_text(machine, encoding="utf-8")
    (command,) = blocks("Add a machine", "")
    assert " cycles on toy " in copy.run(command.strip())
    (copy.root / "nb.py").write_text(
        f'# %% machine\nmachine = tilewright.machine("toy.toml")\n{WORKLOAD}', encoding="utf-8"
    )
    assert '"machine": "toy"' in copy.run("tilewright run nb.py --json")


@pytest.mark.slow
def test_recipe_of_a_lint_finds_it_with_its_fix(copy: Copy) -> None:
    carried_out(copy, "Add a lint")
    (copy.root / "nb.py").write_text(f"{WORKLOAD}sch.add_unit_loop(i)\n", encoding="utf-8")
    output = copy.run("tilewright lint nb.py", expected=1)  # and that the block is left to the scalar engine
    assert "unit-loop" in output and "sch.fuse(" in output
    (copy.root / "nb.py").write_text(WORKLOAD, encoding="utf-8")
    assert "unit-loop" not in copy.run("tilewright lint nb.py", expected=1)


def test_generated_pages_name_commands_that_exist() -> None:
    for module in re.findall(r"-m (support(?:\.\w+)+)", TEXT):
        assert (ROOT / "tests" / f"{module.replace('.', '/')}.py").is_file(), module
    for link in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / link).exists(), link
    for path in re.findall(r"`((?:tests|bench|static|app|engine)/[\w/.]+)`", TEXT):
        assert (ROOT / path).exists(), path
