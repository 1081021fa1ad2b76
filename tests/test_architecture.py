"""The import rules of ARCHITECTURE.md: its layers are parsed and checked against every import, lazy ones too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.check

ROOT = Path(__file__).parents[1]
PACKAGES = ("tilewright", "app", "engine", "static")
OWN = {*PACKAGES}

LAYERED = ("app", "app/views", "engine")
"""The folders with layered packages."""

MOST_FILES = 16
"""Python files in a folder: more are hard to survey."""

SCREEN = {"panel", "bokeh", "param", "ipywidgets", "anywidget"}
"""Libraries of the user interface: no computing module may need them."""

SCRIPTS = {"tilewright.app.main"}
"""Files that `panel serve` runs outside their package, where relative imports do not work."""


class Import(NamedTuple):
    """`importer` uses `target`, both as dotted modules of the installed package; own modules are resolved to existing files."""

    importer: str
    target: str
    line: int
    absolute: bool

    @property
    def where(self) -> str:
        return f"{self.importer}:{self.line} imports {self.target}"


def modules() -> dict[str, Path]:
    """Dotted name -> file, of all shipped and imported modules (examples are data)."""
    found: dict[str, Path] = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            if file.is_relative_to(ROOT / "static") and file.name != "__init__.py":
                continue
            parts = file.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if package == "tilewright" else ("tilewright", *parts))] = file
    return found


MODULES = modules()


def imports_of(module: str, source: str, is_package: bool) -> Iterator[Import]:
    """Every import statement anywhere in the source: in functions and under TYPE_CHECKING as well."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(module, alias.name, node.lineno, absolute=True)
            case ast.ImportFrom(level=0, module=str(target), names=names):
                yield from (Import(module, _deepest(target, n.name), node.lineno, absolute=True) for n in names)
            case ast.ImportFrom(level=level, module=target, names=names):
                parts = module.split(".")
                base = parts[: len(parts) - level + is_package]
                full = ".".join([*base, *([target] if target else [])])
                yield from (Import(module, _deepest(full, n.name), node.lineno, absolute=False) for n in names)
            case _:
                pass


def _deepest(target: str, name: str) -> str:
    """`from a import b` means the module a.b if it exists."""
    return f"{target}.{name}" if f"{target}.{name}" in MODULES else target


@cache
def imports() -> list[Import]:
    return [
        found
        for module, file in MODULES.items()
        for found in imports_of(module, file.read_text(encoding="utf-8"), file.name == "__init__.py")
    ]


@cache
def layers(area: str) -> dict[str, tuple[int, int]]:
    """Package -> (level, group) of the line `area: top > … > bottom` in ARCHITECTURE.md. `|` separates independent groups."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    line = re.search(rf"^{area}:\s+(.+ > .+)$", text, re.MULTILINE)
    assert line is not None, f"ARCHITECTURE.md has no line of layers for {area}"
    ranks: dict[str, tuple[int, int]] = {}
    for level, names in enumerate(reversed(line[1].split(">"))):
        for group, members in enumerate(names.split("|")):
            ranks |= dict.fromkeys(members.split(), (level, group))
    return ranks


def area_of(module: str) -> str:
    """ "engine" for tilewright.engine.ir.expr; "tilewright" for the face."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ("app", "engine", "static") else "tilewright"


def package_of(module: str, area: str) -> str | None:
    """The part of an area that contains a module: "ir" of "engine", "tree" of "app/views"; None for the area's own `__init__`."""
    depth = area.count("/") + 2
    parts = module.split(".")
    return parts[depth] if len(parts) > depth else None


def breach(found: Import) -> str | None:
    """Why this import is not allowed; None if it is."""
    if found.target.split(".")[0] != "tilewright":
        return None
    importer, target = area_of(found.importer), area_of(found.target)
    order = ("static", "engine", "app", "tilewright")
    if order.index(target) > order.index(importer):
        return f"{importer} stands below {target}"
    within = (area for area in LAYERED if _is_within(found.importer, area) and _is_within(found.target, area))
    return next((why for area in within if (why := _breach_within(area, found))), None)


def _is_within(module: str, area: str) -> bool:
    return f"{module}.".startswith(f"tilewright.{area.replace('/', '.')}.")


