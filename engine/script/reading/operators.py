"""Python's operators on expressions, with TVM's result types."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Buffer,
    BufferRegion,
    Call,
    Expr,
    FloatImm,
    IntImm,
    Not,
    Or,
    Predicate,
    build,
)
from ...ir import dtype as dt
from ..subset import constants
from ..subset.scope import Foreign, Value
from .reader import Reader

_COMPARE: dict[type[ast.cmpop], type[Predicate]] = {
    ast.Eq: EQ,
    ast.NotEq: NE,
    ast.Lt: LT,
    ast.LtE: LE,
    ast.Gt: GT,
    ast.GtE: GE,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: build.add,
    ast.Sub: build.sub,
    ast.Mult: build.mul,
    ast.FloorDiv: build.floordiv,
    ast.Mod: build.floormod,
}
_BITWISE: dict[type[ast.operator], str] = {
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
}
_FOLD_BITS: dict[str, Callable[[int, int], int]] = {
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
}


MOST_WORD = 1000
"""Maximum length of a string or a list that is repeated."""


def _operand(reader: Reader, value: Value, node: ast.AST) -> Value:
    """Return an operand; foreign values become expressions, and a slice becomes a vector."""
    return reader.as_expr(value, node) if isinstance(value, Foreign | BufferRegion) else value


def binary(reader: Reader, node: ast.BinOp) -> Value:
    a, b = reader.value(node.left), reader.value(node.right)
    if isinstance(a, str) and isinstance(b, int) and isinstance(node.op, ast.Mult) and len(a) * b <= MOST_WORD:
        return a * b  # the kinds of iterators: "S" * 3
    if isinstance(a, tuple | list) and isinstance(b, int) and isinstance(node.op, ast.Mult) and len(a) * b <= MOST_WORD:
        return (*a,) * b  # the arrivals of barriers: [128, 128] * stages
    return combined(reader, node, a, b)


def combined(reader: Reader, node: ast.BinOp, a: Value, b: Value) -> Value:
    """Return `a op b` of the values of both sides."""
    a, b = _operand(reader, a, node.left), _operand(reader, b, node.right)
    if isinstance(a, int | float) and isinstance(b, int | float):
        try:
            return constants.fold(node.op, a, b)
        except ValueError as error:
            raise reader.error(node, "out-of-range", str(error)) from None
    if type(node.op) in _BITWISE:  # a number gets the other operand's type, as in comparisons
        x, y = side(reader, a, b, node.left), side(reader, b, a, node.right)
    else:
        x, y = reader.as_expr(a, node.left), reader.as_expr(b, node.right)
    for operand, part in (x, node.left), (y, node.right):
        if operand.dtype in ("handle", "void"):
            raise reader.error(part, "wrong-type", f"no arithmetic on a {operand.dtype}", expected="a number")
    return arithmetic(reader, node, node.op, x, y)


def arithmetic(reader: Reader, node: ast.AST, op: ast.operator, x: Expr, y: Expr) -> Expr:
    """Build `x op y` with TVM's types."""
    floats = dt.is_float(x.dtype) or dt.is_float(y.dtype)
    if isinstance(op, ast.Div):
        if not floats:
            raise reader.error(
                node,
                "wrong-type",
                "/ of integers is ambiguous",
                expected="// (rounds down) or T.truncdiv (rounds to zero)",
                fix=("a // b",),
            )
        return build.div(x, y)
    if type(op) in _BITWISE:
        if floats:
            raise reader.error(node, "wrong-type", "bit operations need integers", expected="integer operands")
        return bitwise(_BITWISE[type(op)], x, y)
    make = _ARITHMETIC.get(type(op))
    if make is None:
        raise reader.error(
            node,
            "unsupported",
            "this operator is not part of TVMScript",
            expected="+ - * / // % & | ^ << >>",
            fix=("T.pow(a, b)",) if isinstance(op, ast.Pow) else (),
        )
    if floats and isinstance(op, ast.FloorDiv | ast.Mod):
        raise reader.error(
            node,
            "wrong-type",
            "// and % need integers",
            expected="integer operands",
            fix=("T.floor(a / b)", "T.fmod(a, b)"),
        )
    try:
        return make(x, y)
    except ZeroDivisionError:
        raise reader.error(node, "out-of-range", "division by zero") from None


def unary(reader: Reader, node: ast.UnaryOp) -> Value:
    return negated(reader, node, reader.value(node.operand))


