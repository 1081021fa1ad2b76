"""The repository itself: the package is complete and contains nothing undeclared or specific to one machine."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import cast

import pytest

import tilewright
from tilewright.app.cli import main

pytestmark = pytest.mark.check

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = {
    "prove": ("engine/prove", "engine/analysis/instances.py", "engine/arith/presburger.py"),
    "explore": ("engine/explore/search/sampler.py", "engine/explore/workers/cluster.py"),
    "jupyter": ("app/jupyter", "app/components/widget.py"),
}
"""The only files that import the dependencies of an extra."""
SOURCES = ("tilewright", "app", "engine", "static")


def tracked() -> list[Path]:
    """Every file that git tracks or would add, except deleted ones."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def packages_on_disk() -> set[str]:
    folders = {file.parent.relative_to(ROOT) for top in SOURCES for file in (ROOT / top).rglob("__init__.py")}
    modules = {".".join(f.parts if f.parts[0] == "tilewright" else ("tilewright", *f.parts)) for f in folders}
    return modules | {"tilewright.docs.guide"}  # text for the help of the page


def test_the_build_backend_finds_every_package() -> None:
    found = runpy.run_path(str(ROOT / "static" / "bundling" / "backend.py"))["packages"](ROOT)
    assert sorted(found) == sorted(packages_on_disk())
    assert "packages" not in PROJECT["tool"]["setuptools"], "such a list replaces the backend's"


def test_folders_with_python_are_packages() -> None:
    folders = {f.parent for top in ("tilewright", "app", "engine") for f in (ROOT / top).rglob("*.py")}
    assert not [f for f in folders if not (f / "__init__.py").exists()]


BUILD_INPUTS = {"__pycache__", "node_modules", "bundling", "package.json", "package-lock.json", "tsconfig.json", "eslint.config.js",
                ".npmrc", ".prettierrc.json", ".prettierignore", "sources.sha256"}  # fmt: skip
"""Files in `static` that only the package build reads."""


def test_package_data_is_complete() -> None:
    for package, patterns in PROJECT["tool"]["setuptools"]["package-data"].items():
        folder = ROOT / package.removeprefix("tilewright.").replace(".", "/")
        matched = {f for pattern in patterns for f in folder.glob(pattern) if f.is_file()}
        left_out = {
            f.relative_to(ROOT)
            for f in folder.rglob("*")
            if f.is_file() and f not in matched and not BUILD_INPUTS & {*f.parts, f.name} and not _is_module(f)
            if not (f.suffix in (".js", ".ts") and ROOT / "static" / "components" in f.parents)
        }
        assert not left_out, f"{package}: not in the wheel: {sorted(map(str, left_out))}"
        assert matched, package


def _is_module(file: Path) -> bool:
    """Whether the wheel contains it as Python code; examples and templates are data."""
    return file.name == "__init__.py" or (file.suffix == ".py" and ROOT / "static" not in file.parents)


