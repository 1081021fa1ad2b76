"""No file of the working directory is imported by the command, by the server, or by the worker processes of a search."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import urllib.request
from pathlib import Path

import pytest
from support.sessions.searching import DOUBLE

import tilewright
from tilewright import search_path
from tilewright.search_path import exclude_working_directory

ROOT = Path(__file__).parents[2]
SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "tilewright")]
MODULE = [sys.executable, "-m", "tilewright"]
NAMES = ("numpy", "panel", "argparse", "payload", "json", "msgspec", "optuna", "signal")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose modules leave a marker when they are imported, with a notebook."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("open('imported', 'a').write(__name__ + ' ')\n", encoding="utf-8")
    hole = 'tile = tilewright.choose("tile", [16, 8])\nio, ii = sch.split(i, factors=[None, tile]'
    notebook = DOUBLE.replace("io, ii = sch.split(i, factors=[None, 16]", hole)
    (tmp_path / "notebook.py").write_text(notebook, encoding="utf-8")
    return tmp_path


def run(command: list[str], folder: Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """The command in the folder, with PYTHONPATH set to `path`."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    env |= {} if path is None else {"PYTHONPATH": path}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)


def imported(folder: Path) -> str:
    marker = folder / "imported"
    return marker.read_text(encoding="utf-8") if marker.exists() else ""


def test_importing_from_the_working_directory_runs_its_modules(folder: Path) -> None:
    """An import from the folder would leave its marker."""
    run([sys.executable, "-c", "import json"], folder)
    assert imported(folder) == "json "


@pytest.mark.parametrize("command", [SCRIPT, MODULE], ids=["script", "module"])
@pytest.mark.parametrize(
    "entries", [pytest.param([], marks=pytest.mark.slow), ["", ".", "{folder}"]], ids=["no PYTHONPATH", "PYTHONPATH"]
)
def test_the_version_imports_none_of_them(folder: Path, command: list[str], entries: list[str]) -> None:
    path = os.pathsep.join(entries).format(folder=folder) if entries else None
    done = run([*command, "--version"], folder, path)
    assert done.returncode == 0, done.stderr
    assert imported(folder) == ""


@pytest.mark.slow
def test_workers_of_a_search_import_none_of_them(folder: Path) -> None:
    words = ["explore", "notebook.py", "--no-database", "--workers", "1"]
    done = run([*MODULE, *words], folder, os.pathsep.join(["", ".", str(folder)]))
    assert done.returncode == 0 and "candidates evaluated" in done.stdout, done.stderr
    assert imported(folder) == ""


@pytest.mark.slow
def test_make_run_imports_none_of_them(folder: Path) -> None:
    recipe = re.search(
        r"^run:.*\n(?:\t@.+\n)*\t@(\S*tilewright serve.*)$",
        (ROOT / "Makefile").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert recipe is not None
    words = recipe[1].replace("$(PORT)", "0").split()
    assert words[0] == "$(VENV)/bin/tilewright"
    assert_nothing_imported_by_the_server([*SCRIPT, *words[1:]], folder)


@pytest.mark.slow
def test_module_serves_and_imports_none_of_them(
    folder: Path,
) -> None:
    assert_nothing_imported_by_the_server([*MODULE, "serve", ".", "--port", "0"], folder)


def assert_nothing_imported_by_the_server(command: list[str], folder: Path) -> None:
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://127\.0\.0\.1:\d+/\S*", process.stdout.readline())
            assert address is not None
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with browser.open(address[0], timeout=60) as answer:
                assert b"<html" in answer.read()
        finally:
            process.terminate()
    assert imported(folder) == ""


def test_child_processes_import_none_of_them(folder: Path) -> None:
    code = (
        "from tilewright.search_path import exclude_working_directory\n"
        "exclude_working_directory()\n"
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import json'], check=True)\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from multiprocessing import get_context\n"
        "with ProcessPoolExecutor(1, get_context('spawn')) as pool:\n"
        "    print(pool.submit(eval, '__import__(\"json\").__name__').result())\n"
    )
    done = run([sys.executable, "-c", code], folder, ":")
    assert done.stdout == "json\n", done.stderr
    assert imported(folder) == ""


def test_importing_the_library_keeps_the_search_path(folder: Path) -> None:
    code = "import sys; before = [*sys.path]; import tilewright; print(before == sys.path and before[0] == '')"
    assert run([sys.executable, "-c", code], folder, ".").stdout == "True\n"


def test_both_commands_run_in_the_repository() -> None:
    for command in (SCRIPT, MODULE):
        done = run([*command, "--version"], ROOT, ".")
        assert done.returncode == 0 and done.stdout == f"tilewright {tilewright.__version__}\n", done.stderr


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working directory that is first in the search path, which is restored afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", *sys.path])
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["lib", "", str(tmp_path), "."]))
    return tmp_path


def test_other_entries_are_kept(python: Path) -> None:
    sys.path.insert(1, "lib")
    exclude_working_directory()
    assert sys.path[0] == "lib" and not {"", str(python)} & {*sys.path}
    assert os.environ["PYTHONPATH"] == "lib" and os.environ["PYTHONSAFEPATH"] == "1"


def test_a_link_to_the_directory_is_removed(python: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    link = tmp_path_factory.mktemp("links") / "here"
    link.symlink_to(python)
    sys.path.insert(0, str(link))
    exclude_working_directory()
    assert str(link) not in sys.path


def test_entries_of_a_package_in_the_directory_are_kept(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = python / "tilewright"
    (package / "app").mkdir(parents=True)
    monkeypatch.setattr(search_path, "PACKAGE", os.path.realpath(package))
    before = [*sys.path]
    exclude_working_directory()
    assert sys.path == before


def test_packages_installed_in_the_working_directory_are_kept(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`.venv/lib/python3/site-packages` as the working directory: the interpreter's own entry stays."""
    sys.path.append(str(python))
    exclude_working_directory()
    assert sys.path[-1] == str(python) and str(python) not in sys.path[:-1]


def test_empty_entries_of_a_deleted_directory_are_removed(python: Path) -> None:
    python.rmdir()
    exclude_working_directory()
    assert "" not in sys.path and str(python) in sys.path
