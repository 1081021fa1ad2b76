"""Module reader: imports, constants, decorated functions, classes of functions. The entry point is `parse`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import cast

import msgspec

from ...ir import (
    FAULTS,
    Annotations,
    FloatImm,
    IntImm,
    IRModule,
    Place,
    PrimFunc,
)
from ..errors import parse_error
from ..subset.scope import Unknown, Value
from ..syntax import collection_paused
from .blocks import read_annotations
from .functions import FunctionReader, decorator_name, is_relax
from .intrinsics import parameters
from .source import Positions, Source
from .statements import StatementReader

_CURRENT_WORDS = ("T.sblock", "T.sblock_alloc_buffer", "T.sblock_attr")
_CLASSIC_WORDS = ("T.block", "T.block_attr")
_NAMESPACES = {"ir": "I", "tir": "T", "tirx": "T", "ty": "T"}


class Note(msgspec.Struct, frozen=True):
    """A remark about text that is not in the program, or about an inferred property."""

    text: str
    place: Place


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """A program with the places of its nodes in the text, and notes of the reader."""

    program: IRModule | PrimFunc
    positions: Positions
    notes: tuple[Note, ...] = ()


def parse(text: str, filename: str = "", constants: Mapping[str, Value] | None = None) -> Parsed:
    """Return the program that `text` describes: its module, or else its function. `constants` are names that are defined above it.

    Raises ParseError with the place when the text is not a program of the subset. Nothing in the text is run.
    """
    with collection_paused():
        source = Source(text, filename)
        try:
            return _ModuleReader(source, constants or {}).read()
        except RecursionError:
            raise source.too_deep(source.place(source.tree)) from None
        except FAULTS as error:
            raise source.refused(source.tree, error) from error


class _ModuleReader:
    def __init__(self, source: Source, constants: Mapping[str, Value]) -> None:
        self.source = source
        self.reader = StatementReader(source, current=False)
        self.exprs = self.reader.exprs
        for name, value in constants.items():
            self.exprs.scope.define(name, value)
        self.found: list[IRModule | PrimFunc] = []
        self.notes: list[Note] = []
        self.functions = FunctionReader(source, self.reader)

    def read(self) -> Parsed:
        imports = [node for node in self.source.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        imports += _commented_imports(self.source.lines)
        for node in imports:
            self._import(node)
        self.reader.current = self._is_current(imports)
        if self.source.shifts is not None:
            text = "the text has lost its indentation; it was restored from the names that each line uses"
            self.notes.append(Note(text, self.source.place(self.source.tree)))
        with self.exprs.scope.nested():
            for node in self.source.tree.body:
                self._top(node)
        if len(self.found) != 1:
            self._fail_count()
        return Parsed(self.found[0], self.reader.positions.freeze(), tuple(self.notes))

    def _fail_count(self) -> None:
        what = "no program" if not self.found else f"{len(self.found)} programs"
        names = ", ".join(p.name if isinstance(p, PrimFunc) else "a module" for p in self.found)
        end = self.source.tree.body[-1] if self.source.tree.body else self.source.tree
        passed = next((n.place for n in self.notes if not self.found and "relax" in n.text), None)
        raise parse_error(
            "not-a-program",
            f"the text has {what}",
            passed or self.source.place(end),
            found=names,
            expected="one function under @T.prim_func, or one class under @I.ir_module with all functions in it",
        )

    # -- dialect

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Handle an import: `from tvm.script import tirx as T` defines T; other imports are ignored."""
        for alias in node.names:
            last = alias.name.rpartition(".")[2]
            scripted = isinstance(node, ast.ImportFrom) and (node.module or "").endswith(("script", "tvm.hybrid"))
            name = alias.asname or last
            if last in _NAMESPACES and (scripted or ".script." in f".{alias.name}"):
                self.exprs.namespaces[name] = _NAMESPACES[last]
            elif name in self.exprs.namespaces and not _is_of_tvm(node, alias):
                del self.exprs.namespaces[name]  # another language's T

    def _is_current(self, imports: list[ast.Import | ast.ImportFrom]) -> bool:
        """Whether T.alloc_buffer is the statement of TVM >= 0.24; the names of block functions decide, otherwise the import."""
        words = {self.exprs.script_name(n) for n in self.source.nodes if isinstance(n, ast.Attribute)}
        if not words.isdisjoint(_CURRENT_WORDS):
            return True
        if not words.isdisjoint(_CLASSIC_WORDS):
            return False
        imported = {a.name.rpartition(".")[2] for n in imports for a in n.names}
        return "tirx" in imported or "tir" not in imported

    # -- top level

    def _top(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return
            case ast.Import() | ast.ImportFrom():
                self._imported(node)
            case ast.Assign(targets=[ast.Name() as name]):
                self._constant(name, node.value)
            case ast.FunctionDef() if is_relax(node):
                self._pass_over(node)
            case ast.FunctionDef():
                self.found.append(self.functions.read(node))
            case ast.ClassDef():
                self.found.append(self._class(node))
            case _:
                raise self.source.error(
                    node,
                    "unsupported",
                    "this is not part of a program's text",
                    expected="imports, constants, @T.prim_func functions, an @I.ir_module class",
                )

    def _imported(self, node: ast.Import | ast.ImportFrom) -> None:
        """Forget the constants whose names an import gives to something else."""
        scope = self.exprs.scope
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            for known in scope.names() if name == "*" else scope.names() & {name}:
                scope.define(known, Unknown(f"line {self.source.place(node).line} imports it"))

    def _constant(self, name: ast.Name, node: ast.expr) -> None:
        """Read `N = 128`, `shape = (N, 64)`, `dtype = "float32"`."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "TypeVar":
            self.functions.type_vars.append(name.id)  # TVM 0.27's form of a 64-bit size
            return
        value = self.exprs.value(node)
        if not is_plain(value):
            raise self.source.error(
                node,
                "unsupported",
                "only constants can be assigned outside of functions",
                expected="a number, string or tuple",
            )
        self.exprs.scope.define(name.id, value)

    def _class(self, node: ast.ClassDef) -> IRModule:
        names = [decorator_name(self.exprs, d) for d in node.decorator_list]
        if names not in (["I.ir_module"], ["T.script"]):
            raise self.source.error(
                node,
                "not-a-program",
                f"the class {node.name} is not a module",
                expected="@I.ir_module above it",
                fix=("@I.ir_module",)
                if not node.bases
                else ("paste the output of mod.show() instead of the Python code that creates the module",),
            )
        functions: list[PrimFunc] = []
        attrs: Annotations = ()
        self.exprs.module = node.name
        with self.exprs.scope.nested():
            for part in node.body:
                match part:
                    case ast.FunctionDef() if is_relax(part):
                        self._pass_over(part)
                    case ast.FunctionDef():
                        functions.append(self.functions.read(part, decorated=names != ["T.script"]))
                    case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                        pass
                    case ast.Expr(value=ast.Call() as call) if self.exprs.called(call) == "I.module_global_infos":
                        pass  # devices of relax functions
                    case ast.Expr(value=ast.Call() as call) if self.exprs.called(call) == "I.module_attrs":
                        attrs = (*attrs, *self._module_attrs(call))
                    case ast.Assign(targets=[ast.Name() as name]):
                        self._constant(name, part.value)
                    case _:
                        raise self.source.error(
                            part, "unsupported", "a module contains only functions", expected="@T.prim_func functions"
                        )
        if not functions:
            raise self.source.error(
                node, "not-a-program", f"the module {node.name} is empty", expected="@T.prim_func functions in it"
            )
        repeated = {f.name for f in functions if sum(g.name == f.name for g in functions) > 1}
        if repeated:
            raise self.source.error(
                node,
                "not-a-program",
                f"two functions are named {min(repeated)}",
                expected="distinct names",
            )
        module = IRModule(tuple(functions), attrs)
        self.reader.positions.add(module, self.source.header(node))
        return module

    def _pass_over(self, node: ast.FunctionDef) -> None:
        text = f"the relax function {node.name} is not a tensor program and is skipped"
        self.notes.append(Note(text, self.source.header(node)))

    def _module_attrs(self, call: ast.Call) -> Annotations:
        (attrs,) = parameters(self.exprs, call, ("attrs",))
        assert attrs is not None
        return read_annotations(self.exprs, attrs)


def _commented_imports(lines: list[str]) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports that TVM prints as comments above the program: `# from tvm.script import tirx as T`."""
    found: list[ast.Import | ast.ImportFrom] = []
    for line in lines:
        match = re.fullmatch(r"# from tvm\.script import (\w+) as (\w+)\s*", line)
        if match is not None:
            found.append(ast.ImportFrom("tvm.script", [ast.alias(match[1], match[2])], 0))
        elif line and not line.startswith(("#", "from ", "import ")):
            break
    return found


def _is_of_tvm(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether an import may come from TVM, so that it is no other language with the names of TVM's."""
    if isinstance(node, ast.ImportFrom) and node.level:
        return True
    module = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
    return not {"tvm", "tilewright"}.isdisjoint(module.split("."))


def is_plain(value: object) -> bool:
    """Whether a value is a constant of Python or TVM, or a tuple of them."""
    if isinstance(value, tuple):
        return all(map(is_plain, cast("tuple[object, ...]", value)))
    return value is None or isinstance(value, bool | int | float | str | IntImm | FloatImm)