def negated(reader: Reader, node: ast.UnaryOp, value: Value) -> Value:
    """Return `op value`."""
    value = _operand(reader, value, node.operand)
    if isinstance(node.op, ast.Not):
        return Not(reader.as_condition(value, node.operand)) if isinstance(value, Expr) else not value
    if isinstance(value, int) and isinstance(node.op, ast.Invert):
        return ~value
    if isinstance(value, int | float) and not isinstance(node.op, ast.Invert):
        return -value if isinstance(node.op, ast.USub) else +value
    x = reader.as_expr(value, node.operand)
    if x.dtype in ("handle", "void"):
        raise reader.error(node, "wrong-type", f"no arithmetic on a {x.dtype}", expected="a number")
    if isinstance(node.op, ast.Invert):
        return bitwise("bitwise_not", x)
    if isinstance(node.op, ast.UAdd):
        return x
    if isinstance(x, FloatImm):
        return FloatImm(-x.value, x.dtype)
    return (
        build.mul(x, build.const(-1, x.dtype))
        if not x.dtype.startswith("uint")
        else build.sub(build.const(0, x.dtype), x)
    )


def compare(reader: Reader, node: ast.Compare) -> Value:
    nodes = [node.left, *node.comparators]
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot) and _is_none(nodes[1]):
        return (reader.require_known(reader.value(node.left), node.left) is None) == isinstance(node.ops[0], ast.Is)
    values = [_operand(reader, reader.value(n), n) for n in nodes]
    result: Value = None
    for i, op in enumerate(node.ops):
        term = compared(reader, node, op, values[i], values[i + 1])
        result = term if i == 0 else logical(reader, And, result, term, node)
    return result


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def compared(reader: Reader, node: ast.Compare, op: ast.cmpop, a: Value, b: Value) -> Value:
    """Return `a op b` for one comparison of a chain."""
    a, b = _operand(reader, a, node), _operand(reader, b, node)
    if isinstance(a, Expr | Buffer) or isinstance(b, Expr | Buffer):
        return comparison(reader, node, op, side(reader, a, b, node), side(reader, b, a, node))
    try:
        return constants.compare(op, a, b)
    except ValueError as error:
        raise reader.error(node, "wrong-type", str(error)) from None


def side(reader: Reader, value: Value, other: Value, node: ast.AST) -> Expr:
    """Return one side of a comparison or bit operation; a Python number gets the type of the other side, as in TVM."""
    if isinstance(value, int | float) and isinstance(other, Expr):
        if dt.is_float(other.dtype):
            return build.const(float(value), other.dtype)
        if isinstance(value, int) and dt.is_int(other.dtype):
            return build.cast(reader.integer(value, node, dt.element(other.dtype)), other.dtype)
    return reader.as_expr(value, node)


def comparison(reader: Reader, node: ast.Compare, op: ast.cmpop, a: Expr, b: Expr) -> Expr:
    kind = _COMPARE.get(type(op))
    if kind is None:
        raise reader.error(node, "unsupported", "`is` and `in` are not supported", expected="== != < <= > >=")
    try:
        return kind(*build.match_dtypes(a, b))  # pyright: ignore[reportCallIssue]
    except TypeError as error:
        raise reader.error(node, "wrong-type", str(error)) from None


def bool_op(reader: Reader, node: ast.BoolOp) -> Value:
    kind = And if isinstance(node.op, ast.And) else Or
    result = reader.value(node.values[0])
    for part in node.values[1:]:
        result = logical(reader, kind, result, reader.value(part), node)
    return result


def logical(reader: Reader, kind: type[And | Or], a: Value, b: Value, node: ast.AST) -> Value:
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return (a and b) if kind is And else (a or b)
    x, y = reader.as_expr(a, node), reader.as_expr(b, node)
    for operand in (x, y):
        if operand.dtype != "bool":
            raise reader.error(
                node,
                "wrong-type",
                f"and, or need bool operands, one side is {operand.dtype}",
                expected="comparisons",
                fix=("T.bitwise_and(a, b)",),
            )
    return kind(x, y)


def bitwise(op: str, *args: Expr) -> Expr:
    """Build a bit operation, folded for constants."""
    if op == "bitwise_not":
        return Call(op, args, args[0].dtype)
    a, b = build.match_dtypes(*args)
    fold = _FOLD_BITS.get(op)
    if fold is not None and isinstance(a, IntImm) and isinstance(b, IntImm):
        return IntImm(fold(a.value, b.value), a.dtype)
    return Call(op, (a, b), a.dtype)
