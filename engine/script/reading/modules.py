"""Module reader: imports, constants, decorated functions, classes of functions. The entry point is `parse`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ...ir import (
    FAULTS,
    Annotations,
    BinaryOp,
    Expr,
    FloatImm,
    IntImm,
    IRModule,
    PrimFunc,
    Var,
    walk,
)
from ..errors import parse_error
from ..language import is_eager, is_tile_language, other_languages, root_of_decorator, uses_tile_language
from ..notes import Note, passed_notes
from ..subset.bindings import free_names
from ..subset.calls import function_of
from ..subset.core import Evaluator
from ..subset.scope import Foreign, Scope, Unknown, Value
from ..subset.statements import evaluator
from ..subset.values import Module, TypeVariable, frozen, reachable
from ..syntax import collection_paused
from ..tilelang.functions import MAKING, EagerKernel, TileFunctionReader
from ..tilelang.statements import TileReader
from ..tilelang.sync.statement import Synchronised
from .blocks import read_annotations
from .dialect import ScriptDialect
from .expressions import ExpressionReader
from .functions import FunctionReader, decorator_name, is_python, is_relax
from .intrinsics import parameters
from .source import Positions, PositionTable, Source
from .statements.bodies import StatementReader

_CURRENT_WORDS = ("T.sblock", "T.sblock_alloc_buffer", "T.sblock_attr")
_CLASSIC_WORDS = ("T.block", "T.block_attr")
_NAMESPACES = {"ir": "I", "tir": "T", "tirx": "T", "ty": "T"}


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """A program with the places of its nodes in the text, and notes of the reader. `synchronised` are the bodies of kernels in one
    order, with their flags, barriers and waits as statements."""

    program: IRModule | PrimFunc
    positions: Positions
    notes: tuple[Note, ...] = ()
    synchronised: tuple[Synchronised, ...] = ()


def parse(text: str, filename: str = "") -> Parsed:
    """Return the program that `text` describes: its module, or else its function. Other Python in the text is passed over.

    Raises ParseError with the place when the text has no program of the subset, or several. Nothing in the text is run.
    """
    with collection_paused():
        source = Source(text, filename)
        try:
            reader = ModuleReader(source)
            dialect = _ModuleDialect(reader)
            run = dialect.run = evaluator(source, dialect)
            run.run(source.tree.body)
            all_found = dialect.found if len(dialect.found) == 1 else dialect.with_names()
            if len(all_found) != 1:
                reader.fail_count([program.program for program in dialect.found])
            (found,) = all_found
            return replace(found, notes=(*found.notes, *passed_notes(source, run.passed)))
        except RecursionError:
            raise source.too_deep(source.place(source.tree)) from None
        except FAULTS as error:
            raise source.refused(source.tree, error) from error


class _ModuleDialect(ScriptDialect):
    """Reads the programs of a text where it defines them."""

    run: Evaluator

    def __init__(self, reader: ModuleReader) -> None:
        super().__init__(ExpressionReader(reader.source, PositionTable()))
        self.reader.namespaces = reader.exprs.namespaces
        self.programs = reader
        self.found: list[Parsed] = []

    def definition(self, run: Evaluator, node: ast.FunctionDef | ast.ClassDef) -> Value:
        if isinstance(node, ast.FunctionDef) and is_eager(node):
            return EagerKernel(node, run.scope, function_of(run, node).defaults)
        if not self.programs.is_program(node):
            return None
        parsed = self.programs.read(node, run)
        if parsed is not None:
            self.found.append(parsed)
        return Made(parsed if run.functions else None)

    def with_names(self) -> list[Parsed]:
        """The programs without those of functions that the text gives no name: a function may define several and return one."""
        named = [value.parsed for _, value in self.run.scope.items() if isinstance(value, Made)]
        return [parsed for parsed in self.found if parsed in named] if any(named) else self.found

    def apply(self, run: Evaluator, callee: Value, node: ast.Call) -> Value:
        return run.passed_call(node) if isinstance(callee, Made | EagerKernel) else super().apply(run, callee, node)

    def attribute(self, run: Evaluator, owner: Value, name: str, node: ast.Attribute) -> Value:
        return run.runs(node) if isinstance(owner, Made | EagerKernel) else super().attribute(run, owner, name, node)

    def method(self, run: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
        if isinstance(owner, Made):
            return run.passed_call(node)
        if not isinstance(owner, EagerKernel) or name not in MAKING:
            return super().method(run, owner, name, node)
        given = {k.arg: run.value(k.value) for k in node.keywords if k.arg is not None}
        with run.inside(owner.scope):
            parsed = self.programs.read(owner.node, run, {**owner.defaults, **given})
        assert parsed is not None
        self.found.append(parsed)
        return Made()

    def concerns(self, run: Evaluator, node: ast.AST) -> bool:
        if isinstance(node, ast.Assign | ast.Expr) and any(self._makes(part) for part in ast.walk(node)):
            return True
        return any(
            isinstance(part, ast.FunctionDef | ast.ClassDef) and self.programs.is_program(part)
            for part in ast.walk(node)
        )

    def _makes(self, node: ast.AST) -> bool:
        """Whether a call makes a program: one of an eager kernel."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MAKING


