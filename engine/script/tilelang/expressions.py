"""TileLang's expressions: what its module has besides the functions of TVMScript."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...ir import Buffer, BufferLoad, Call, Expr, IntImm, Var, build
from ..reading.expressions import ExpressionReader
from ..reading.intrinsics import INTRINSICS, operands, parameters
from ..reading.reader import Reader
from ..subset.scope import Value
from ..subset.values import Module
from .names import TYPE_PARTS, own_name, type_alias, type_named, type_part

ReadFunction: TypeAlias = Callable[[Reader, ast.Call], Value]


class TileExpressions(ExpressionReader):
    """Reads the expressions of TileLang."""

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.IfExp):
            return self._chosen(node)
        if isinstance(node, ast.Attribute):
            name = self.script_name(node)
            dtype = None if name is None else type_alias(name.removeprefix("T."))
            if dtype is not None:
                return dtype
            if name is not None and name.startswith("T.GemmWarpPolicy"):
                return name
        found = super().value(node)
        named = type_named(found.name) if isinstance(found, Module) else None
        return found if named is None else named

    def dtype(self, node: ast.expr) -> str:
        value = self.value(node)
        known = type_alias(value) if isinstance(value, str) else None
        return super().dtype(node) if known is None else known

    def _chosen(self, node: ast.IfExp) -> Value:
        """Read `a if condition else b`; with a condition that only a run decides, it is a value like T.if_then_else."""
        test = self.value(node.test)
        if isinstance(test, Expr) and not isinstance(test, IntImm):
            return build.if_then_else(self.as_condition(test, node.test), self.expr(node.body), self.expr(node.orelse))
        chosen = test.value if isinstance(test, IntImm) else test
        return self.value(node.body if chosen else node.orelse)

    def _name(self, node: ast.Name) -> Value:
        value = super()._name(node)
        if isinstance(value, Buffer) and value.scope == "local.var":
            return BufferLoad(value, (IntImm(0),) * len(value.shape))
        return value

    def owner(self, node: ast.expr) -> Value:
        known = self.scope.get(node.id) if isinstance(node, ast.Name) else None
        return known if isinstance(known, Buffer) else super().owner(node)

    def _call(self, node: ast.Call) -> Value:
        name = self.called(node) or ""
        if not name and isinstance(node.func, ast.Attribute):
            root = node.func
            while isinstance(root, ast.Attribute):
                root = root.value
            name = ast.unparse(node.func) if isinstance(root, ast.Name) and root.id == "tilelang" else ""
        read = function_named(name)
        return super()._call(node) if read is None else read(self, node)

    def attribute_of(self, owner: Value, name: str) -> Value:
        if isinstance(owner, str) and name in TYPE_PARTS:
            return type_part(owner, name)
        if isinstance(owner, Buffer) and name == "ndim":
            return len(owner.shape)
        return super().attribute_of(owner, name)


def _dtype(reader: Reader, node: ast.Call) -> Value:
    """`T.dtype("float16")`."""
    return reader.dtype(node.args[0])


def _dynamic(reader: Reader, node: ast.Call) -> Value:
    """`T.dynamic("m")`, `T.symbolic("m, n", "int32")`: size variables."""
    name, dtype = parameters(reader, node, ("name", "dtype"), 1)
    assert name is not None
    kind = "int32" if dtype is None else reader.dtype(dtype)
    names = [part.strip() for part in reader.string(name).split(",") if part.strip()]
    made = tuple(Var(part, kind) for part in names)
    return made[0] if len(made) == 1 else made


def _reinterpret(reader: Reader, node: ast.Call) -> Value:
    """`T.reinterpret(value, dtype)`: the bits of a value as another type; older texts have the type first."""
    first, second = node.args if len(node.args) == 2 else (node.args[0], node.keywords[0].value)
    values = [reader.value(first), reader.value(second)]
    dtype = next((v for v in values if isinstance(v, str)), None)
    value = next((v for v in values if not isinstance(v, str)), None)
    if dtype is None or value is None:
        raise reader.error(
            node, "wrong-arguments", "T.reinterpret needs a value and a type", expected='T.reinterpret(x, "uint16")'
        )
    return Call("reinterpret", (reader.as_expr(value, node),), dtype)


def _loop_break(reader: Reader, node: ast.Call) -> Value:
    raise reader.error(
        node, "unsupported", "leaving a loop is not supported", expected="a condition around the rest of the body"
    )


def _clamp(reader: Reader, node: ast.Call) -> Value:
    """`T.clamp(x, low, high)`."""
    x, low, high = operands(reader, node, ("dst", "min_val", "max_val"))
    return build.minimum(build.maximum(x, low), high)


def _many(make: Callable[[Expr, Expr], Expr]) -> ReadFunction:
    """`T.max(a, b, …)`."""

    def read(reader: Reader, node: ast.Call) -> Value:
        found = [reader.expr(argument) for argument in node.args]
        result = found[0]
        for value in found[1:]:
            result = make(result, value)
        return result

    return read


def _unary(op: str) -> ReadFunction:
    """A fast version of a function: `T.__exp(x)`."""

    def read(reader: Reader, node: ast.Call) -> Value:
        (x,) = operands(reader, node, ("x",))
        return Call(op, (x,), x.dtype)

    return read


def _next_power(reader: Reader, node: ast.Call) -> Value:
    """`tilelang.math.next_power_of_2(n)`."""
    return 1 << max(reader.constant_int(node.args[0]) - 1, 0).bit_length()


def _quotient(reader: Reader, node: ast.Call) -> Value:
    """`T.ceildiv(a, b)`; of constants a constant, which the Python code around a kernel may use."""
    match [reader.value(argument) for argument in node.args]:
        case [int(a), int(b)] if b:
            return -(-a // b)
        case _:
            return INTRINSICS["ceildiv"](reader, node)


def _ceildiv(reader: Reader, node: ast.Call) -> Value:
    a, b = operands(reader, node, ("a", "b"))
    return build.floordiv(build.add(a, build.sub(b, IntImm(1))), b)


def _cast(reader: Reader, node: ast.Call) -> Value:
    """`T.cast(value, dtype)`, or `T.Cast(dtype, value)`."""
    first, second = node.args
    a, b = reader.value(first), reader.value(second)
    dtype, value = (a, b) if isinstance(a, str) else (b, a)
    if not isinstance(dtype, str):
        raise reader.error(node, "wrong-arguments", "the type is missing", expected='T.cast(x, "float16")')
    return build.cast(reader.as_expr(value, node), reader.dtype(second if dtype is b else first))


FUNCTIONS: Mapping[str, ReadFunction] = {
    "dtype": _dtype,
    **dict.fromkeys(("dynamic", "symbolic", "const"), _dynamic),
    "reinterpret": _reinterpret,
    "loop_break": _loop_break,
    "clamp": _clamp,
    "max": _many(build.maximum),
    "min": _many(build.minimum),
    **{f"__{op}": _unary(op) for op in ("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "pow")},
    "ceildiv": _quotient,
    "Cast": _cast,
    "cast": _cast,
    **dict.fromkeys(("tilelang.cdiv", "tilelang.math.cdiv"), _ceildiv),
    **dict.fromkeys(("tilelang.next_power_of_2", "tilelang.math.next_power_of_2"), _next_power),
}
"""Readers of functions that TVMScript does not have, or has in another form."""


def function_named(name: str) -> ReadFunction | None:
    """Return the reader of a function of TileLang by its name, "T.dtype" or "tilelang.language.dtype"."""
    return FUNCTIONS.get(name.removeprefix("T.") if name.startswith("T.") else own_name(name))


__all__ = ["FUNCTIONS", "TileExpressions", "function_named"]
