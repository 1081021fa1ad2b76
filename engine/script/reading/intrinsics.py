"""T's functions in expressions: one table from the names that TVM prints to readers."""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

from ...ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
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
    Not,
    Or,
    Ramp,
    Select,
    StringImm,
    Sub,
    Var,
    Verbatim,
    build,
)
from ...ir import dtype as dt
from ..subset.values import ReadItem
from .operators import bitwise, side
from .reader import Reader
from .vocabulary import DTYPE_FIRST, DTYPE_LAST, DTYPES, FLOAT_BINARY, FLOAT_UNARY, OF_SECOND, OPAQUE, ROUNDING, TARGETS

ReadIntrinsic: TypeAlias = Callable[[Reader, ast.Call], Expr | str | int | float | None]

_LARGEST_FLOAT = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def unstarred(reader: Reader, nodes: Sequence[ast.expr]) -> list[ast.expr]:
    """Return arguments with the items of `*items` for it."""
    found: list[ast.expr] = []
    for node in nodes:
        value = reader.value(node.value) if isinstance(node, ast.Starred) else None
        if isinstance(value, tuple | list):
            found += (ast.copy_location(ReadItem(item), node) for item in value)
        else:
            found.append(node)
    return found


def parameters(
    reader: Reader, node: ast.Call, names: tuple[str, ...], required: int | None = None
) -> list[ast.expr | None]:
    """Return the arguments of `node` in the order of `names`, None for omitted ones. Raises "wrong-arguments"."""
    required = len(names) if required is None else required
    if any(isinstance(a, ast.Starred) for a in node.args):
        node = ast.copy_location(ast.Call(node.func, unstarred(reader, node.args), node.keywords), node)
    if [a for a in node.args if isinstance(a, ast.Starred)] or [k for k in node.keywords if k.arg is None]:
        raise reader.error(node, "unsupported", "starred arguments are not supported", expected=f"({', '.join(names)})")
    if len(node.args) > len(names):
        raise reader.error(
            node, "wrong-arguments", f"{len(node.args)} arguments are too many", expected=f"({', '.join(names)})"
        )
    given = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise reader.error(
                keyword.value,
                "wrong-arguments",
                f"the argument {keyword.arg} is unknown or given twice",
                expected=f"({', '.join(names)})",
            )
        given[keyword.arg] = keyword.value
    missing = [name for name in names[:required] if name not in given]
    if missing:
        raise reader.error(node, "wrong-arguments", f"missing: {', '.join(missing)}", expected=f"({', '.join(names)})")
    return [given.get(name) for name in names]


def operands(reader: Reader, node: ast.Call, names: tuple[str, ...]) -> list[Expr]:
    """Return the arguments as expressions; all are required and none is a handle."""
    found: list[Expr] = []
    for argument in parameters(reader, node, names):
        assert argument is not None
        expr = reader.expr(argument)
        if expr.dtype in ("handle", "void"):
            raise reader.error(
                argument, "wrong-type", f"this must be a number, not {expr.dtype}", expected="an expression"
            )
        found.append(expr)
    return found


def _built(make: Callable[..., Expr], names: tuple[str, ...], *, integers: bool = False) -> ReadIntrinsic:
    """Return a reader that calls a function of `build`."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        found = operands(reader, node, names)
        if integers and any(not dt.is_int(e.dtype) for e in found):
            raise reader.error(node, "wrong-type", "this needs integer operands", expected="integer operands")
        try:
            return make(*found)
        except ZeroDivisionError:
            raise reader.error(node, "out-of-range", "division by zero") from None

    return read


def _raw(kind: type[Expr]) -> ReadIntrinsic:
    """Return a reader that builds a node without folding; the printer uses this form if folding would change the node."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        a, b = build.match_dtypes(*operands(reader, node, ("a", "b")))
        if kind in (And, Or) and (a.dtype, b.dtype) != ("bool", "bool"):
            raise reader.error(node, "wrong-type", "and, or need bool operands", expected="comparisons")
        return kind(a, b)  # pyright: ignore[reportCallIssue]

    return read


