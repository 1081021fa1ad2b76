"""Function reader: options, parameters, matched buffers, attributes, body."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from msgspec.structs import replace

from ...ir import (
    Annotation,
    Annotations,
    BlockRealize,
    Buffer,
    PrimFunc,
    ProgramSize,
    Stmt,
    StringImm,
    Var,
    build,
    walk_stmts,
)
from ...ir import dtype as dt
from ..errors import ParseError
from ..printing.dialect import PRIVATE, RETURNS, S_TIR
from .buffers import declaration, read_buffer, subscript_declaration
from .expressions import ExpressionReader
from .source import Source
from .statements.bodies import StatementReader

EARLY_DECORATORS = ("tvm.script.tir", "script.tir", "tvm.hybrid.script", "hybrid.script")
"""Decorators of functions, and of classes of functions, in 2020 and 2021."""
_OPTIONS = ("private", "s_tir", "check_well_formed", "persistent")


class FunctionReader:
    """Reads decorated functions one after the other. `type_vars` are sizes that TVM prints above them as `n = TypeVar("n")`."""

    buffer_types: tuple[str, ...] = ("T.Buffer",)
    """The types of parameters that are buffers."""

    def __init__(self, source: Source, reader: StatementReader) -> None:
        self.source = source
        self.reader = reader
        self.exprs = reader.exprs
        self.sizes: dict[str, str] = {}
        self.type_vars: list[str] = []

    def read(self, node: ast.FunctionDef, *, decorated: bool = True) -> PrimFunc:
        """Read one function with its own buffers and variables; outer names are visible. In a class of 2021 it is not `decorated`."""
        options = self._options(node) if decorated or node.decorator_list else {}
        self.reader.begin_function()
        lowered = self.exprs.has_layouts = self.reader.current and not options.get("s_tir", False)
        self.sizes = _declared_sizes(self.exprs, node.body)
        with self.exprs.scope.nested():
            for name in self.type_vars:
                self.exprs.scope.define(name, Var(name, "int64"))
            params = self._parameters(node)
            body = self._body(node)
            attrs = self._attributes(node, options, lowered=lowered and not _has_blocks(body))
        func = PrimFunc(node.name, params, self._buffer_map(node, params), body, attrs)
        self._require_small(node, func)
        self.reader.positions.add(func, self.source.header(node))
        return func

    def _require_small(self, node: ast.FunctionDef, func: PrimFunc) -> None:
        refusal = ProgramSize(func.body).refusal
        if refusal is not None:
            places = self.reader.positions.places(refusal.nodes[0]) or (self.source.header(node),)
            raise ParseError(replace(refusal, place=places[0]))

    def _options(self, node: ast.FunctionDef) -> dict[str, bool]:
        if len(node.decorator_list) != 1 or decorator_name(self.exprs, node.decorator_list[0]) not in (
            "T.prim_func",
            "T.script",
        ):
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
                "parameters must be plain, with a name and a type",
                expected='A: T.Buffer((128, 64), "float32")',
            )
        names = [a.arg for a in arguments.args]
        if len(set(names)) != len(names):
            raise self.source.error(
                node, "not-a-program", "two parameters have the same name", expected="distinct names"
            )
        # Scalars come first, because a buffer's shape can use a size that is declared after it.
        made = {a.arg: self._scalar(a) for a in arguments.args}
        return tuple(made[a.arg] or self._buffer_parameter(a) for a in arguments.args)

    def _scalar(self, argument: ast.arg) -> Var | None:
        """Read a handle or a number; None for a buffer."""
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
            annotation = annotation.func  # `n: T.int32()`, the form of older texts
        var = self.exprs.typed_var(argument.arg, annotation)
        self.exprs.define(argument.arg, var, argument)
        if var.dtype == "handle":
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
        return self.exprs.script_name(target) in self.buffer_types

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
        if frame.alloc_buffers or (_has_blocks(body) and not _is_root(body)):
            frame.name = "root"
            body = frame.realize(body, is_root=True)
            self.reader.positions.add(body.block, self.source.header(node))
        return body

    def _attributes(self, node: ast.FunctionDef, options: Mapping[str, bool], *, lowered: bool) -> Annotations:
        found: list[tuple[str, Annotation]] = [(PRIVATE, build.TRUE)] if options.get("private", False) else []
        if lowered:
            found.append((S_TIR, build.FALSE))
        if node.returns is not None and not (isinstance(node.returns, ast.Constant) and node.returns.value is None):
            found.append((RETURNS, StringImm(self.exprs.dtype(node.returns))))
        for name, value in self.reader.func_attrs:
            if name == "global_symbol" and isinstance(value, StringImm) and value.value == node.name:
                continue  # equals the function's name
            # A lowered text has no blocks that tell its generation.
            older = not self.reader.current or (name == "tir.noalias" and "s_tir" not in options)
            if older and name.startswith("tir."):
                found.append((f"tirx.{name.removeprefix('tir.')}", value))  # the current namespace
            else:
                found.append((name, value))
        return tuple(found)

    def _buffer_map(self, node: ast.FunctionDef, params: tuple[Var, ...]) -> tuple[tuple[Var, Buffer], ...]:
        found = [(p, self.reader.handles[p]) for p in params if p in self.reader.handles]
        return tuple((p, b) for p, b in found if b is not None)


def is_relax(node: ast.FunctionDef) -> bool:
    """Whether the function belongs to TVM's graph language: `@R.function`."""
    targets = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    return any(ast.unparse(t).removeprefix("tvm.script.") in ("R.function", "relax.function") for t in targets)


def is_python(node: ast.FunctionDef) -> bool:
    """Whether a function of a module is one of Python, which TVM calls: `@I.pyfunc`."""
    return any(ast.unparse(decorator).endswith(".pyfunc") for decorator in node.decorator_list)


def decorator_name(reader: ExpressionReader, node: ast.expr) -> str | None:
    """Return "T.prim_func" or "I.ir_module", called or not, for any import; "T.script" for the decorator of 2021, which marked both."""
    target = node.func if isinstance(node, ast.Call) else node
    name = reader.script_name(target)
    written = ast.unparse(target)
    if written in EARLY_DECORATORS:
        return "T.script"
    if name is None:
        bare = {"ir_module": "I.ir_module", "prim_func": "T.prim_func"}
        return bare.get(written.rpartition(".")[2]) if "." not in written or written.startswith("tvm.") else None
    return name


def _has_blocks(body: Stmt) -> bool:
    return any(isinstance(stmt, BlockRealize) for stmt in walk_stmts(body))


def _is_root(body: Stmt) -> bool:
    """Whether the body is a root: a block without iterators that is the whole function, as in TVM."""
    return isinstance(body, BlockRealize) and not body.block.iter_vars


def _declared_sizes(reader: ExpressionReader, body: list[ast.stmt]) -> dict[str, str]:
    """Return the types of the size variables that a function's first lines declare: `m = T.int64()`."""
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