class Made(Foreign):
    """What is made of a program, which code that is not read may use. `parsed` is one that a function of the text defines."""

    __slots__ = ("parsed",)

    def __init__(self, parsed: Parsed | None = None) -> None:
        self.parsed = parsed


class ModuleReader:
    """Reads the definitions of programs in a text, each with the values that the names of the text have there."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.notes: list[Note] = []
        if uses_tile_language(source.nodes):
            self.reader = TileReader(source, current=False)
            self.functions = TileFunctionReader(source, self.reader)
        else:
            self.reader = StatementReader(source, current=False)
            self.functions = FunctionReader(source, self.reader)
        self.exprs = self.reader.exprs
        imports = [node for node in source.nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        imports += _commented_imports(source.lines)
        for node in imports:
            self._import(node)
        self.reader.current = self._is_current(imports)
        if source.shifts is not None:
            text = (
                "the margin of the lines is passed over"
                if min(source.shifts) < 0
                else "the text has lost its indentation; it was restored from the names that each line uses"
            )
            self.notes.append(Note(text, source.place(source.tree)))

    def is_program(self, node: ast.FunctionDef | ast.ClassDef) -> bool:
        """Whether a definition is a program, a module of programs, or a relax function."""
        if isinstance(node, ast.FunctionDef) and is_relax(node):
            return True
        names = [decorator_name(self.exprs, decorator) for decorator in node.decorator_list]
        kinds = ("I.ir_module", "T.script") if isinstance(node, ast.ClassDef) else ("T.prim_func", "T.script")
        return any(name in kinds for name in names)

    def read(
        self, node: ast.FunctionDef | ast.ClassDef, run: Evaluator, given: Mapping[str, Value] | None = None
    ) -> Parsed | None:
        """Return the program of a definition; None for a relax function, which is noted. `given` are the values of the parameters of an
        eager kernel."""
        scope = Scope()
        values = program_values(run, node)
        self.functions.type_vars = [name for name, value in values.items() if isinstance(value, TypeVariable)]
        for name, value in values.items():
            if not isinstance(value, TypeVariable):
                scope.define(name, value)
        outer, self.exprs.scope, self.exprs.around = self.exprs.scope, scope, self._python(run)
        self.reader.positions = self.exprs.positions = PositionTable()
        try:
            if isinstance(node, ast.FunctionDef) and is_relax(node):
                self._pass_over(node)
                return None
            program = self._program(node, given)
        finally:
            self.exprs.scope = outer
        notes, self.notes = tuple(self.notes), []
        synchronised = tuple(self.reader.synchronised) if isinstance(self.reader, TileReader) else ()
        return Parsed(program, self.reader.positions.freeze(), notes, synchronised)

    def _program(self, node: ast.FunctionDef | ast.ClassDef, given: Mapping[str, Value] | None) -> IRModule | PrimFunc:
        if isinstance(node, ast.ClassDef):
            return self._class(node)
        if given is not None and isinstance(self.functions, TileFunctionReader):
            return self.functions.read_eager(node, given)
        return self.functions.read(node)

    def _python(self, run: Evaluator) -> Evaluator:
        """Return an evaluator of the functions that a program calls: the one around it, with values of programs."""
        return evaluator(self.source, ScriptDialect(self.exprs), run)

    def require_no_maker(self, body: Sequence[ast.stmt]) -> None:
        """Require that no class of other code, such as a model, makes the program of the text. Raises "not-a-program"."""
        for node in body:
            if isinstance(node, ast.ClassDef) and node.bases and any(isinstance(p, ast.FunctionDef) for p in node.body):
                self._class(node)

    def fail_count(self, found: Sequence[IRModule | PrimFunc]) -> None:
        """Raise the error for a text with no program, or with several."""
        defined = [
            node
            for node in self.source.tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not self.is_program(node)
        ]
        if not found:
            self._require_language()
        if not found and defined:
            node = defined[-1]
            self._class(node) if isinstance(node, ast.ClassDef) else self.functions.read(node)
        what = "no program" if not found else f"{len(found)} programs"
        names = ", ".join(p.name if isinstance(p, PrimFunc) else "a module" for p in found)
        end = self.source.tree.body[-1] if self.source.tree.body else self.source.tree
        passed = next((n.place for n in self.notes if not found and "relax" in n.text), None)
        raise parse_error(
            "not-a-program",
            f"the text has {what}",
            passed or self.source.place(end),
            found=names,
            expected="one function under @T.prim_func, or one class under @I.ir_module with all functions in it",
        )

    def _require_language(self) -> None:
        """Require that no program of the text is written in another language. Raises "not-a-program"."""
        others = other_languages(self.source.nodes)
        for node in self.source.nodes:
            root = root_of_decorator(node)
            if isinstance(node, ast.FunctionDef) and root in others:
                raise self.source.line_error(node, "not-a-program", f"{node.name} is not written in TVMScript: {root} is {others[root]}",
                                             expected="from tvm.script import tir as T",
                                             fix=("paste the TVMScript that this language is lowered to",))  # fmt: skip

    # -- dialect

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Handle an import: `from tvm.script import tirx as T` defines T; other imports are ignored."""
        for alias in node.names:
            last = alias.name.rpartition(".")[2]
            scripted = isinstance(node, ast.ImportFrom) and (node.module or "").endswith(("script", "tvm.hybrid"))
            name = alias.asname or last
            module = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            if is_tile_language(module):
                self.exprs.namespaces[name] = "T"
            elif last in _NAMESPACES and (scripted or ".script." in f".{alias.name}"):
                self.exprs.namespaces[name] = _NAMESPACES[last]
            elif name in self.exprs.namespaces and (not _is_of_tvm(node, alias) or name in other_languages([node])):
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

    def _constant(self, name: ast.Name, node: ast.expr) -> None:
        """Read a constant of a module of programs: `N = 128`, `shape = (N, 64)`."""
        value = self.exprs.value(node)
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
                    case ast.FunctionDef() if is_relax(part) or is_python(part):
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
        kind = "relax" if is_relax(node) else "Python"
        text = f"the {kind} function {node.name} is not a tensor program and is skipped"
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