def _unary(op: str) -> ReadIntrinsic:
    def read(reader: Reader, node: ast.Call) -> Expr:
        (x,) = operands(reader, node, ("x",))
        return x if op in ROUNDING and dt.is_int(x.dtype) else Call(op, (x,), x.dtype)

    return read


def _binary(op: str) -> ReadIntrinsic:
    def read(reader: Reader, node: ast.Call) -> Expr:
        a, b = build.match_dtypes(*operands(reader, node, ("x", "y")))
        return Call(op, (a, b), a.dtype)

    return read


def _bits(op: str) -> ReadIntrinsic:
    def read(reader: Reader, node: ast.Call) -> Expr:
        nodes = [n for n in parameters(reader, node, ("x", "y")) if n is not None]
        values = [reader.value(n) for n in nodes]
        found = [side(reader, v, other, n) for v, other, n in zip(values, reversed(values), nodes, strict=True)]
        if any(not dt.is_int(e.dtype) and e.dtype != "bool" for e in found):
            raise reader.error(node, "wrong-type", "this needs integer operands", expected="integer operands")
        return bitwise(op, *found)

    return read


def _bitwise_not(reader: Reader, node: ast.Call) -> Expr:
    return bitwise("bitwise_not", *operands(reader, node, ("x",)))


def absolute(x: Expr) -> Expr:
    """Build TVM's abs: fabs for floats, a Select for signed integers."""
    if dt.is_float(x.dtype):
        return FloatImm(abs(x.value), x.dtype) if isinstance(x, FloatImm) else Call("fabs", (x,), x.dtype)
    if not dt.is_int(x.dtype) or x.dtype.startswith("uint"):
        return x
    if isinstance(x, IntImm):
        return IntImm(abs(x.value), x.dtype)
    return Select(GE(x, build.const(0, x.dtype)), x, build.mul(x, build.const(-1, x.dtype)))


def _is_inf(x: Expr) -> Expr:
    return EQ(absolute(x), build.const(math.inf, x.dtype))


def _is_nan(x: Expr) -> Expr:
    return Call("isnan", (x,), dt.with_lanes_of("bool", x.dtype))


def _float_test(make: Callable[[Expr], Expr]) -> ReadIntrinsic:
    def read(reader: Reader, node: ast.Call) -> Expr:
        (x,) = operands(reader, node, ("x",))
        if not dt.is_float(x.dtype):
            raise reader.error(node, "wrong-type", "this needs a float", expected="a float")
        return make(x)

    return read


def _ceildiv(a: Expr, b: Expr) -> Expr:
    a, b = build.match_dtypes(a, b)
    return build.floordiv(build.sub(build.add(a, b), build.const(1, a.dtype)), b)


def _choice(reader: Reader, node: ast.Call) -> tuple[Expr, Expr, Expr]:
    condition, *values = parameters(reader, node, ("condition", "true_value", "false_value"))
    assert condition is not None and values[0] is not None and values[1] is not None
    a, b = reader.expr(values[0]), reader.expr(values[1])
    if "handle" not in (a.dtype, b.dtype):
        a, b = build.match_dtypes(a, b)
    truth = reader.value(condition)
    return (
        truth
        if isinstance(truth, Expr) and truth.dtype == dt.with_lanes_of("bool", a.dtype)
        else reader.condition(condition),
        a,
        b,
    )


def _if_then_else(reader: Reader, node: ast.Call) -> Expr:
    condition, a, b = _choice(reader, node)
    return Call("if_then_else", (condition, a, b), a.dtype)


def _select(reader: Reader, node: ast.Call) -> Expr:
    return Select(*_choice(reader, node))


