"""Classification of stores for an accelerator: copy, padded copy, multiply-accumulate, elementwise, reduction, fill, or other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from ...arith import Analyzer
from ...ir import (
    Add,
    BinaryOp,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Node,
    Not,
    Predicate,
    Select,
    Sub,
    Var,
    build,
    children,
    free_vars,
    structural_equal,
    walk,
)
from ...ir import dtype as dt
from ..machine.parts import Activation, Atomic
from .nest import Piece

Kind = Literal["copy", "pad", "mac", "reduce", "elementwise", "fill", "other"]
"""Work whose indices are data (gather, scatter) is "other". A "pad" copies an element, or writes zero where a condition on loops fails."""

_ARITHMETIC = (BinaryOp, Predicate, Cast, Not, Select, Call)
_OPERATIONS: dict[type[Node], str] = {
    Cast: "cast", Max: "max", Min: "max", Div: "div", Mod: "div", FloorDiv: "div", FloorMod: "div",
}  # fmt: skip
_FUNCTIONS = {
    **{name: name for name in ("erf", "exp", "log", "pow", "rsqrt", "sigmoid", "sin", "sqrt", "tanh")},
    **dict.fromkeys(("exp2", "exp10"), "exp"), **dict.fromkeys(("log2", "log10", "log1p"), "log"), **dict.fromkeys(("cos", "tan"), "sin"),
}  # fmt: skip
"""Operations with rates of their own, by node and by intrinsic."""
FUSED = "fma"
"""A sum or difference with a product as an operand."""
OPAQUE_CALLS = ("call_extern", "call_packed", "call_intrin", "call_pure_extern", "tvm_call_packed")


Activations = frozenset[Activation]


class Access(msgspec.Struct, frozen=True, eq=False):
    """An access of one element (per iteration) at `indices`, simplified, over loop variables. `extents` are 1 except for opaque pieces."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    extents: tuple[Expr, ...] = ()


class Work(msgspec.Struct, frozen=True, eq=False):
    """A classified piece: its kind, its reads and writes, and its operations per iteration.

    `updates` says that its writes depend on the old value: an accumulator is not among `reads`. `rated` are the names of those operations
    that a machine can have rates for. `activations` are the functions of an elementwise piece that a DMA may apply to its first operand;
    the other operands are elements of biases and scales. A padded copy reads where all of `inside` hold. An `atomic` update is made by the
    memory; `update` names the function of an update of an element with one of another buffer, in its type.
    """

    piece: Piece
    kind: Kind
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    updates: bool = False
    operations: int = 1
    rated: tuple[str, ...] = ()
    activations: Activations | None = None
    inside: tuple[Expr, ...] = ()
    atomic: bool = False
    update: Atomic | None = None

    @property
    def loads_target(self) -> bool:
        """Whether the engine loads the elements that it updates."""
        return self.updates and not self.atomic

    def steps(self, rates: Mapping[str, int]) -> int:
        """Returns the duration of the operations of an iteration, at these rates; an operation without a rate takes 1."""
        return self.operations + _slower(self.rated, rates)


def activations_of(value: Expr) -> tuple[Activations, BufferLoad] | None:
    """Returns the functions that a value applies to an element, with constants or elements of other operands, and the load of the element;
    None if the value is anything else.

    A maximum with zero is a relu, part of a clip if there is also another bound. Shifts and divisions by a constant scale; rounding is part
    of a cast.
    """
    found: set[Activation] = set()
    while not isinstance(value, BufferLoad):
        step = _activation(value) or _activation_by_operand(value)
        if step is None:
            return None
        found.add(step[0])
        value = step[1]
    return frozenset(found - {"relu"} if "clip" in found else found), value


_WITH_CONSTANTS: dict[type[Node], Activation] = {
    Add: "offset", Sub: "offset", Mul: "scale", Div: "scale", Max: "clip", Min: "clip",
}  # fmt: skip


def _activation(value: Expr) -> tuple[Activation, Expr] | None:
    """Returns the outermost function of a value and its operand."""
    if isinstance(value, Cast):
        return "cast", value.value
    if isinstance(value, Call):
        if value.op in ("round", "nearbyint"):
            return "cast", value.args[0]
        return ("scale", value.args[0]) if value.op == "shift_right" and _is_constant(value.args[1]) else None
    name = _WITH_CONSTANTS.get(type(value))
    if not isinstance(value, BinaryOp) or name is None:
        return None
    if _is_constant(value.a) and isinstance(value, Add | Mul | Max | Min):
        operand, constant = value.b, value.a
    elif _is_constant(value.b):
        operand, constant = value.a, value.b
    else:
        return None
    is_relu = isinstance(value, Max) and _is_constant(constant, 0)
    return "relu" if is_relu else name, operand