def program_values(run: Evaluator, node: ast.AST) -> dict[str, Value]:
    """Return the values of the names that a program uses, where it is defined: constants, and functions and objects of the text."""
    found: dict[str, Value] = {}
    for name in free_names(node):
        if name in run.scope:
            value = run.scope[name]
            if not isinstance(value, Module) or not _IS_OF_TVM.search(value.name):
                found[name] = _program_value(run, name, value, node)
            elif value.name.startswith("tilelang") or value.name.endswith(".DataType"):
                found[name] = value
    for name in _quoted_names(node):
        if name in run.scope and isinstance(value := run.scope[name], TypeVariable):
            found.setdefault(name, value)
    return found


def _quoted_names(node: ast.AST) -> Iterator[str]:
    """Yield the words in strings of a function's annotations, such as a quoted size "n * 32"."""
    for argument in node.args.args if isinstance(node, ast.FunctionDef) else ():
        for part in ast.walk(argument.annotation) if argument.annotation is not None else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield from re.findall(r"[A-Za-z_]\w*", part.value[:1000])


def _is_size(value: Expr) -> bool:
    """Whether a value is a number, or computed from numbers and the names of sizes."""
    return all(
        isinstance(part, IntImm | Var) or (isinstance(part, BinaryOp) and part.dtype in ("int32", "int64"))
        for part in walk(value)
    )


def _program_value(run: Evaluator, name: str, value: Value, node: ast.AST) -> Value:
    """Return a value as a program has it."""
    line = run.lines.get(name, 1)
    if isinstance(value, Module):
        if value.name.partition(".")[0] in ("math", "functools", "itertools", "operator"):
            return value
        return Unknown(f"line {line} imports it")
    for part in reachable(value, 1000):
        by = run.memory.change_of(part)
        if by is not None:
            return Unknown(f"line {run.line(by)} may change it", run.origin_of(by))
        if isinstance(part, Unknown) and isinstance(value, tuple | list):
            return part
    if isinstance(value, Expr) and not isinstance(value, FloatImm) and not _is_size(value):
        return Unknown(f"line {line} gives it a value that is not a constant of the text")
    if isinstance(value, tuple | list | range):
        run.budget.require_small(value, node)
        return frozen(value)
    return value


_IS_OF_TVM = re.compile(r"(?:^|\.)(?:tvm|tilewright|tilelang)(?:\.|$)")

__all__ = ["ModuleReader", "Parsed", "parse", "program_values"]
