"""Python files of the project that a text belongs to, which its imports name: read when a program needs a name of them, and never run.

A module is looked up in the folder of the text, or around its package, and in the root of its project. One that is found twice
is not read, nor one with the name of a module of Python.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from ...ir import TilewrightError
from ..reading.source import Source
from .bindings import EVERY_NAME, bound_names, global_names
from .core import Evaluator
from .scope import Imported, Scope, Unknown, Value
from .values import TextModule

MAX_FILES = 32
MAX_CHARACTERS = 400_000
MAX_LEVELS = 12
_PROJECT = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_IN_PROJECT = ("", "python", "src")
_CORE = ("te", "tir", "tirx", "script", "ir", "arith", "runtime", "target", "transform", "testing", "ffi", "relay")
"""Modules of TVM that the reader knows, also inside of TVM."""


def imported(run: Evaluator, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Value:
    """Return the value of an imported name, which is read when it is needed; None if no file beside the text has it."""
    home = run.source.owner(node).home
    if home is None:
        return None
    level = node.level if isinstance(node, ast.ImportFrom) else 0
    module = node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
    if isinstance(node, ast.Import):
        name = module if alias.asname else module.partition(".")[0]
        path = find_module(home, name, 0)
        return None if path is None else Imported(lambda: _module(run, path, node))
    own = find_module(home, f"{module}.{alias.name}".strip("."), level)
    around = find_module(home, module, level)
    if own is None and around is None:
        return None
    return Imported(lambda: _name(run, around, own, alias.name, node))


def all_imported(run: Evaluator, node: ast.ImportFrom) -> dict[str, Value] | None:
    """Return the names of `from module import *`; None if no file beside the text is the module."""
    home = run.source.owner(node).home
    path = None if home is None else find_module(home, node.module or "", node.level)
    scope = None if path is None else _scope(run, path, node)
    if scope is None:
        return None
    return {name: value for name, value in scope.items() if not name.startswith("_")}


def find_module(home: Path, module: str, level: int) -> Path | None:
    """Return the file of a module that the text in `home` imports; None if there is none, or several."""
    parts = module.split(".") if module else []
    if not all(part.isidentifier() for part in parts) or (not level and (not parts or _is_elsewhere(parts))):
        return None
    if level:
        folder = home.parent
        for _ in range(level - 1):
            folder = folder.parent
        package = [part.name for part in _packages(folder)]
        if package[:1] == ["tvm"] and [*package, *parts][1:2] and [*package, *parts][1] in _CORE:
            return None
        return _file(folder, parts) if (folder / "__init__.py").is_file() or level == 1 else None
    found = {path for root in _roots(home) if (path := _file(root, parts)) is not None}
    return found.pop() if len(found) == 1 else None


def _is_elsewhere(parts: list[str]) -> bool:
    """Whether an absolute name is one of Python's modules, or of TVM."""
    is_of_tvm = parts[0] == "tvm" and parts[:4] != ["tvm", "s_tir", "meta_schedule", "testing"]
    return parts[0] in sys.stdlib_module_names or is_of_tvm or parts[0] == "numpy"


def _file(folder: Path, parts: list[str]) -> Path | None:
    at = folder.joinpath(*parts)
    for path in (at / "__init__.py", at.with_name(f"{at.name}.py")):
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return path.resolve()
    return None


def _packages(folder: Path) -> list[Path]:
    """Return the packages around a file, the outermost first."""
    found: list[Path] = []
    while (folder / "__init__.py").is_file() and len(found) < MAX_LEVELS:
        found.insert(0, folder)
        folder = folder.parent
    return found


def _roots(home: Path) -> Iterator[Path]:
    """Yield the folders in which Python looks for modules: that of the text, or the one around its package, and those of its project."""
    packages = _packages(home.parent)
    yield packages[0].parent if packages else home.parent
    for folder in (*home.parents,)[:MAX_LEVELS]:
        if any((folder / name).exists() for name in _PROJECT):
            yield from (folder / name for name in _IN_PROJECT)
            return