def _activation_by_operand(value: Expr) -> tuple[Activation, Expr] | None:
    """Returns a sum, a difference or a product with an element of another operand, which depends on at most as many loops."""
    if not isinstance(value, Add | Sub | Mul):
        return None
    orders = ((value.a, value.b),) if isinstance(value, Sub) else ((value.a, value.b), (value.b, value.a))
    for operand, other in orders:
        if isinstance(_uncast(other), BufferLoad) and len(free_vars(operand)) >= len(free_vars(other)):
            return ("channel_scale" if isinstance(value, Mul) else "bias"), operand
    return None


def _is_constant(value: Expr, number: float | None = None) -> bool:
    value = _uncast(value)
    return isinstance(value, IntImm | FloatImm) and number in (None, value.value)


def steps_of(value: Expr, rates: Mapping[str, int]) -> int:
    """Returns the duration of a value's operations at these rates, as `Work.steps` does."""
    seen = _seen(value)
    return max(seen.operations, 1) + _slower(seen.rated, rates)


def operation_name(node: Node) -> str | None:
    """Returns the name of an operation in a machine's rates, "" without one; None if the node is no operation."""
    return _rated(node) if isinstance(node, _ARITHMETIC) else None


def _slower(rated: Iterable[str], rates: Mapping[str, int]) -> int:
    # A multiply-add is two operations, or one with a rate.
    plain = {FUSED: 2}
    return sum(rates.get(name, plain.get(name, 1)) - plain.get(name, 1) for name in rated)


def read_pieces(pieces: Sequence[Piece], analyzer: Analyzer) -> tuple[Work, ...]:
    """Classifies each piece of a leaf."""
    reader = _Reader(analyzer)
    return tuple(reader.read(piece) for piece in pieces)