def _logic(kind: type[And | Or]) -> ReadIntrinsic:
    """Return a reader of `T.all(a, b, …)` or `T.any(a, b, …)`, which TVM joins from the left."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        found = [reader.as_expr(value, node) for value in reader.items(node.args)]
        if not found or (len(found) > 1 and any(term.dtype != "bool" for term in found)) or node.keywords:
            raise reader.error(node, "wrong-type", "all and any need conditions", expected="T.all(i > 0, j > 0)")
        return reduce(kind, found)

    return read


def _const(reader: Reader, node: ast.Call) -> Expr:
    """Read `tirx.const(1, "float32")`."""
    value, dtype = parameters(reader, node, ("value", "dtype"), 1)
    assert value is not None
    found = reader.require_known(reader.value(value), value)
    if not isinstance(found, bool | int | float):
        raise reader.error(value, "wrong-type", "a constant must be a number", expected='T.const(1, "float32")')
    return build.as_expr(found, reader.dtype(dtype) if dtype is not None else None)


def _buffer_load(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.BufferLoad(A, [i, j])`."""
    buffer, indices = parameters(reader, node, ("buffer", "indices"))
    assert buffer is not None and indices is not None
    return reader.as_expr(reader.value(reader.element_node(buffer, indices, ast.Load())), node)


def _not(reader: Reader, node: ast.Call) -> Expr:
    (argument,) = parameters(reader, node, ("a",))
    assert argument is not None
    return Not(reader.condition(argument))


def _cast_raw(reader: Reader, node: ast.Call) -> Expr:
    dtype, value = parameters(reader, node, ("dtype", "value"))
    assert dtype is not None and value is not None
    return Cast(reader.dtype(dtype), reader.expr(value))


def _cast(reader: Reader, node: ast.Call) -> Expr:
    value, dtype = parameters(reader, node, ("value", "dtype"))
    assert dtype is not None and value is not None
    return build.cast(reader.expr(value), reader.dtype(dtype))


def _number(reader: Reader, node: ast.Call, value: float | str, dtype: str) -> Expr:
    if dt.is_float(dtype):
        return FloatImm(float(value), dtype)
    return IntImm(int(bool(value)), "bool") if dtype == "bool" else reader.integer(int(value), node, dtype)


def _typed(dtype: str) -> ReadIntrinsic:
    """Return a reader of `T.float32(0)`, `T.int64(i)`, `T.int8x4(0)`, and `T.int32()` for a new size variable."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        (argument,) = parameters(reader, node, ("expr",), 0)
        value: Any = reader.value(argument) if argument is not None else None
        if value is None:
            return Var("", dtype)
        if isinstance(value, float) and not dt.is_float(dt.element(dtype)) and not math.isfinite(value):
            raise reader.error(node, "out-of-range", f"no {dtype} is {value}", expected=f"a number of {dtype}")
        if isinstance(value, bool | int | float) or (
            isinstance(value, str) and dt.is_float(dtype) and value in ("inf", "-inf", "nan")
        ):
            return build.cast(_number(reader, node, value, dt.element(dtype)), dtype)
        return build.cast(reader.as_expr(value, node), dtype)

    return read


def is_lanes(lanes: Expr) -> bool:
    """Whether the expression is a valid number of vector lanes."""
    if isinstance(lanes, IntImm) and lanes.value < 2:
        return False
    try:
        return dt.is_valid(Broadcast(build.TRUE, lanes).dtype)
    except ValueError:
        return False


def _lanes(reader: Reader, node: ast.expr) -> Expr:
    """Read lanes: a number above one, or a number times `T.vscale()`."""
    lanes = reader.expr(node)
    if not is_lanes(lanes):
        raise reader.error(
            node, "wrong-type", "invalid number of lanes", expected="a number above 1, or T.vscale() * 4"
        )
    return lanes


def _scalar(reader: Reader, node: ast.expr) -> Expr:
    value = reader.expr(node)
    if dt.is_vector(value.dtype) or value.dtype in ("handle", "void"):
        raise reader.error(
            node, "unsupported", f"T.Broadcast needs a single value, this is {value.dtype}", expected="a number"
        )
    return value


def _ramp(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.Ramp(base, stride, lanes)`: a vector of indices."""
    base, stride, lanes = parameters(reader, node, ("base", "stride", "lanes"))
    assert base is not None and stride is not None and lanes is not None
    first, step = build.match_dtypes(_scalar(reader, base), _scalar(reader, stride))
    if not dt.is_int(first.dtype):
        raise reader.error(
            node, "wrong-type", f"a ramp needs integers, this is {first.dtype}", expected="T.Ramp(0, 1, 4)"
        )
    return Ramp(first, step, _lanes(reader, lanes))


