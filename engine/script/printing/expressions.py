"""Expression printer, with minimal parentheses. An operation that the parser would fold is printed as a node: `T.Add(1, 2)`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Broadcast,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Node,
    Not,
    Or,
    Predicate,
    Ramp,
    Range,
    Select,
    StringImm,
    Sub,
    TilewrightError,
    Var,
    Verbatim,
    build,
    refusing_depth,
)
from ...ir import dtype as dt
from ..reading.intrinsics import is_known
from ..reading.vocabulary import DTYPE_FIRST, DTYPE_LAST
from .writer import Names, Writer, quoted

# Python's operator precedence, loosest first.
ANY, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY = range(12)

_INFIX: dict[type[Expr], tuple[str, int, Callable[[Expr, Expr], Expr]]] = {
    Add: ("+", SUM, build.add),
    Sub: ("-", SUM, build.sub),
    Mul: ("*", PRODUCT, build.mul),
    Div: ("/", PRODUCT, build.div),
    FloorDiv: ("//", PRODUCT, build.floordiv),
    FloorMod: ("%", PRODUCT, build.floormod),
}
_FUNCTIONS: dict[type[Expr], tuple[str, Callable[[Expr, Expr], Expr]]] = {
    Min: ("T.min", build.minimum),
    Max: ("T.max", build.maximum),
    Mod: ("T.truncmod", build.truncmod),
}
_COMPARISONS: dict[type[Expr], str] = {EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">="}
_BITS: dict[str, tuple[str, int]] = {
    "bitwise_or": ("|", BIT_OR),
    "bitwise_xor": ("^", BIT_XOR),
    "bitwise_and": ("&", BIT_AND),
    "shift_left": ("<<", SHIFT),
    "shift_right": (">>", SHIFT),
}


class ExprPrinter:
    """Writes expressions to `out` and records their places."""

    def __init__(self, out: Writer, names: Names) -> None:
        self.out = out
        self.names = names
        self.scalars: set[Buffer] = set()  # buffers without axes that are written as variables
        self._table: dict[type[Expr], Callable[[Expr, int], None]] = {
            Var: self._name,
            IntImm: self._int,
            FloatImm: self._float,
            StringImm: self._string,
            BufferLoad: self._load,
            BufferData: self._data,
            Cast: self._cast,
            Not: self._not,
            And: self._logic,
            Or: self._logic,
            Select: self._select,
            Call: self._call,
            Let: self._let,
            Ramp: self._ramp,
            Broadcast: self._broadcast,
            Verbatim: self._verbatim,
            **dict.fromkeys(_INFIX, self._infix),
            **dict.fromkeys(_FUNCTIONS, self._function),
            **dict.fromkeys(_COMPARISONS, self._comparison),
        }

    def expr(self, expr: Expr, need: int = ANY) -> None:
        """Write `expr` where the context requires at least the precedence `need`."""
        start = self.out.here()
        self._table[type(expr)](expr, need)
        self.out.mark(expr, start)

    def many(self, exprs: Sequence[Expr]) -> None:
        for i, expr in enumerate(exprs):
            if i:
                self.out.write(", ")
            self.expr(expr)

    def name(self, node: Var | Buffer) -> None:
        start = self.out.here()
        self.out.write(self.names.of(node))
        self.out.mark(node, start)

    def sizes(self, sizes: Sequence[Expr]) -> None:
        """Write a tuple: `(128, 64)`, `(64,)`, `()`."""
        self.out.write("(")
        self.many(sizes)
        self.out.write(",)" if len(sizes) == 1 else ")")

    def indices(self, buffer: Buffer, indices: Sequence[Expr]) -> None:
        self.name(buffer)
        if buffer in self.scalars:
            return
        self.out.write("[")
        self.many(indices)
        self.out.write("]" if indices else "()]")

    def stored_indices(self, buffer: Buffer, indices: Sequence[Expr]) -> None:
        """Write the target of a store: a ramp becomes a slice, `B[0:16:2]`."""
        ramp = indices[-1] if indices else None
        if not isinstance(ramp, Ramp):
            self.indices(buffer, indices)
            return
        self.name(buffer)
        self.out.write("[")
        for index in indices[:-1]:
            self.expr(index)
            self.out.write(", ")
        start = self.out.here()
        self.expr(ramp.base)
        self.out.write(":")
        self.expr(build.add(ramp.base, build.mul(ramp.lanes, ramp.stride)))
        if not build.is_const(ramp.stride, 1):
            self.out.write(":")
            self.expr(ramp.stride)
        self.out.mark(ramp, start)
        self.out.write("]")

    def region(self, region: BufferRegion) -> None:
        """Write `A[vi, 0:16]`; an axis of extent one is written as a point."""
        start = self.out.here()
        if region.buffer in self.scalars:
            self.name(region.buffer)
            self.out.mark(region, start)
            return
        self.name(region.buffer)
        self.out.write("[")
        for i, axis in enumerate(region.region):
            if i:
                self.out.write(", ")
            self.expr(axis.min)
            if not build.is_const(axis.extent, 1):
                self.out.write(":")
                self.expr(end_of(axis))
        self.out.write("]" if region.region else "()]")
        self.out.mark(region, start)

    def call(self, function: str, *arguments: Expr | str) -> None:
        """Write `function(arguments)`; strings are written unchanged."""
        self.out.write(f"{function}(")
        for i, argument in enumerate(arguments):
            if i:
                self.out.write(", ")
            if isinstance(argument, str):
                self.out.write(argument)
            else:
                self.expr(argument)
        self.out.write(")")

    # --- one method for each kind of node

    def _name(self, expr: Expr, need: int) -> None:
        self.out.write(self.names.of(expr))

    def _int(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, IntImm)
        if expr.dtype == "bool":
            self.out.write(f"T.bool({bool(expr.value)})")
        elif expr.dtype == "int32":
            with_parens = expr.value < 0 and need > UNARY
            self.out.write(f"({expr.value})" if with_parens else str(expr.value))
        else:
            self.out.write(f"T.{expr.dtype}({expr.value})")

    def _float(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, FloatImm)
        value = repr(float(expr.value)) if math.isfinite(expr.value) else quoted(str(expr.value))
        self.out.write(f"T.{expr.dtype}({value})")

    def _string(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, StringImm)
        self.out.write(quoted(expr.value))

    def _load(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, BufferLoad)
        self.indices(expr.buffer, expr.indices)

    def _data(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, BufferData)
        self.name(expr.buffer)
        self.out.write(".data")

    def _cast(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Cast)
        self.call("T.Cast", quoted(expr.dtype), expr.value)

    def _not(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Not)
        if isinstance(expr.a, IntImm):
            self.call("T.Not", expr.a)
            return
        with _Parens(self.out, need > NOT):
            self.out.write("not ")
            self.expr(expr.a, NOT)

    def _logic(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, And | Or)
        if isinstance(expr.a, IntImm) or isinstance(expr.b, IntImm):
            self.call("T.And" if isinstance(expr, And) else "T.Or", expr.a, expr.b)
            return
        self._pair(expr, *(("and", AND) if isinstance(expr, And) else ("or", OR)), need)

    def _select(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Select)
        self.call("T.Select", expr.condition, expr.true_value, expr.false_value)

    def _infix(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, BinaryOp)
        symbol, binding, make = _INFIX[type(expr)]
        integers = dt.is_int(expr.dtype)
        plain = integers if symbol in ("//", "%") else not integers if symbol == "/" else True
        if plain and _is_kept(expr, make):
            self._pair(expr, symbol, binding, need)
        else:
            self.call(f"T.{type(expr).__name__}", expr.a, expr.b)

    def _function(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, BinaryOp)
        function, make = _FUNCTIONS[type(expr)]
        # The parser reads a shared operand as two nodes; it recognizes only variables as identical.
        shared = expr.a is expr.b and not isinstance(expr.a, Var | IntImm | FloatImm)
        plain = (shared or _is_kept(expr, make)) and (dt.is_int(expr.dtype) or not isinstance(expr, Mod))
        self.call(function if plain else f"T.{type(expr).__name__}", expr.a, expr.b)

    def _comparison(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Predicate)
        if isinstance(expr.a, IntImm) and isinstance(expr.b, IntImm):
            self.call(f"T.{type(expr).__name__}", expr.a, expr.b)
            return
        with _Parens(self.out, need > COMPARE):  # a < b < c is a chain: both operands bind tighter
            self.expr(expr.a, BIT_OR)
            self.out.write(f" {_COMPARISONS[type(expr)]} ")
            self.expr(expr.b, BIT_OR)

    def _pair(self, expr: BinaryOp | Predicate, symbol: str, binding: int, need: int) -> None:
        self._operands(expr.a, expr.b, symbol, binding, need)

    def _operands(self, a: Expr, b: Expr, symbol: str, binding: int, need: int) -> None:
        with _Parens(self.out, need > binding):
            self.expr(a, binding)
            self.out.write(f" {symbol} ")
            self.expr(b, binding + 1)

    def _call(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Call)
        if expr.op in _BITS and len(expr.args) == 2 and not all(isinstance(a, IntImm) for a in expr.args):
            symbol, binding = _BITS[expr.op]
            self._operands(expr.args[0], expr.args[1], symbol, binding, need)
        elif expr.op == "bitwise_not" and len(expr.args) == 1 and not isinstance(expr.args[0], IntImm):
            with _Parens(self.out, need > UNARY):
                self.out.write("~")
                self.expr(expr.args[0], UNARY)
        elif expr.op in DTYPE_FIRST:
            self.call(f"T.{expr.op}", quoted(expr.dtype), *expr.args)
        elif expr.op in DTYPE_LAST:
            self.call(f"T.{expr.op}", *expr.args, quoted(expr.dtype))
        elif expr.op.startswith("T.ptx_legacy.") and expr.dtype != "handle":
            self.call(expr.op, *expr.args, f"dtype={quoted(expr.dtype)}")
        elif expr.op.startswith(("T.", "Module.")):
            self.call(expr.op, *expr.args)
        elif is_known(expr):
            self.call(f"T.{expr.op}", *expr.args)
        else:
            self.call("T.call_intrin", quoted(expr.dtype), quoted(f"tirx.{expr.op}"), *expr.args)

    def _let(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Let)
        self.out.write("T.Let(")
        self.expr(expr.body)
        self.out.write(f", where={{{self.names.of(expr.var)}: ")
        self.expr(expr.value)
        self.out.write("})")

    def _ramp(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Ramp)
        self.call("T.Ramp", expr.base, expr.stride, expr.lanes)

    def _broadcast(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Broadcast)
        self.call("T.Broadcast", expr.value, expr.lanes)

    def _verbatim(self, expr: Expr, need: int) -> None:
        assert isinstance(expr, Verbatim)
        self.out.write(expr.text)


class _Parens:
    """Parentheses if `wanted`."""

    def __init__(self, out: Writer, wanted: bool) -> None:
        self.out = out
        self.wanted = wanted

    def __enter__(self) -> None:
        if self.wanted:
            self.out.write("(")

    def __exit__(self, *_: object) -> None:
        if self.wanted:
            self.out.write(")")


def _is_kept(expr: BinaryOp, make: Callable[[Expr, Expr], Expr]) -> bool:
    """Whether parsing `a op b` gives the node back. Two constants are folded by some parser, or refused (TVM: 0 - 1 of unsigned type)."""
    if isinstance(expr.a, IntImm) and isinstance(expr.b, IntImm):
        return False
    try:
        made = make(expr.a, expr.b)
    except (TypeError, ZeroDivisionError):
        return False
    return isinstance(made, type(expr)) and made.a is expr.a and made.b is expr.b


def end_of(axis: Range) -> Expr:
    """Return the exclusive end of a range."""
    return build.add(axis.min, axis.extent)


@refusing_depth(TilewrightError)
def expr_text(expr: Node) -> str:
    """Print an expression for messages and tooltips: "i_0 * 16 + i_1". Variables and buffers keep their own names, even if ambiguous."""
    out = Writer()
    printer = ExprPrinter(out, Names(prefer_written=True))
    match expr:
        case Expr():
            printer.expr(expr)
        case BufferRegion():
            printer.region(expr)
        case Range():
            printer.expr(expr.min)
            out.write(":")
            printer.expr(end_of(expr))
        case Buffer():
            printer.name(expr)
        case _:
            raise TypeError(f"{type(expr).__name__} is not an expression")
    return out.text()