class _Reader:
    """Classifier of pieces. It caches simplified indices, so equal indices of a leaf's pieces are the same object."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._simple: dict[tuple[Buffer, int], list[tuple[Expr, Expr]]] = {}

    def read(self, piece: Piece) -> Work:
        """Classifies a piece. The initialisation of a reduction costs nothing: its first step overwrites."""
        store = piece.store
        if store is None:
            reads = tuple(_boxed(region) for region, written in piece.touches if not written)
            writes = tuple(_boxed(region) for region, written in piece.touches if written)
            return Work(piece, "other", reads, writes)
        seen = _seen(store.value)
        target = self._access(store)
        loads: list[Access] = []
        old: list[BufferLoad] = []
        nested = [load for index in store.indices for load in _every_load(_seen(index))]
        nested += piece.given  # as before their values were known
        for node in (*_every_load(seen), *nested):
            access = self._access(node)
            if same_place(access, target, self._analyzer):
                old.append(node)
            elif not any(same_place(access, a, self._analyzer) for a in loads):
                loads.append(access)
        by_data = nested or any(places for _, places in seen.loads)
        kind = "other" if by_data or seen.opaque else _kind(store.value, loads, old)
        applied = activations_of(store.value) if kind == "elementwise" else None
        if applied is not None:
            element = self._access(applied[1])
            loads.sort(key=lambda a: not same_place(a, element, self._analyzer))
        inside: tuple[Expr, ...] = ()
        padded = padded_load(store.value) if kind == "elementwise" else None
        if padded is not None:
            kind, inside = "pad", tuple(self._analyzer.simplify(c) for c in build.conjuncts(padded[0]))
        operations, activations = max(seen.operations, 1), applied and applied[0]
        update = _update(store.value, old) if kind == "reduce" and len(loads) == 1 else None
        return Work(piece, kind, tuple(loads), (target,), bool(old), operations, tuple(seen.rated), activations, inside,
                    update=update)  # fmt: skip

    def _access(self, node: BufferLoad | BufferStore) -> Access:
        buffer = node.buffer
        return Access(buffer, tuple(self._simplified(i, (buffer, axis)) for axis, i in enumerate(node.indices)))

    def _simplified(self, index: Expr, place: tuple[Buffer, int]) -> Expr:
        known = self._simple.setdefault(place, [])
        for one, simple in known:
            if one is index or structural_equal(one, index):
                return simple
        known.append((index, self._analyzer.simplify(index)))
        return known[-1][1]


class _Seen(msgspec.Struct):
    """Contents of an expression: its loads, in order, each with whether it is inside of an index; the number of operations on values (those
    on indices are the address unit's), and the names of those with rates; whether it contains an opaque call.
    """

    loads: list[tuple[BufferLoad, bool]]
    operations: int = 0
    opaque: bool = False
    rated: list[str] = msgspec.field(default_factory=list[str])


def _seen(expr: Expr) -> _Seen:
    found = _Seen([])
    # Each with whether it is an index, and whether arithmetic counts.
    stack: list[tuple[Node, bool, bool]] = [(expr, False, True)]
    while stack:
        node, places, counts = stack.pop()
        kind = type(node)
        if kind is Var or kind is IntImm:
            continue
        if isinstance(node, BufferLoad):
            found.loads.append((node, places))
            stack += [(index, True, False) for index in reversed(node.indices)]
            continue
        counts = counts and isinstance(node, _ARITHMETIC)
        found.operations += counts
        if counts and (name := _rated(node)):
            found.rated.append(name)
        if counts and isinstance(node, Add | Sub) and (isinstance(node.a, Mul) or isinstance(node.b, Mul)):
            found.rated.append(FUSED)
        if isinstance(node, Call) and node.op in OPAQUE_CALLS:
            found.opaque = True
        stack += [(child, places, counts) for child in reversed(children(node))]
    return found


def _rated(node: Node) -> str:
    """Returns the name of an operation in a machine's rates, or "". A division by a constant is a multiplication."""
    if isinstance(node, Call):
        return _FUNCTIONS.get(node.op, "")
    name = _OPERATIONS.get(type(node), "")
    by_constant = name == "div" and isinstance(node, BinaryOp) and isinstance(_uncast(node.b), IntImm | FloatImm)
    return "" if by_constant else name


def _every_load(seen: _Seen) -> list[BufferLoad]:
    return [load for load, _ in seen.loads]


def _boxed(region: BufferRegion) -> Access:
    return Access(region.buffer, tuple(x.min for x in region.region), tuple(x.extent for x in region.region))


def _kind(value: Expr, loads: list[Access], old: list[BufferLoad]) -> Kind:
    """Returns the kind of a store; `old` are the loads of the overwritten element."""
    if isinstance(value, BufferLoad) and not old:
        return "copy"
    if old:
        return "mac" if _is_mac(value, old) else "reduce"
    return "elementwise" if loads else "fill"


def padded_load(value: Expr) -> tuple[Expr, BufferLoad] | None:
    """Returns the condition and the load of `load if condition else 0`, whose condition does not depend on data; None for another value."""
    found = filled_load(value)
    return found[:2] if found is not None and _is_constant(found[2], 0) else None


def filled_load(value: Expr) -> tuple[Expr, BufferLoad, Expr] | None:
    """Returns the condition, the load and the constant of `load if condition else constant`, as `padded_load` does."""
    match value:
        case Select(condition=condition, true_value=a, false_value=b):
            pass
        case Call(op="if_then_else", args=(condition, a, b)):
            pass
        case _:
            return None
    if _is_constant(a):
        a, b, condition = b, a, build.logical_not(condition)
    if not isinstance(a, BufferLoad) or not _is_constant(b):
        return None
    depends = any(isinstance(n, BufferLoad | Call) for n in walk(condition))
    return None if depends else (condition, a, b)


_UPDATES: dict[type[Node], Atomic] = {Add: "add", Max: "max", Min: "min"}


def _update(value: Expr, old: list[BufferLoad]) -> Atomic | None:
    """Returns the function of `C[…] + S[…]` in either order, whose `old` element has the type of the other one."""
    if not isinstance(value, BinaryOp) or type(value) not in _UPDATES:
        return None
    sides = (value.a, value.b)
    is_plain = all(isinstance(side, BufferLoad) for side in sides) and sum(side in old for side in sides) == 1
    return _UPDATES[type(value)] if is_plain else None


def _is_mac(value: Expr, old: list[BufferLoad]) -> bool:
    """Returns whether `value` is `C[…] + a * b` in either order, with a and b loads, casts allowed around each."""
    value = _uncast(value)
    if not isinstance(value, Add):
        return False
    for added, product in ((value.a, value.b), (value.b, value.a)):
        added, product = _uncast(added), _uncast(product)
        if not any(added is load for load in old) or not isinstance(product, Mul):
            continue
        if isinstance(_uncast(product.a), BufferLoad) and isinstance(_uncast(product.b), BufferLoad):
            return True
    return False


def same_place(a: Access, b: Access, analyzer: Analyzer) -> bool:
    """Returns whether both provably access the same element."""
    if a.buffer is not b.buffer:
        return False
    pairs = zip(a.indices, b.indices, strict=True)
    return all(x is y or structural_equal(x, y) or analyzer.proves_equal(x, y) for x, y in pairs)


def _uncast(value: Expr) -> Expr:
    while isinstance(value, Cast):
        value = value.value
    return value


def element_bytes(access: Access) -> int:
    return dt.size_bytes(access.buffer.dtype)
