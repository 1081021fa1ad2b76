"""Detection of a block's combiner, and of the permitted orders of its terms.

Supported: `x = op(x, term)` with a sum, product, minimum, maximum, logical or bitwise operator; several buffers at once if each is
updated by one of these, or if two keep the best value and its position (argmax, argmin). Integers combine exactly in any order (they
wrap), as do minima, maxima and logic; sums and products of floats are rounded in evaluation order. Terms are assumed not to be NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    FloatImm,
    For,
    IntImm,
    LetStmt,
    Max,
    Min,
    Mul,
    Or,
    Predicate,
    Select,
    SeqStmt,
    Stmt,
    Var,
    structural_equal,
    uses_var,
    walk,
)

Values = tuple[Expr, ...]
Combine = Callable[[Values, Values], Values]


class Update(msgspec.Struct, frozen=True, eq=False):
    """`targets[n] = combine(targets, terms)[n]`, all at the same indices.

    `keeps_order`: the first of equal terms wins, so terms may be grouped but must stay in order; otherwise any order is valid.
    `identity`: the neutral start value of each target, for each group of terms; None if any constant is valid.
    """

    targets: tuple[BufferLoad, ...]
    terms: Values
    combine: Combine
    keeps_order: bool
    identity: tuple[int | None, ...]


def find_update(block: Block) -> Update | str:
    """The update that the body performs, or the reason why it is none."""
    stores = _stores(block.body)
    if isinstance(stores, str):
        return stores
    targets = tuple(BufferLoad(s.buffer, s.indices) for s in stores)
    values = tuple(s.value for s in stores)
    if len({t.buffer for t in targets}) < len(targets):
        return "one buffer is updated several times"
    found = _several(targets, values) or (_best(targets, values) if len(targets) == _PAIR else None)
    if found is None:
        return "the value stored is not op(old value, term) with a known op"
    buffers = {t.buffer for t in targets}
    if any(isinstance(n, BufferLoad | BufferData) and n.buffer in buffers for term in found.terms for n in walk(term)):
        return "a term reads what the block writes"
    return found


def is_associative_update(block: Block) -> bool:
    """Whether the block performs `x = op(x, …)` for one element x, or several, with an op whose order is irrelevant. A block around loops
    around one such block, as blockize creates it, does so for each element of a tile."""
    found = find_update(_worker(block))
    return isinstance(found, Update) and not found.keeps_order


def _worker(block: Block) -> Block:
    """The nested block that does all the work of a block of blocks; otherwise the block itself."""
    body, asked = block.body, list[Expr]()
    while isinstance(body, For):
        asked += [body.min, body.extent]
        body = body.body
    if not isinstance(body, BlockRealize) or body.block.init is not None:
        return block
    asked += [*body.iter_values, body.predicate]
    # A view may rename the element, and a condition may read it.
    plain = not block.match_buffers and not body.block.match_buffers
    plain = plain and not any(isinstance(n, BufferLoad) for e in asked for n in walk(e))
    return _worker(body.block) if plain else block


def find_identities(block: Block, update: Update) -> Values | str:
    """The init's constants for the targets, in order, as start values for groups of terms; or the reason why they are unsuitable."""
    parts = block.init.seq if isinstance(block.init, SeqStmt) else (block.init,)
    stores = [s for s in parts if isinstance(s, BufferStore)]
    if len(stores) < len(parts) or len(stores) != len(update.targets):
        return "the init does not store one value for each buffer"
    found: list[Expr] = []
    for target, identity in zip(update.targets, update.identity, strict=True):
        mine = [s for s in stores if s.buffer is target.buffer and _same_place(s.indices, target.indices)]
        if len(mine) != 1:
            return f"the init does not store the element of {target.buffer.name!r} that the body updates"
        value = mine[0].value
        if not isinstance(value, IntImm | FloatImm) or identity not in (None, value.value):
            return f"{target.buffer.name!r} does not start from the neutral element"
        found.append(value)
    return tuple(found)


_PAIR = 2