def _breach_within(area: str, found: Import) -> str | None:
    ranks = layers(area)
    mine, theirs = package_of(found.importer, area), package_of(found.target, area)
    if mine is None or mine == theirs:
        return None
    if theirs is None:
        return f"{area}/__init__ is not a door"
    if theirs not in ranks:
        return f"there is no {theirs}"
    (my_level, my_group), (their_level, their_group) = ranks[mine], ranks[theirs]
    if their_level > my_level:
        return f"{mine} stands below {theirs}"
    if their_level == my_level and my_group != their_group:
        return f"{mine} and {theirs} never see each other"
    return None


def test_layers_import_in_one_direction() -> None:
    breaches = [f"{found.where}: {why}" for found in imports() if (why := breach(found))]
    assert not breaches, "\n".join(breaches)


def test_every_import_resolves() -> None:
    """A wrong number of dots fails only when the import runs."""
    wrong = [f.where for f in imports() if f.target.split(".")[0] == "tilewright" and f.target not in MODULES]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("area", LAYERED)
def test_every_package_has_its_layer(area: str) -> None:
    here = {package_of(module, area) for module in MODULES if _is_within(module, area)} - {None}
    assert here <= layers(area).keys(), f"ARCHITECTURE.md does not place {sorted(here - layers(area).keys())}"  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize(
    "folder",
    sorted({file.parent for file in [*MODULES.values(), *(ROOT / "tests").rglob("*.py")]} - {ROOT / "tests" / "e2e"}),
    ids=lambda f: str(f.relative_to(ROOT)),
)
def test_no_folder_has_too_many_files(folder: Path) -> None:
    files = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert len(files) <= MOST_FILES, f"{len(files)} files: make rooms of {folder.relative_to(ROOT)}"


def test_own_packages_are_imported_relatively() -> None:
    wrong = [
        found.where
        for found in imports()
        if found.absolute and found.target.split(".")[0] in OWN and found.importer not in SCRIPTS
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_app_imports_the_ui_libraries() -> None:
    pure = (
        "tilewright.engine",
        "tilewright.app.document",
        "tilewright.app.cli",
        "tilewright.script",
        "tilewright.static",
    )
    wrong = [
        found.where for found in imports() if found.target.split(".")[0] in SCREEN and found.importer.startswith(pure)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_import_cycles() -> None:
    """Imports in functions and for types count too: two modules that need each other's types are one module, or lack a third."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in imports():
        if found.target in MODULES and found.target != found.importer:
            graph[found.importer].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("imports in a circle: " + " > ".join(error.args[1]))


@pytest.mark.parametrize(
    ("module", "source", "why"),
    [
        ("tilewright.engine.ir.expr", "from ..schedule import Schedule", "below"),
        ("tilewright.engine.schedule.trace", "def f():\n    from ..hwsim import simulate", "never see each other"),
        ("tilewright.engine.ir.expr", "if TYPE_CHECKING:\n    from ...app.document import Document", "below"),
        ("tilewright.app.views.labels.numbers", "from ..tree import rows", "below"),
        ("tilewright.app.document.cells", "from ..session import session", "below"),
    ],
)
def test_a_violation_is_found(module: str, source: str, why: str) -> None:
    """The check itself can fail."""
    found = [breach(i) for i in imports_of(module, source, is_package=False)]
    assert found and found[0] is not None and why in found[0]


COMPUTING = {
    *(
        "simulate",
        "report_of",
        "here_or_isolated",
        "tried",
        "verify",
        "prove",
        "make_call",
        "remove_steps",
        "program_bound",
    ),
    *(
        "linting",
        "remedies",
        "suggesting",
        "explore",
        "derive_space",
        "with_pipelines",
        "store.report",
        "store.simulated",
    ),
}
"""Functions that simulate, verify, search, or try calls."""


def test_views_read_results_and_compute_none() -> None:
    """Analyses in app/jobs compute in threads; a view that computes would hold up the page."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} {name}"
        for path in (ROOT / "app" / "views").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _used_names(node)
        if name in COMPUTING
    ]
    assert not wrong


def _used_names(node: ast.AST) -> Iterator[str]:
    """The names that a node imports, or a method of the store."""
    if isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("store.report", "store.simulated"):
        yield ast.unparse(node)


def test_values_and_messages_are_declared() -> None:
    """Classes declare what the server and the page exchange; a dictionary of anything would be no contract."""
    files = [path for folder in ("app/views", "app/protocol") for path in (ROOT / folder).rglob("*.py")]
    wrong = [str(path.relative_to(ROOT)) for path in files if "dict[str, Any]" in path.read_text(encoding="utf-8")]
    assert files and not wrong
