"""Reading modules and functions: imports, constants, decorated functions, classes of functions. The door is `parse`."""

from __future__ import annotations

import ast
import re
from typing import cast

import msgspec

from ..ir import (
    Annotations,
    Block,
    BlockRealize,
    Buffer,
    Expr,
    FloatImm,
    IntImm,
    IRModule,
    Node,
    PrimFunc,
    Stmt,
    StringImm,
    Var,
    build,
    free_vars,
    walk,
    walk_stmts,
)
from ..ir import dtype as dt
from .blocks import read_annotations
from .buffers import declaration, read_buffer, subscript_declaration
from .dialect import PRIVATE
from .errors import parse_error
from .expressions import ExpressionReader
from .intrinsics import parameters
from .source import Positions, Source
from .statements import StatementReader

_CURRENT_WORDS = ("T.sblock", "T.sblock_alloc_buffer", "T.sblock_attr")
_CLASSIC_WORDS = ("T.block", "T.block_attr")
_NAMESPACES = {"ir": "I", "tir": "T", "tirx": "T"}
_OPTIONS = ("private", "s_tir", "check_well_formed", "persistent")


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """A program with the places of its nodes in the text."""

    program: IRModule | PrimFunc
    positions: Positions


def parse(text: str, filename: str = "") -> Parsed:
    """The program that `text` describes: a module when it holds one, else its function.

    Raises ParseError with the place when the text is not a program of the subset. Nothing in the text is run.
    """
    source = Source(text, filename)
    try:
        return _ModuleReader(source).read()
    except RecursionError:
        raise source.too_deep(source.place(source.tree)) from None