# --- reading


def _name(run: Evaluator, around: Path | None, own: Path | None, name: str, node: ast.AST) -> Value:
    """Return a name of a module, or the module of this name in a package, which need not be read if it only has other names."""
    if around is not None and own is not None and not _may_bind(around, name, set()):
        return _module(run, own, node)
    scope = None if around is None else _scope(run, around, node)
    if scope is not None and name in scope:
        return scope[name]
    return _module(run, own, node) if own is not None else Unknown(f"line {run.line(node)} imports it", name)


def _may_bind(path: Path, name: str, seen: set[Path]) -> bool:
    """Whether the statements of a file, or of the files whose names it imports all, may bind a name."""
    if path in seen:
        return False
    seen.add(path)
    source = _source(path) if len(seen) <= MAX_FILES else None
    if source is None:
        return True
    for node in source.tree.body:
        names = bound_names(node)
        if EVERY_NAME in names and isinstance(node, ast.ImportFrom):
            found = find_module(path, node.module or "", node.level)
            if found is None or _may_bind(found, name, seen):
                return True
        elif name in names and not (isinstance(node, ast.ImportFrom) and node.level == 1 and not node.module):
            return True
    return False


def _module(run: Evaluator, path: Path, node: ast.AST) -> Value:
    scope = _scope(run, path, node)
    return Unknown(f"line {run.line(node)} imports it") if scope is None else TextModule(path, scope)


def submodule(run: Evaluator, owner: TextModule, name: str, node: ast.AST) -> Value:
    """Return a name of a module; a file of its package counts."""
    if name in owner.scope:
        return owner.scope[name]
    path = _file(owner.path.parent, [name]) if owner.path.name == "__init__.py" and name.isidentifier() else None
    return run.runs(node) if path is None else _module(run, path, node)


def _scope(run: Evaluator, path: Path, node: ast.AST) -> Scope | None:
    """Return the names of a file, whose definitions are read; None for one that cannot be read. What it computes itself is unknown."""
    known = run.source.files
    if path in known:
        return known[path]
    if len(known) >= MAX_FILES:
        return None
    known[path] = None
    source = _source(path)
    if source is None or not run.dialect.is_alike(source):
        return None
    run.source.add(source)
    run.memory.hidden |= global_names(source.nodes)
    scope = known[path] = Scope()
    scope.define("__name__", path.stem)
    run.dialect.read_beside(run, path, node)
    functions, run.functions = run.functions, []
    try:
        with run.inside(scope):
            for statement in source.tree.body:
                _read(run, statement, scope)
    finally:
        run.functions = functions
    return scope


def _source(path: Path) -> Source | None:
    try:
        text = path.read_text(encoding="utf-8")
        return Source(text, str(path), home=path) if len(text) <= MAX_CHARACTERS else None
    except (OSError, ValueError, TilewrightError):
        return None


def _read(run: Evaluator, statement: ast.stmt, scope: Scope) -> None:
    """Read a statement of another file: a program when it is needed, others now."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef) and run.dialect.is_program(run, statement):
        scope.define(statement.name, Imported(lambda: _program(run, statement, scope)))
        return
    is_definition = isinstance(statement, ast.FunctionDef | ast.ClassDef)
    if not is_definition and run.dialect.concerns(run, statement):
        for name in bound_names(statement):
            scope.define(name, Unknown(f"line {run.line(statement)} of another file makes it", name))
        return
    try:
        run.statement(statement)
    except TilewrightError as error:
        run.pass_over(statement, error.refusal.message)


def _program(run: Evaluator, node: ast.FunctionDef | ast.ClassDef, scope: Scope) -> Value:
    with run.inside(scope):
        return run.dialect.definition(run, node)


__all__ = ["all_imported", "find_module", "imported", "submodule"]
