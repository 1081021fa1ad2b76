"""Export of expressions as C: the same operations in the same order, so that integers are equal bit for bit and floats up to rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from ..arith import Analyzer
from ..execute import KNOWN_INTRINSICS
from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Buffer,
    BufferLoad,
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
    Select,
    Sub,
    Var,
    build,
    substitute,
    walk,
)
from ..ir import dtype as dt
from .c_words import MATH, CNames, c_type, literal, refuse, suffix

# Operator precedence, for the operators that are written without parentheses.
CHOICE, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, PRIMARY = range(9)

_HELPER: Mapping[type[Expr], str] = MappingProxyType(
    {Add: "add", Sub: "sub", Mul: "mul", Div: "div", Mod: "mod", FloorDiv: "floordiv", FloorMod: "floormod"}
)
_SIGN: Mapping[type[Expr], tuple[str, int]] = MappingProxyType(
    {
        Add: ("+", SUM),
        Sub: ("-", SUM),
        Mul: ("*", PRODUCT),
        Div: ("/", PRODUCT),
        Mod: ("%", PRODUCT),
        FloorDiv: ("/", PRODUCT),
        FloorMod: ("%", PRODUCT),
    }
)
_COMPARE: Mapping[type[Expr], str] = MappingProxyType({EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">="})
_BITS: Mapping[str, str] = MappingProxyType({"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"})

Text = tuple[str, int]


class CExpressions:
    """Expression writer. `helpers` collects the helper functions (name, dtype) in use; `kept` maps loads to the variables that hold
    them."""

    def __init__(self, names: CNames, analyzer: Analyzer) -> None:
        self.names, self.analyzer = names, analyzer
        self.helpers: dict[tuple[str, str], None] = {}
        self.kept: dict[BufferLoad, str] = {}
        self.exact: dict[Expr, bool] = {}

    def value(self, expr: Expr) -> str:
        """Write a value to be stored: integers wrap wherever they could overflow."""
        return self._text(expr, False)[0]

    def index(self, expr: Expr) -> str:
        """Write a loop bound, condition or index: index arithmetic never overflows."""
        return self._text(expr, True)[0]

    def condition(self, expr: Expr) -> str:
        return self._text(expr, True)[0]

    def element(self, buffer: Buffer, indices: Sequence[Expr]) -> str:
        """Write an element access, `A[i * 64 + j]`, from strides or in row-major order."""
        place = flat_index(buffer, indices)
        return f"{self.names.called[buffer]}[{self.index(place)}]"

    # -- one method for each kind of expression

    def _text(self, expr: Expr, index: bool) -> Text:
        match expr:
            case IntImm(value=value) | FloatImm(value=value):
                text = literal(value, expr.dtype)
                return text, UNARY if text.startswith("-") else PRIMARY
            case Var():
                if expr not in self.names.called:
                    raise refuse(f"the variable {expr.name}, which is unbound", expr)
                return self.names.called[expr], PRIMARY
            case BufferLoad(buffer=buffer, indices=indices):
                return self.kept.get(expr) or self.element(buffer, indices), PRIMARY
            case Not(a=a):
                return self._unary("!", a, index)
            case And(a=a, b=b):
                return f"{self._in(a, AND, index)} && {self._in(b, AND, index)}", AND
            case Or(a=a, b=b):
                return f"{self._in(a, NOT, index)} || {self._in(b, NOT, index)}", OR
            case Select(condition=condition, true_value=yes, false_value=no):
                return self._choice(condition, yes, no, index)
            case Cast():
                return self._cast(expr, index)
            case Let(var=var, value=value, body=body):
                return self._text(substitute(body, {var: value}), index)
            case Call():
                return self._call(expr, index)
            case Predicate(a=a, b=b):
                return f"{self._in(a, SUM, index)} {_COMPARE[type(expr)]} {self._in(b, SUM, index)}", COMPARE
            case BinaryOp():
                return self._arithmetic(expr, index)
            case _:
                raise refuse(f"a {type(expr).__name__}", expr)

    def _in(self, expr: Expr, least: int, index: bool) -> str:
        text, level = self._text(expr, index)
        return text if level >= least else f"({text})"

    def _unary(self, sign: str, a: Expr, index: bool) -> Text:
        # Compilers warn about "!" before a comparison's operand, so it has a low precedence here.
        return f"{sign}{self._in(a, PRIMARY, index)}", NOT if sign == "!" else UNARY

    def _choice(self, condition: Expr, yes: Expr, no: Expr, index: bool) -> Text:
        parts = [self._in(e, OR if n == 0 else NOT, index) for n, e in enumerate((condition, yes, no))]
        return f"{parts[0]} ? {parts[1]} : {parts[2]}", CHOICE

    def _helped(self, name: str, dtype: str, args: Sequence[Expr], index: bool) -> Text:
        c_type(dtype)
        self.helpers[name, dtype] = None
        return f"{name}_{suffix(dtype)}({', '.join(self._text(a, index)[0] for a in args)})", PRIMARY

    def _cast(self, expr: Cast, index: bool) -> Text:
        if expr.dtype == "bool" and expr.value.dtype != "bool":
            zero = build.const(0, expr.value.dtype)
            return f"{self._in(expr.value, SUM, index)} != {self._text(zero, index)[0]}", COMPARE
        return f"({c_type(expr.dtype, expr)}){self._in(expr.value, UNARY, index)}", UNARY

    # -- arithmetic

    def _arithmetic(self, expr: BinaryOp, index: bool) -> Text:
        kind, dtype = type(expr), expr.dtype
        if dt.is_vector(dtype):
            raise refuse("a vector that is not stored", expr)
        if isinstance(expr, Min | Max):
            return self._helped("min" if isinstance(expr, Min) else "max", dtype, (expr.a, expr.b), index)
        if dtype == "bool":
            raise refuse("arithmetic on truth values", expr)
        if dt.is_float(dtype):
            return self._float(expr, index)
        native = dtype in ("uint32", "uint64") and kind in _SIGN
        divides = isinstance(expr, Div | Mod | FloorDiv | FloorMod)
        if native or (not divides and self._never_overflows(expr, index)) or (divides and self._is_plain(expr)):
            return self._operator(expr, index)
        if divides and dtype.startswith("uint"):
            return self._operator(expr, index)
        return self._helped(_HELPER[kind], dtype, (expr.a, expr.b), index)

    def _operator(self, expr: BinaryOp, index: bool) -> Text:
        sign, level = _SIGN[type(expr)]
        return f"{self._in(expr.a, level, index)} {sign} {self._in(expr.b, level + 1, index)}", level

    def _float(self, expr: BinaryOp, index: bool) -> Text:
        c_type(expr.dtype, expr)
        match expr:
            case Mod():
                text, level = self._library("fmod", expr.dtype, (expr.a, expr.b), index)
            case FloorDiv():
                quotient = self._rounded(
                    (f"{self._in(expr.a, PRODUCT, index)} / {self._in(expr.b, UNARY, index)}", PRODUCT), expr.dtype
                )
                text, level = f"floor{_end(expr.dtype)}({quotient[0]})", PRIMARY
            case FloorMod():
                return self._helped("floormod_float", expr.dtype, (expr.a, expr.b), index)
            case _:
                text, level = self._operator(expr, index)
        return self._rounded((text, level), expr.dtype)

    def _rounded(self, text: Text, dtype: str) -> Text:
        """Round the result of a float16 operation; C would keep it in float precision."""
        return (f"(_Float16)({text[0]})", UNARY) if dtype == "float16" else text

    def _never_overflows(self, expr: BinaryOp, index: bool) -> bool:
        if not self._without_data(expr):
            return False
        if index and dt.is_index(expr.dtype):
            return True
        found = self.analyzer.bounds(expr)
        low, high = dt.int_range(expr.dtype)
        return found.low is not None and found.high is not None and low <= found.low and found.high <= high

    def _is_plain(self, expr: BinaryOp) -> bool:
        """Whether floor division and truncating division agree here."""
        divisor = build.int_value(expr.b)
        if divisor is None or divisor <= 0:
            return False
        if isinstance(expr, Div | Mod):
            return True
        low = self.analyzer.bounds(expr.a).low if self._without_data(expr.a) else None
        return low is not None and low >= 0

    def _without_data(self, expr: Expr) -> bool:
        found = self.exact.get(expr)
        if found is None:
            found = not any(isinstance(n, BufferLoad | Call | Let) or _is_narrowing(n) for n in walk(expr))
            self.exact[expr] = found
        return found

    # -- intrinsics

    def _library(self, name: str, dtype: str, args: Sequence[Expr], index: bool) -> Text:
        return f"{MATH[name]}{_end(dtype)}({', '.join(self._text(a, index)[0] for a in args)})", PRIMARY

    def _call(self, expr: Call, index: bool) -> Text:
        op, args, dtype = expr.op, expr.args, expr.dtype
        if op == "if_then_else":
            return self._choice(*cast("tuple[Expr, Expr, Expr]", args), index)
        if op not in KNOWN_INTRINSICS or not args or dt.is_vector(dtype):
            raise refuse(f"the intrinsic {op!r}", expr, expected="one of " + ", ".join(KNOWN_INTRINSICS))
        own = args[0].dtype
        written = self._float_call(expr, index) if dt.is_float(own) else self._other_call(expr, index)
        if written is None:
            raise refuse(f"the intrinsic {op!r} on {own}", expr)
        if dtype == own and dtype != "float16":
            return written
        text = written[0] if written[1] >= UNARY else f"({written[0]})"
        return (f"{text} != 0", COMPARE) if dtype == "bool" else (f"({c_type(dtype, expr)}){text}", UNARY)

    def _float_call(self, expr: Call, index: bool) -> Text | None:
        op, args, own = expr.op, expr.args, expr.args[0].dtype
        if op in MATH:
            return self._library(op, own, args, index)
        match op:
            case "abs" | "fabs":
                return f"fabs{_end(own)}({self._text(args[0], index)[0]})", PRIMARY
            case "isnan" | "isinf" | "isfinite":
                return f"{op}({self._text(args[0], index)[0]})", PRIMARY
            case "rsqrt":
                return (
                    f"1 / {self._rounded((f'sqrt{_end(own)}({self._text(args[0], index)[0]})', PRIMARY), own)[0]}",
                    PRODUCT,
                )
            case "exp10":
                return f"pow{_end(own)}({literal(10, own)}, {self._text(args[0], index)[0]})", PRIMARY
            case "likely" | "tvm_thread_invariant" | "ignore_loop_partition":
                return self._text(args[0], index)
            case "min" | "max" | "sigmoid":
                return self._helped(op, own, args, index)
            case _:
                return None

    def _other_call(self, expr: Call, index: bool) -> Text | None:
        op, args, own = expr.op, expr.args, expr.args[0].dtype
        if op in _BITS:
            return f"({self._in(args[0], PRIMARY, index)} {_BITS[op]} {self._in(args[1], PRIMARY, index)})", PRIMARY
        match op:
            case "likely" | "tvm_thread_invariant" | "ignore_loop_partition":
                return self._text(args[0], index)
            case "bitwise_not":
                if own == "bool":
                    return self._unary("!", args[0], index)
                return f"({c_type(own)})~{self._in(args[0], UNARY, index)}", UNARY
            case "abs" | "fabs":
                return (
                    self._text(args[0], index)
                    if own.startswith("uint") or own == "bool"
                    else self._helped("abs", own, args, index)
                )
            case "isnan" | "isinf" | "isfinite":
                return ("true" if op == "isfinite" else "false"), PRIMARY
            case "min" | "max" | "popcount" | "shift_left" | "shift_right" if own != "bool":
                return self._helped(op, own, args, index)
            case "pow" | "power" if own != "bool":
                return self._helped("ipow", own, args, index)
            case "fmod" if own != "bool":
                signed = not own.startswith("uint")
                return self._helped("mod", own, args, index) if signed else self._operator(Mod(*args), index)
            case _:
                return None


def flat_index(buffer: Buffer, indices: Sequence[Expr]) -> Expr:
    """Return the element offset of an access, in 64 bits if 32 may not suffice."""
    size = 1
    for extent in buffer.shape:
        size *= build.int_value(extent) or 1 << 31
    wide = size >= 1 << 31 and len(indices) > 1
    place: Expr = buffer.elem_offset or build.const(0, "int32")
    if wide:
        indices, place = [build.cast(i, "int64") for i in indices], build.cast(place, "int64")
    if buffer.strides:
        for index, stride in zip(indices, buffer.strides, strict=True):
            place = build.add(place, build.mul(index, stride))
        return place
    row: Expr = build.const(0, indices[0].dtype if indices else "int32")
    for index, extent in zip(indices, buffer.shape, strict=True):
        row = build.add(build.mul(row, extent), index)
    return row if buffer.elem_offset is None else build.add(place, row)


def _is_narrowing(node: Node) -> bool:
    """Whether the node is a cast that may change the value."""
    return isinstance(node, Cast) and not (dt.is_index(node.dtype) and dt.is_index(node.value.dtype))


def _end(dtype: str) -> str:
    return "" if dtype == "float64" else "f"


def loads_in_order(expr: Expr) -> list[BufferLoad]:
    """Return the loads that are evaluated unconditionally, in evaluation order: left to right, loads inside of an index before its own
    load."""
    found: list[BufferLoad] = []

    def visit(node: Expr) -> None:
        match node:
            case BufferLoad(indices=indices):
                for i in indices:
                    visit(i)
                found.append(node)
            case Call(op="if_then_else", args=(condition, _, _)) | Select(condition=condition):
                visit(condition)
            case And(a=a) | Or(a=a):
                visit(a)
            case BinaryOp(a=a, b=b) | Predicate(a=a, b=b):
                visit(a)
                visit(b)
            case Not(a=a) | Cast(value=a):
                visit(a)
            case Call(args=args):
                for a in args:
                    visit(a)
            case _:
                pass

    visit(expr)
    return found