def _stores(body: Stmt) -> Sequence[BufferStore] | str:
    """The stores of `x = value` or of `v: let = value; …; x = v; …`, with the values substituted for their names, in the order of the
    lets."""
    names: dict[Var, Expr] = {}
    while isinstance(body, LetStmt):
        if any(uses_var(body.value, v) for v in names):
            return "a value is computed from another result"
        names[body.var] = body.value
        body = body.body
    if not names:
        return (
            (body,) if isinstance(body, BufferStore) else "the body is not one store, or several stores of named values"
        )
    made: dict[Var, BufferStore] = {}
    for stmt in body.seq if isinstance(body, SeqStmt) else (body,):
        if not isinstance(stmt, BufferStore) or not isinstance(stmt.value, Var) or stmt.value not in names:
            return "the body is not one store, or several stores of named values"
        if stmt.value in made:
            return f"{stmt.value.name!r} is stored twice"
        made[stmt.value] = BufferStore(stmt.buffer, names[stmt.value], stmt.indices)
    if len(made) < len(names):
        return "a value is not stored"
    first = next(iter(made.values()))
    if any(not _same_place(s.indices, first.indices) or not _same_shape(s.buffer, first.buffer) for s in made.values()):
        return "the buffers differ in shape, or are updated at different indices"
    return [made[v] for v in names]


def _same_place(a: Values, b: Values) -> bool:
    return len(a) == len(b) and all(map(structural_equal, a, b))


def _same_shape(a: Buffer, b: Buffer) -> bool:
    return _same_place(a.shape, b.shape)


# One operator for each buffer.

_OPERATORS: dict[type[Expr], int | None] = {Add: 0, Mul: 1, Min: None, Max: None, And: None, Or: None}
"""The neutral constant of each operator; None if a constant may be combined any number of times."""

_BITWISE: dict[str, int | None] = {"bitwise_and": None, "bitwise_or": None, "bitwise_xor": 0}


def _several(targets: Sequence[BufferLoad], values: Values) -> Update | None:
    """An update with a separate operator for each buffer."""
    parts: list[_Operator] = []
    for target, value in zip(targets, values, strict=True):
        part = _operator(value, target)
        if part is None:
            return None
        parts.append(part)

    def combine(old: Values, new: Values) -> Values:
        return tuple(part.make(x, y) for part, x, y in zip(parts, old, new, strict=True))

    terms, identity = tuple(p.term for p in parts), tuple(p.identity for p in parts)
    return Update(tuple(targets), terms, combine, keeps_order=False, identity=identity)


class _Operator(msgspec.Struct, frozen=True, eq=False):
    """`make(target, term)` with its neutral constant."""

    term: Expr
    identity: int | None
    make: Callable[[Expr, Expr], Expr]


def _operator(value: Expr, target: BufferLoad) -> _Operator | None:
    """The value as a known operator of the target and a term."""
    make: Callable[[Expr, Expr], Expr]
    match value:
        case Add(a=a, b=b) | Mul(a=a, b=b) | Min(a=a, b=b) | Max(a=a, b=b) | And(a=a, b=b) | Or(a=a, b=b):
            identity, make = _OPERATORS[value.__class__], value.__class__
        case Call(op=op, args=(a, b)) if op in _BITWISE:
            identity, make = _BITWISE[op], _calling(op, value.dtype)
        case _:
            return None
    if structural_equal(a, target):
        return _Operator(b, identity, make)
    return _Operator(a, identity, make) if structural_equal(b, target) else None


def _calling(op: str, dtype: str) -> Callable[[Expr, Expr], Expr]:
    def make(a: Expr, b: Expr) -> Expr:
        return Call(op, (a, b), dtype)

    return make


# Two buffers: the best value and its position.

_BEST: tuple[tuple[type[Predicate], type[Predicate] | None], ...] = (
    (GE, None),
    (LE, None),
    (GT, LT),
    (LT, LT),
    (GT, GT),
    (LT, GT),
)
"""The comparison of values and, for equal values, of positions; without the latter, the first one wins."""


def _best(targets: Sequence[BufferLoad], values: Values) -> Update | None:
    """The update of argmax or argmin: `(position, value)` of the better of two."""
    if not all(isinstance(v, Select) for v in values):
        return None
    terms = tuple(v.false_value for v in values if isinstance(v, Select))
    for better, nearer in _BEST:

        def combine(
            old: Values, new: Values, better: type[Predicate] = better, nearer: type[Predicate] | None = nearer
        ) -> Values:
            wins = better(old[1], new[1])
            tie = wins if nearer is None else Or(wins, And(EQ(old[1], new[1]), nearer(old[0], new[0])))
            return Select(tie, old[0], new[0]), Select(wins, old[1], new[1])

        if all(map(structural_equal, combine(tuple(targets), terms), values)):
            return Update(tuple(targets), terms, combine, keeps_order=nearer is None, identity=(None, None))
    return None


__all__ = ["Update", "find_identities", "find_update", "is_associative_update"]