def _broadcast(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.Broadcast(value, lanes)`: a vector of one value."""
    value, lanes = parameters(reader, node, ("value", "lanes"))
    assert value is not None and lanes is not None
    return Broadcast(_scalar(reader, value), _lanes(reader, lanes))


def _var(reader: Reader, node: ast.Call) -> Expr:
    dtype, name = parameters(reader, node, ("dtype", "name"), 1)
    assert dtype is not None
    return Var(reader.string(name) if name is not None else "", reader.dtype(dtype))


def named_var(reader: Reader, node: ast.Call) -> Var:
    """Read `T.Var("n", "int64")`."""
    name, dtype = parameters(reader, node, ("name", "dtype"))
    assert name is not None and dtype is not None
    return Var(reader.string(name), reader.dtype(dtype))


def _limit(kind: str) -> ReadIntrinsic:
    """Return a reader of T.min_value, T.max_value or T.infinity for a dtype."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        (argument,) = parameters(reader, node, ("dtype",))
        assert argument is not None
        dtype = reader.dtype(argument)
        if dt.is_float(dtype):
            largest = math.inf if kind == "infinity" else _LARGEST_FLOAT.get(dtype, math.inf)
            return build.const(-largest if kind == "min_value" else largest, dtype)
        if kind == "infinity" or not dt.is_int(dtype):
            raise reader.error(node, "wrong-type", f"{dtype} has no such value", expected="a float or integer type")
        unsigned = dtype.startswith("uint")
        bits = dt.bits(dtype) - (not unsigned)
        return build.const(2**bits - 1 if kind == "max_value" else 0 if unsigned else -(2**bits), dtype)

    return read


def _external(op: str) -> ReadIntrinsic:
    """Return a reader of `T.call_extern("float32", "name", …)`, or of the older order with the dtype as keyword."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        keywords = {k.arg: k.value for k in node.keywords}
        arguments = unstarred(reader, node.args)
        dtype = keywords.pop("dtype", None) or (arguments.pop(0) if arguments else None)
        if dtype is None or keywords or not arguments or any(isinstance(a, ast.Starred) for a in arguments):
            raise reader.error(
                node,
                "wrong-arguments",
                f"T.{op} needs a dtype, then its arguments",
                expected=f'T.{op}("float32", "name", x)',
            )
        found = tuple(reader.expr(a) for a in arguments)
        if op.startswith("call_") and not isinstance(found[0], StringImm):
            raise reader.error(
                arguments[0], "wrong-type", "the name of the function must be a string", expected='"name"'
            )
        return Call(op, found, reader.dtype(dtype))

    return read


def _typed_pointer(reader: Reader, node: ast.expr) -> Verbatim | None:
    """Return the type `T.handle("float32", "global").ty`, which is kept as text; None for another."""
    match node:
        case ast.Attribute(attr="ty", value=ast.Call(args=[_, *_] as words, keywords=[]) as pointer) if (
            reader.called(pointer) == "T.handle"
        ):
            names = ", ".join(f'"{reader.string(word)}"' for word in words)
            return Verbatim(f"T.handle({names}).ty")
        case _:
            return None


def _reinterpret(reader: Reader, node: ast.Call) -> Expr | str | int | float | None:
    """Read `T.reinterpret("int32", x)`, also as a typed pointer."""
    pointer = _typed_pointer(reader, node.args[0]) if len(node.args) == 2 and not node.keywords else None
    if pointer is None:
        return _external("reinterpret")(reader, node)
    return Call("T.reinterpret", (pointer, reader.expr(node.args[1])), "handle")


def _llvm_id(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.llvm_lookup_intrinsic_id("llvm.…")`: the name, by which calls of LLVM's functions are written here."""
    (name,) = parameters(reader, node, ("name",))
    assert name is not None
    return StringImm(reader.string(name))


def _legacy(op: str) -> ReadIntrinsic:
    """Return a reader of an instruction of PTX under its old name, `T.ptx_ldmatrix(False, 4, ".b16", …)`; old texts give a type, which
    the instruction ignores."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        arguments = [reader.address(a) for a in unstarred(reader, node.args)]
        if any(keyword.arg != "dtype" for keyword in node.keywords):
            raise reader.error(node, "wrong-arguments", f"{op} needs plain arguments", expected=f"{op}(a, b, …)")
        first = arguments[0] if arguments else None
        has_type = isinstance(first, StringImm) and dt.is_valid(first.value)
        return Call(op, tuple(arguments[1:] if has_type else arguments), "handle")

    return read


def _load(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.load("float32", A, i)`, which is A[i] in older texts."""
    dtype, buffer, index = parameters(reader, node, ("dtype", "buffer_var", "index"), 3)
    assert dtype is not None and buffer is not None and index is not None
    found = reader.expr(ast.fix_missing_locations(ast.copy_location(ast.Subscript(buffer, index, ast.Load()), node)))
    if found.dtype != reader.dtype(dtype):
        raise reader.error(dtype, "wrong-type", "another type is read than the buffer holds", expected=found.dtype)
    return found


def _vscale(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.vscale()`: the length of a scalable vector in units of 128 bits, known only on the machine."""
    parameters(reader, node, ())
    return Call("vscale", (), "int32")


def _type_annotation(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.type_annotation("float32")`: a pointer's element type."""
    (dtype,) = parameters(reader, node, ("dtype",))
    assert dtype is not None
    return Call("type_annotation", (), reader.dtype(dtype))


def _call_intrin(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.call_intrin("float32", "tirx.exp", x)`: an operator by its full name."""
    found = _external("call_intrin")(reader, node)
    assert isinstance(found, Call) and isinstance(found.args[0], StringImm)
    return Call(found.args[0].value.removeprefix("tirx.").removeprefix("tir."), found.args[1:], found.dtype)


def _opaque(op: str) -> ReadIntrinsic:
    """Return a reader of one of TVM's low-level intrinsics, which is kept unchanged."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        keywords = {k.arg: k.value for k in node.keywords}
        dtype = keywords.pop("dtype", None)
        arguments = unstarred(reader, node.args)
        if keywords or any(isinstance(a, ast.Starred) for a in arguments):
            raise reader.error(node, "wrong-arguments", f"T.{op} needs plain arguments", expected=f"T.{op}(a, b, …)")
        return Call(
            op, tuple(reader.expr(a) for a in arguments), reader.dtype(dtype) if dtype is not None else OPAQUE[op]
        )

    return read


def _with_last_dtype(op: str) -> ReadIntrinsic:
    """Return a reader of an intrinsic whose last argument is its dtype."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        given = [*unstarred(reader, node.args), *(k.value for k in node.keywords if k.arg == "dtype")]
        if not given or any(k.arg != "dtype" for k in node.keywords):
            raise reader.error(
                node, "wrong-arguments", f"T.{op} needs plain arguments", expected=f'T.{op}(a, b, "int32")'
            )
        arguments = tuple(reader.expr(a) for a in given[:-1])
        pointer = _typed_pointer(reader, given[-1])
        if pointer is not None:
            return Call(f"T.{op}", (*arguments, pointer), "handle")
        return Call(op, arguments, reader.dtype(given[-1]))

    return read


def _like_second(op: str) -> ReadIntrinsic:
    """Return a reader of an exchange between the lanes of a warp: the mask, the value, and the lane."""

    def read(reader: Reader, node: ast.Call) -> Expr:
        arguments = tuple(operands(reader, node, ("mask", "value", "lane", "width", "warp_size")))
        return Call(op, arguments, arguments[1].dtype)

    return read


def _same_dtype(op: str, dtype: str | None = None) -> ReadIntrinsic:
    def read(reader: Reader, node: ast.Call) -> Expr:
        (x,) = operands(reader, node, ("x",))
        return Call(op, (x,), dtype or x.dtype)

    return read


def _fma(reader: Reader, node: ast.Call) -> Expr:
    found = tuple(operands(reader, node, ("x", "y", "z")))
    return Call("fma", found, found[0].dtype)


def _let(reader: Reader, node: ast.Call) -> Expr:
    """Read `T.Let(body, where={x: value})`, or `tir.Let(x, value, body)` of a variable."""
    if len(node.args) == 3 and not node.keywords:
        var, bound, body = (reader.value(argument) for argument in node.args)
        if not isinstance(var, Var):
            raise reader.error(node.args[0], "wrong-type", "Let binds a variable", expected='tir.Var("x", "float32")')
        return Let(var, build.cast(reader.as_expr(bound, node), var.dtype), reader.as_expr(body, node))
    body, where = parameters(reader, node, ("expr", "where"))
    if (
        body is None
        or not isinstance(where, ast.Dict)
        or len(where.keys) != 1
        or not isinstance(where.keys[0], ast.Name)
    ):
        raise reader.error(node, "wrong-arguments", "T.Let binds one name", expected="T.Let(x + 1, where={x: value})")
    name, value = where.keys[0], reader.expr(where.values[0])
    known = reader.scope.get(name.id)
    var = known if isinstance(known, Var) else Var(name.id, value.dtype)
    with reader.scope.nested():
        reader.define(name.id, var, name)
        return Let(var, build.cast(value, var.dtype), reader.expr(body))


def _with_dtype(read: ReadIntrinsic) -> ReadIntrinsic:
    """Accept the value's dtype, which TVM's printer wrote until 0.11: `T.exp(x, dtype="float32")`."""

    def read_with_dtype(reader: Reader, node: ast.Call) -> Expr | str | int | float | None:
        stated = [k for k in node.keywords if k.arg == "dtype"]
        if not stated:
            return read(reader, node)
        rest = [k for k in node.keywords if k.arg != "dtype"]
        found = read(reader, ast.copy_location(ast.Call(node.func, node.args, rest), node))
        if not isinstance(found, Expr) or found.dtype != reader.dtype(stated[0].value):
            actual = found.dtype if isinstance(found, Expr) else "another"
            raise reader.error(
                stated[0].value, "wrong-type", f"the value is of type {actual}", expected="its type, or no dtype="
            )
        return found

    return read_with_dtype


INTRINSICS: dict[str, ReadIntrinsic] = {
    **{op: _with_dtype(_unary(op)) for op in (*FLOAT_UNARY, *ROUNDING)},
    **{op: _with_dtype(_binary(op)) for op in FLOAT_BINARY},
    "power": _with_dtype(_binary("pow")),
    **{op: _with_dtype(_bits(op)) for op in ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")},
    "bitwise_not": _with_dtype(_bitwise_not),
    **{dtype: _typed(dtype) for dtype in DTYPES},
    "boolean": _typed("bool"),
    **{
        kind.__name__: _raw(kind)
        for kind in (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE, And, Or)
    },
    "const": _const,
    "all": _logic(And),
    "any": _logic(Or),
    "Not": _not,
    "Select": _select,
    "Cast": _cast_raw,
    "BufferLoad": _buffer_load,
    "Let": _let,
    "cast": _cast,
    "var": _var,
    "Var": named_var,
    **dict.fromkeys(("Ramp", "ramp"), _ramp),
    **dict.fromkeys(("Broadcast", "broadcast"), _broadcast),
    "min": _built(build.minimum, ("a", "b")),
    "max": _built(build.maximum, ("a", "b")),
    **{name: _built(build.floordiv, ("a", "b"), integers=True) for name in ("floordiv", "indexdiv")},
    **{name: _built(build.floormod, ("a", "b"), integers=True) for name in ("floormod", "indexmod")},
    "truncdiv": _built(build.div, ("a", "b"), integers=True),
    "div": _built(build.div, ("a", "b")),
    "truncmod": _built(build.truncmod, ("a", "b")),
    "ceildiv": _built(_ceildiv, ("a", "b"), integers=True),
    "abs": _built(absolute, ("x",)),
    "fabs": _with_dtype(_built(absolute, ("x",))),
    "if_then_else": _with_dtype(_if_then_else),
    "isnan": _with_dtype(_float_test(_is_nan)),
    "isinf": _float_test(lambda x: And(_is_inf(x), Not(_is_nan(x)))),
    "isfinite": _float_test(lambda x: And(Not(And(_is_inf(x), Not(_is_nan(x)))), Not(_is_nan(x)))),
    **{kind: _limit(kind) for kind in ("min_value", "max_value", "infinity")},
    **{op: _external(op) for op in DTYPE_FIRST},
    "reinterpret": _reinterpret,
    "type_annotation": _type_annotation,
    "call_intrin": _call_intrin,
    "load": _load,
    "vscale": _vscale,
    "llvm_lookup_intrinsic_id": _llvm_id,
    "ptx_ldmatrix": _legacy("T.ptx_legacy.ldmatrix"),
    "ptx_mma": _legacy("T.ptx_legacy.mma"),
    **{op: _opaque(op) for op in OPAQUE},
    **{op: _with_last_dtype(op) for op in DTYPE_LAST},
    **{op: _like_second(op) for op in OF_SECOND},
    "ignore_loop_partition": _same_dtype("ignore_loop_partition"),
    "likely": _with_dtype(_same_dtype("likely")),
    "tvm_thread_invariant": _same_dtype("tvm_thread_invariant"),
    "popcount": _with_dtype(_same_dtype("popcount")),
    "clz": _same_dtype("clz", "int32"),
    "fma": _with_dtype(_fma),
}


def other_intrinsic(name: str) -> ReadIntrinsic | None:
    """Return the reader of a vector type, `T.int8x4(0)`, or of a target's intrinsic, `T.ptx_legacy.mma(…)`, which is kept unchanged under
    its full name. None for others."""
    parts = name.split(".")
    if len(parts) == 2 and dt.is_vector(parts[1]) and dt.is_valid(parts[1]):
        return _typed(parts[1])
    if len(parts) != 3 or parts[0] != "T" or parts[1] == "axis":
        return None

    def read(reader: Reader, node: ast.Call) -> Expr:
        arguments = unstarred(reader, node.args)
        known = TARGETS.get(name)
        dtype = "handle"
        if name.startswith(_TYPED) and [k.arg for k in node.keywords] == ["dtype"]:
            dtype = reader.dtype(node.keywords[0].value)
        elif node.keywords and known is not None:
            found = parameters(reader, node, tuple(known), sum(default is None for default in known.values()))
            defaults = (ast.copy_location(ast.Constant(value), node) for value in known.values())
            arguments = [given or default for given, default in zip(found, defaults, strict=True)]
        elif node.keywords or any(isinstance(a, ast.Starred) for a in arguments):
            raise reader.error(node, "wrong-arguments", f"{name} needs plain arguments", expected=f"{name}(a, b, …)")
        return Call(name, tuple(reader.expr(a) for a in arguments), dtype)

    return read


_TYPED = "T.ptx_legacy."
"""Instructions that may be given a type, in whose elements their offsets count."""


def is_intrinsic(name: str) -> bool:
    """Whether TVMScript has the function "T.exp"."""
    return name.removeprefix("T.") in INTRINSICS or (name.count(".") == 1 and other_intrinsic(name) is not None)


def similar_intrinsics(name: str) -> tuple[str, ...]:
    """Return names of the table that are similar to `name`."""
    return tuple(f"T.{n}" for n in difflib.get_close_matches(name.removeprefix("T."), INTRINSICS, n=3))


def is_unknown(name: str | None, others: tuple[str, ...] = ()) -> bool:
    """Whether `name` is a function of T that has no reader and is no misspelling of one, nor of `others`."""
    if name is None or not name.startswith("T.") or other_intrinsic(name) is not None:
        return False
    own = name.removeprefix("T.")
    return not difflib.get_close_matches(own, (*INTRINSICS, *others), 1, _MISSPELLED)


_MISSPELLED = 0.8
"""How similar a misspelled name is, from 0 to 1."""


def is_known(call: Call) -> bool:
    """Whether `T.op(args)` reads as `call`, dtype included."""
    if call.op in OPAQUE:
        return call.dtype == OPAQUE[call.op]
    return call.op in INTRINSICS
