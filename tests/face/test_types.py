"""The types of the public names, as a type checker sees them in an installed package."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from support.installed import link_package

import tilewright
from tilewright import plot, script

pytestmark = pytest.mark.check

ROOT = Path(__file__).parents[2]
CONSUMER = Path(__file__).parent / "typed" / "consumer.py"

MISTAKES = """\
import tilewright
import tilewright.face
tilewright.simulat("kernel.py")
cycles: str = tilewright.simulate(tilewright.load("kernel.py"), "gpu-sm").cycles
tilewright.face.simulat("kernel.py")
"""


def test_strict_type_checks_find_exactly_the_users_mistakes(tmp_path: Path) -> None:
    package = link_package(environment(tmp_path / "venv"), ROOT)
    shutil.copy(CONSUMER, tmp_path)
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    found = type_errors(tmp_path, ["*.py", f"{package.relative_to(tmp_path)}/*.py"])
    of_mistakes = [(line, rule) for file, line, rule, _ in found if file == "mistakes.py"]
    assert {(3, "reportAttributeAccessIssue"), (4, "reportAssignmentType"), (5, "reportAttributeAccessIssue")} <= {
        *of_mistakes
    }
    assert not [error for error in found if error[0] != "mistakes.py"]


def environment(folder: Path) -> Path:
    """Create an environment with the libraries of this one, and return its folder of packages."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return site


def type_errors(project: Path, files: list[str]) -> list[tuple[str, int, str, str]]:
    """Return file, line, rule and message of each error or warning in `files` of a project with strict settings."""
    settings = {"typeCheckingMode": "strict", "include": files, "exclude": []}
    (project / "pyrightconfig.json").write_text(json.dumps(settings))
    python = str(project / "venv" / "bin" / "python")
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", python, "--outputjson", "--project", str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert answer["summary"]["filesAnalyzed"] > len(files), done.stdout + done.stderr
    return [
        (Path(d["file"]).name, d["range"]["start"]["line"] + 1, d.get("rule", ""), d["message"])
        for d in answer["generalDiagnostics"]
        if d["severity"] in ("error", "warning")
    ]


def test_the_users_program_uses_every_public_name() -> None:
    tree = ast.parse(CONSUMER.read_text(encoding="utf-8"))
    used: dict[str, set[str]] = {"tilewright": set(), "plot": set(), "tilewright.script": set()}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="tilewright" | "plot" as module), attr=name):
                used[module].add(name)
            case ast.ImportFrom(module="tilewright.script", names=names):
                used["tilewright.script"] |= {alias.name for alias in names}
            case _:
                pass
    assert used["tilewright"] == {*tilewright.__all__, "__version__"}
    assert used["plot"] == set(plot.__all__)
    assert used["tilewright.script"] == set(script.__all__)


def test_no_file_of_the_public_names_disables_checks() -> None:
    switch = re.compile(r"^#\s*(pyright|mypy):|type:\s*ignore", re.MULTILINE)
    files = [*(ROOT / "tilewright").glob("*.py")]
    assert len(files) > 5
    assert not [file.name for file in files if switch.search(file.read_text(encoding="utf-8"))]