class _ModuleReader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.reader = StatementReader(source, current=False)
        self.exprs = self.reader.exprs
        self.found: list[IRModule | PrimFunc] = []
        self.sizes: dict[str, str] = {}

    def read(self) -> Parsed:
        imports = [node for node in self.source.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        imports += _commented_imports(self.source.lines)
        for node in imports:
            self._import(node)
        self.reader.current = self._is_current(imports)
        for node in self.source.tree.body:
            self._top(node)
        if len(self.found) != 1:
            self._fail_count()
        return Parsed(self.found[0], self.reader.positions.freeze())

    def _fail_count(self) -> None:
        what = "no program" if not self.found else f"{len(self.found)} programs"
        names = ", ".join(p.name if isinstance(p, PrimFunc) else "a module" for p in self.found)
        raise parse_error(
            "not-a-program",
            f"the text has {what}",
            self.source.place(self.source.tree.body[-1] if self.source.tree.body else self.source.tree),
            found=names,
            expected="one function under @T.prim_func, or one class under @I.ir_module with all functions in it",
        )

    # Dialect.

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """`from tvm.script import tirx as T` gives T its meaning; other imports mean nothing here."""
        for alias in node.names:
            last = alias.name.rpartition(".")[2]
            scripted = isinstance(node, ast.ImportFrom) and (node.module or "").endswith("script")
            if last in _NAMESPACES and (scripted or ".script." in f".{alias.name}"):
                self.exprs.namespaces[alias.asname or last] = _NAMESPACES[last]

    def _is_current(self, imports: list[ast.Import | ast.ImportFrom]) -> bool:
        """Whether T.alloc_buffer means TVM >= 0.24's statement; the words for blocks tell, else the import does."""
        words = {self.exprs.script_name(n) for n in ast.walk(self.source.tree) if isinstance(n, ast.Attribute)}
        if not words.isdisjoint(_CURRENT_WORDS):
            return True
        if not words.isdisjoint(_CLASSIC_WORDS):
            return False
        imported = {a.name.rpartition(".")[2] for n in imports for a in n.names}
        return "tirx" in imported or "tir" not in imported

    # The top level.

    def _top(self, node: ast.stmt) -> None:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                return
            case ast.Expr(value=ast.Constant(value=str())):
                return
            case ast.Assign(targets=[ast.Name() as name]):
                self._constant(name, node.value)
            case ast.FunctionDef():
                self.found.append(self._function(node))
            case ast.ClassDef():
                self.found.append(self._class(node))
            case _:
                raise self.source.error(
                    node,
                    "unsupported",
                    "this is not part of a program's text",
                    expected="imports, constants, @T.prim_func functions, an @I.ir_module class",
                )

    def _constant(self, name: ast.Name, node: ast.expr) -> None:
        """`N = 128`, `shape = (N, 64)`, `dtype = "float32"`."""
        value = self.exprs.value(node)
        if not _is_plain(value):
            raise self.source.error(
                node, "unsupported", "only constants are set outside of functions", expected="a number, string or tuple"
            )
        self.exprs.scope.define(name.id, value)

    def _class(self, node: ast.ClassDef) -> IRModule:
        names = [self._decorator(d) for d in node.decorator_list]
        if names != ["I.ir_module"]:
            raise self.source.error(
                node,
                "not-a-program",
                f"the class {node.name} is not a module",
                expected="@I.ir_module above it",
                fix=("@I.ir_module",),
            )
        functions: list[PrimFunc] = []
        attrs: Annotations = ()
        with self.exprs.scope.nested():
            for part in node.body:
                match part:
                    case ast.FunctionDef():
                        functions.append(self._function(part))
                    case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                        pass
                    case ast.Expr(value=ast.Call() as call) if self.exprs.called(call) == "I.module_attrs":
                        attrs = (*attrs, *self._module_attrs(call))
                    case ast.Assign(targets=[ast.Name() as name]):
                        self._constant(name, part.value)
                    case _:
                        raise self.source.error(
                            part, "unsupported", "a module holds functions", expected="@T.prim_func functions"
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
                f"two functions are called {min(repeated)}",
                expected="a name of its own for each",
            )
        module = IRModule(tuple(functions), attrs)
        self.reader.positions.add(module, self.source.header(node))
        return module

    def _module_attrs(self, call: ast.Call) -> Annotations:
        (attrs,) = parameters(self.exprs, call, ("attrs",))
        assert attrs is not None
        return read_annotations(self.exprs, attrs)

    def _decorator(self, node: ast.expr) -> str | None:
        """ "T.prim_func" or "I.ir_module", called or not, however they were imported."""
        target = node.func if isinstance(node, ast.Call) else node
        name = self.exprs.script_name(target)
        if name is None:
            written = ast.unparse(target)
            bare = {"ir_module": "I.ir_module", "prim_func": "T.prim_func"}
            return bare.get(written.rpartition(".")[2]) if "." not in written or written.startswith("tvm.") else None
        return name

    # Functions.

    def _function(self, node: ast.FunctionDef) -> PrimFunc:
        options = self._options(node)
        self.reader.begin_function()
        self.sizes = _declared_sizes(self.exprs, node.body)
        with self.exprs.scope.nested():
            params = self._parameters(node)
            body = self._body(node)
            attrs = self._attributes(node, private=options.get("private", False))
        func = PrimFunc(node.name, params, self._buffer_map(node, params), body, attrs)
        self._require_bound(node, func)
        self.reader.positions.add(func, self.source.header(node))
        return func

    def _options(self, node: ast.FunctionDef) -> dict[str, bool]:
        if len(node.decorator_list) != 1 or self._decorator(node.decorator_list[0]) != "T.prim_func":
            at = node.decorator_list[0] if node.decorator_list else node
            raise self.source.error(
                at,
                "not-a-program",
                f"the function {node.name} is not a tensor program",
                expected="@T.prim_func above it",
                fix=("@T.prim_func",),
            )
        decorator = node.decorator_list[0]
        found: dict[str, bool] = {}
        for option in decorator.keywords if isinstance(decorator, ast.Call) else ():
            value = self.exprs.value(option.value)
            if option.arg not in _OPTIONS or not isinstance(value, bool):
                raise self.source.error(
                    option.value,
                    "unsupported",
                    f"T.prim_func has no option {option.arg}={value!r} here",
                    expected="private=True, s_tir=True",
                )
            found[option.arg] = value
        return found

    def _parameters(self, node: ast.FunctionDef) -> tuple[Var, ...]:
        arguments = node.args
        extra = [*arguments.posonlyargs, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        if any(extra) or arguments.defaults:
            at = next((e for e in extra if e is not None), node)
            raise self.source.error(
                at,
                "unsupported",
                "parameters are plain: a name and a type",
                expected='A: T.Buffer((128, 64), "float32")',
            )
        names = [a.arg for a in arguments.args]
        if len(set(names)) != len(names):
            raise self.source.error(
                node, "not-a-program", "two parameters have one name", expected="a name of its own for each"
            )
        # Scalars first: a buffer's shape may name a size that stands after it.
        made = {a.arg: self._scalar(a) for a in arguments.args}
        return tuple(made[a.arg] or self._buffer_parameter(a) for a in arguments.args)

    def _scalar(self, argument: ast.arg) -> Var | None:
        """A handle or a number; None for a buffer."""
        annotation = argument.annotation
        if annotation is None:
            raise self.source.error(
                argument,
                "wrong-arguments",
                f"the parameter {argument.arg} has no type",
                expected='T.Buffer((128, 64), "float32"), T.handle or T.int32',
            )
        if self._is_buffer(annotation):
            return None
        if isinstance(annotation, ast.Call) and not annotation.args and not annotation.keywords:
            annotation = annotation.func  # `n: T.int32()`, as older texts have it
        if isinstance(annotation, ast.Call) and self.exprs.called(annotation) == "T.handle":
            annotation = annotation.func  # `a: T.handle("float32")`: what it points at is said by match_buffer
        dtype = self.exprs.dtype(annotation)
        var = Var(argument.arg, dtype)
        self.exprs.define(argument.arg, var, argument)
        if dtype == "handle":
            self.reader.handles[var] = None
        return var

    def _is_buffer(self, annotation: ast.expr) -> bool:
        target = (
            annotation.func
            if isinstance(annotation, ast.Call)
            else annotation.value
            if isinstance(annotation, ast.Subscript)
            else annotation
        )
        return self.exprs.script_name(target) == "T.Buffer"

    def _buffer_parameter(self, argument: ast.arg) -> Var:
        annotation = argument.annotation
        if isinstance(annotation, ast.Call):
            declared = declaration(self.exprs, annotation)
        elif isinstance(annotation, ast.Subscript):
            declared = subscript_declaration(annotation)
        else:
            raise self.source.error(
                argument, "wrong-arguments", "the shape is missing", expected='T.Buffer((128, 64), "float32")'
            )
        handle = Var(f"{argument.arg}_handle", "handle")
        buffer = read_buffer(self.exprs, argument.arg, declared, self.sizes)
        self.exprs.define(argument.arg, buffer, argument)
        self.reader.handles[handle] = buffer
        return handle

    def _body(self, node: ast.FunctionDef) -> Stmt:
        frame = self.reader.frame
        body = self.reader.body(node.body)
        has_blocks = any(isinstance(s, BlockRealize) for s in walk_stmts(body))
        if frame.alloc_buffers or (has_blocks and not _is_root(body)):
            frame.name = "root"
            body = frame.realize(body, is_root=True)
            self.reader.positions.add(body.block, self.source.header(node))
        return body

    def _attributes(self, node: ast.FunctionDef, *, private: bool) -> Annotations:
        found: list[tuple[str, Expr | tuple[Expr, ...]]] = [(PRIVATE, build.TRUE)] if private else []
        for name, value in self.reader.func_attrs:
            if name == "global_symbol" and isinstance(value, StringImm) and value.value == node.name:
                continue  # it is the function's name
            if not self.reader.current and name.startswith("tir."):
                found.append((f"tirx.{name.removeprefix('tir.')}", value))  # the name it has now
            else:
                found.append((name, value))
        return tuple(found)

    def _buffer_map(self, node: ast.FunctionDef, params: tuple[Var, ...]) -> tuple[tuple[Var, Buffer], ...]:
        found = [(p, self.reader.handles[p]) for p in params if p in self.reader.handles]
        return tuple((p, b) for p, b in found if b is not None)

    def _require_bound(self, node: ast.FunctionDef, func: PrimFunc) -> None:
        """A size made by `n = T.int32()` gets its value from a buffer whose shape, strides or offset it is."""
        known: set[Node] = {*func.params}
        for buffer in func.buffers:
            known.update(_sizes_of(buffer))
        for stmt in walk_stmts(func.body):
            if isinstance(stmt, Block):
                for match in stmt.match_buffers:
                    known.update(_sizes_of(match.buffer))
        unbound = free_vars(func.body) - known
        if unbound:
            var = min(unbound, key=lambda v: v.name)
            place = self.reader.positions.first(var) or self.source.header(node)
            raise parse_error(
                "unknown-name",
                f"the size {var.name} has no value",
                place,
                found=var.name,
                expected="a parameter, or the size of a buffer that is matched",
                fix=(f"{var.name}: T.{var.dtype} as a parameter",),
            )


def _commented_imports(lines: list[str]) -> list[ast.Import | ast.ImportFrom]:
    """TVM prints its imports as comments above the program: `# from tvm.script import tirx as T`."""
    found: list[ast.Import | ast.ImportFrom] = []
    for line in lines:
        match = re.fullmatch(r"# from tvm\.script import (\w+) as (\w+)\s*", line)
        if match is not None:
            found.append(ast.ImportFrom("tvm.script", [ast.alias(match[1], match[2])], 0))
        elif line and not line.startswith(("#", "from ", "import ")):
            break
    return found


def _sizes_of(buffer: Buffer) -> set[Node]:
    parts = (*buffer.shape, *buffer.strides, *((buffer.elem_offset,) if buffer.elem_offset is not None else ()))
    return {node for part in parts for node in walk(part) if isinstance(node, Var)}


def _is_root(body: Stmt) -> bool:
    """A block without iterators that is all of the function is its root, as in TVM."""
    return isinstance(body, BlockRealize) and not body.block.iter_vars


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, cast("tuple[object, ...]", value)))
    return value is None or isinstance(value, bool | int | float | str | IntImm | FloatImm)


def _declared_sizes(reader: ExpressionReader, body: list[ast.stmt]) -> dict[str, str]:
    """The types of the size variables that a function's first lines declare: `m = T.int64()`."""
    found: dict[str, str] = {}
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[], keywords=[]) as call):
                dtype = (reader.called(call) or "").removeprefix("T.")
                if dt.is_valid(dtype) and dt.is_int(dtype):
                    found[name] = dtype
            case _:
                pass
    return found