def test_a_source_distribution_has_every_file() -> None:
    """Packages are included by default; MANIFEST.in names the rest."""
    lines = [line.split() for line in (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()]
    patterns = [pattern for words in lines if words[:1] == ["include"] for pattern in words[1:]]
    grafts = [*SOURCES, *(folder for words in lines if words[:1] == ["graft"] for folder in words[1:])]
    shipped = {"MANIFEST.in", "pyproject.toml"}
    left_out = [
        str(name)
        for name in (file.relative_to(ROOT) for file in tracked())
        if str(name) not in shipped
        and name.parts[0] not in grafts
        and not (len(name.parts) == 1 and any(name.match(pattern) for pattern in patterns))
    ]
    assert not left_out, left_out
    assert all((ROOT / folder).is_dir() for folder in grafts) and all(any(ROOT.glob(pattern)) for pattern in patterns)


def test_dependencies_are_declared_and_used() -> None:
    declared = {_name(requirement) for requirement in PROJECT["project"]["dependencies"]}
    files = {file for top in SOURCES[:-1] for file in (ROOT / top).rglob("*.py")}
    parts = {extra: {f for f in files if any(f.is_relative_to(ROOT / p) for p in at)} for extra, at in EXTRAS.items()}
    assert imported(files - set().union(*parts.values())) == declared, "imported and not declared, or the other way"
    for extra, part in parts.items():
        needed = {_name(requirement) for requirement in PROJECT["project"]["optional-dependencies"][extra]}
        assert {name.lower() for name in imported(part) - declared} == needed, f"{extra} alone imports what it declares"


def test_only_proofs_and_sampling_need_the_extras() -> None:
    code = """if True:
        import sys
        for name in ("islpy", "optuna", "dask"):
            sys.modules[name] = None  # as if it were not installed
        import tilewright, tilewright.app.cli
        func = tilewright.parse("n = 8\\nA = te.placeholder((n,), name='A')\\nB = te.compute((n,), lambda i: A[i] + 1.0, name='B')")
        sch = tilewright.Schedule(func)
        sch.split(sch.get_loops("B")[0], factors=[None, 4])
        print(tilewright.prove(sch).status, sch.check().status)
        few = tilewright.derive_space(func, "gpu-sm").space
        gemm = open("static/examples/gemmini_gemm.py").read().replace("512", "128")
        many = tilewright.derive_space(tilewright.parse(gemm[gemm.index("@T.prim_func"):gemm.index("# %% schedule")]), "gemmini", rules=())
        print(tilewright.explore(few, "gpu-sm").method)
        for workers in (0, "tcp://127.0.0.1:1"):
            try:
                tilewright.explore(many if not workers else few, "gemmini", workers=workers)
            except tilewright.TilewrightError as error:
                print(error.code)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.split() == ["unknown", "tested", "exhaustive", "no-optuna", "no-dask"], done.stderr


@cache
def nodes(file: Path) -> list[ast.AST]:
    """The imports, functions and the module of a Python file; the module is first."""
    kinds = (ast.Module, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, kinds)]


def imported(files: set[Path]) -> set[str]:
    """The other projects that these files import."""
    used: set[str] = set()
    for file in files:
        for node in nodes(file):
            match node:
                case ast.Import(names=names):
                    used |= {alias.name.split(".")[0] for alias in names}
                case ast.ImportFrom(level=0, module=str(module)):
                    used.add(module.split(".")[0])
                case _:
                    pass
    return used - {*sys.stdlib_module_names, "tilewright"}


def _name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0]


# Split into pieces, so that this file does not match itself.
MACHINE_PATHS = re.compile(
    r"(?<![\w.])/(?:" + "|".join(("ro" + "ot", "ho" + "me", "wo" + "rk", "Us" + "ers")) + r")/[\w.-]+"
)
TEMPORARY_PATHS = re.compile(r"(?<![\w.])/t" + r"mp/[\w.-]+")
REGISTRIES = re.compile(
    "|".join(
        re.escape(a + b)
        for a, b in (
            ("py", "pi.org"),
            ("pythonhosted", ".org"),
            ("registry.npm", "js.org"),
            ("cdn.", "jsdelivr"),
            ("un", "pkg.com"),
            ("extra-index", "-url"),
            ("index", "-url"),
            ("find", "-links"),
        )
    )
)


@pytest.mark.parametrize(
    "pattern", [MACHINE_PATHS, TEMPORARY_PATHS, REGISTRIES], ids=["paths", "temporary", "registries"]
)
def test_no_file_refers_to_one_machine(pattern: re.Pattern[str]) -> None:
    found: list[str] = []
    for file in tracked():
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{file.relative_to(ROOT)}:{n}: {m[0]}" for n, line in enumerate(lines, 1) if (m := pattern.search(line))
        ]
    assert not found, "\n".join(found)


def test_no_file_is_generated_or_huge() -> None:
    assert not [f for f in tracked() if f.stat().st_size > 1_000_000 or f.suffix in (".pyc", ".log")]


def test_test_files_have_unique_names() -> None:
    names = Counter(f.name for f in (ROOT / "tests").rglob("test_*.py"))
    assert not [name for name, count in names.items() if count > 1]
    assert not list((ROOT / "tests").rglob("__init__.py")), "tests are not packages"


def test_every_module_has_a_docstring() -> None:
    silent = [
        str(f.relative_to(ROOT))
        for top in SOURCES[:-1]
        for f in (ROOT / top).rglob("*.py")
        if f.stat().st_size and ast.get_docstring(cast("ast.Module", nodes(f)[0])) is None
    ]
    assert not silent, silent


def test_public_names_exist_and_are_documented() -> None:
    for name in tilewright.__all__:
        value = getattr(tilewright, name)
        if callable(value):
            assert value.__doc__, f"tilewright.{name} has no doc"


def test_the_readmes_commands_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", readme, re.MULTILINE):
        assert f"\n{target}:" in makefile, f"README.md has `make {target}`"
    for command in re.findall(r"^tilewright (\w+)", readme, re.MULTILINE):
        with pytest.raises(SystemExit) as stopped:
            main([command, "--help"])
        assert stopped.value.code == 0, f"README.md has `tilewright {command}`"
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert (ROOT / link).exists(), f"README.md links to {link}"


MAX_FILE_LINES = 700
MAX_FUNCTION_LINES = 60


def test_files_and_functions_have_the_stated_sizes() -> None:
    stated = f"have at most {MAX_FILE_LINES} lines, functions at most {MAX_FUNCTION_LINES} without their docstring"
    assert stated in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = code_files()
    assert not [str(file) for file in files if len(file.read_bytes().splitlines()) > MAX_FILE_LINES]
    functions = [
        (file, node)
        for file in files
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > 1000
    assert not [f"{file}: {node.name}" for file, node in functions if _code_lines(node) > MAX_FUNCTION_LINES]


def code_files() -> list[Path]:
    """Python outside of `tests`; notebooks of examples and templates are data."""
    data = [ROOT / "static" / name for name in ("examples", "templates", "node_modules")]
    found = [file for top in (*SOURCES, "bench") for file in (ROOT / top).rglob("*.py")]
    return [file for file in found if not any(file.is_relative_to(folder) for folder in data)]


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of lines of a function from `def` to its end, without the docstring."""
    assert node.end_lineno is not None
    lines = node.end_lineno - node.lineno + 1
    if ast.get_docstring(node) is not None:
        doc = node.body[0]
        assert doc.end_lineno is not None
        lines -= doc.end_lineno - doc.lineno + 1
    return lines


def test_the_pre_commit_hooks_run_commands_of_make_check() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    entries = re.findall(r"^ +entry: (.+)$", hooks, re.MULTILINE)
    assert entries and len(entries) == hooks.count("- id: ")
    recipe = makefile.partition("\ncheck:")[2].partition("\n\n")[0]
    commands = recipe.replace("$(COMPONENTS)", "$(PY) static/bundling/backend.py").replace("$(PY)", ".venv/bin/python")
    assert [entry for entry in entries if f"\t{entry}" not in commands] == []


PLACES = (
    "",
    "app",
    "engine",
    "engine/hwsim",
    "engine/schedule",
    "app/jobs",
    "app/server",
    "app/storage",
    "static/components",
)


def test_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./]*\w\.(?:py|js)|(?:app|engine|static|tests)/[\w/]+)`", text))
    assert len(named) > 40
    assert not [name for name in sorted(named) if not any((ROOT / place / name).exists() for place in PLACES)]


def test_the_version_is_in_the_changelog() -> None:
    assert f"## {PROJECT['project']['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
