"""Division of a block's iterators into those of an outer block and those of the block inside, with the rules for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ...analysis import is_once, starts_with_init, writes_distinct
from ...arith import Count, Division, prove, prove_equal, subspace_divide
from ...ir import (
    BlockRealize,
    BufferLoad,
    Expr,
    For,
    IterVar,
    Node,
    Range,
    Stmt,
    Var,
    build,
    free_vars,
    substitute,
    uses_var,
    walk,
)
from ..context import Context
from ..errors import refuse
from .checks import no_own_sum, require_updates_own_element

Ranges = Mapping[Var, Range]


class Iterators(msgspec.Struct, frozen=True, eq=False):
    """The iterators of both blocks with their bindings, the value of each old iterator, and the division behind each outer iterator."""

    outer: tuple[IterVar, ...]
    outer_values: tuple[Expr, ...]
    inner: tuple[IterVar, ...]
    inner_values: tuple[Expr, ...]
    values: dict[Var, Expr]
    divisions: dict[Var, Division]


class Conditions(msgspec.Struct, frozen=True, eq=False):
    """The predicate of each block."""

    outer: Expr
    inner: Expr


def loop_ranges(loops: Sequence[For]) -> dict[Var, Range]:
    return {f.loop_var: Range(f.min, f.extent) for f in loops}


# A loop that becomes a block contains one block, in a plain nest.
def require_nest(stmt: Node) -> BlockRealize:
    """The only block of the nest."""
    found = stmt
    while isinstance(found, For):
        found = found.body
    if not isinstance(found, BlockRealize):
        raise refuse(
            "not-one-block", "the loop does not enclose a single block in a perfect nest", stmt,
            found=f"a {type(found).__name__} in it", expected="one block, with only loops around it",
        )  # fmt: skip
    return found


# Each iterator splits into a tile, from the outer loops, and an offset in it, from the inner loops.
def divided(realize: BlockRealize, outside: Sequence[For], inside: Sequence[For], *, keep_units: bool) -> Iterators:
    """Divide the iterators: `<v>_o` of the outer block for each, and `<v>_i` of the inner block for those that run inside."""
    outer, inner = loop_ranges(outside), loop_ranges(inside)
    made = Iterators((), (), (), (), {}, {})
    for old, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        found = subspace_divide(value, outer, inner, keep_units=keep_units)
        if found is None:
            raise refuse(
                "not-divisible", f"iterator {old.var.name!r} of block {realize.block.name!r} does not divide into a tile of the "
                "outer loops and an offset of the inner ones", realize,
                expected="a binding like `i_0 * 16 + i_1`, or one that uses only outer or only inner loops",
            )  # fmt: skip
        made = _with(made, old, found, outer, keep_units=keep_units)
    return made


def _with(made: Iterators, old: IterVar, found: Division, outside: Ranges, *, keep_units: bool) -> Iterators:
    """`made` with the iterators of one more division."""
    dtype = old.var.dtype
    domain = _domain(old, found.outer_count, outside) if found.inner is None else _range(found.outer_count, dtype)
    whole = IterVar(Var(f"{old.var.name}_o", dtype), domain, old.iter_type)
    inner, inner_values = made.inner, made.inner_values
    if found.inner is None or found.inner_count is None:
        value = domain.min if build.is_const(domain.extent, 1) and not keep_units else whole.var
    else:
        count = found.inner_count
        place = _domain(old, count, outside) if found.width is None else _range(count, dtype)
        part = IterVar(Var(f"{old.var.name}_i", dtype), place, old.iter_type)
        inner, inner_values = (*inner, part), (*inner_values, found.inner)
        value = _in_tile(found, domain.min if build.is_const(domain.extent, 1) else whole.var, part.var)
    return Iterators(
        (*made.outer, whole), (*made.outer_values, found.outer), inner, inner_values,
        {**made.values, old.var: value}, {**made.divisions, whole.var: found},
    )  # fmt: skip


def _in_tile(found: Division, tile: Expr, place: Expr) -> Expr:
    if found.width is None or found.base is None:
        return place
    return build.add(build.add(build.mul(tile, found.width), place), found.base)


def _range(count: Count, dtype: str) -> Range:
    assert count.trips is not None
    return Range(build.cast(count.first, dtype), build.cast(count.trips, dtype))


def _domain(old: IterVar, count: Count, outside: Ranges) -> Range:
    """The domain of an undivided iterator: the loops' range if it is smaller, otherwise the iterator's own domain."""
    trips = count.trips
    if trips is None or free_vars(trips) & outside.keys() or not prove_equal(count.first, old.dom.min):
        return old.dom
    trips = build.cast(trips, old.var.dtype)
    return Range(old.dom.min, trips) if prove(build.le(trips, old.dom.extent)) else old.dom


# Each condition depends either on the loops outside or on the loops inside.
def split_predicate(realize: BlockRealize, outside: Sequence[For], inside: Sequence[For]) -> Conditions:
    outer: list[Expr] = []
    inner: list[Expr] = []
    for term in build.conjuncts(realize.predicate):
        if not any(uses_var(term, f.loop_var) for f in inside):
            outer.append(term)
            continue
        if any(uses_var(term, f.loop_var) for f in outside):
            raise refuse(
                "not-divisible", f"a condition of block {realize.block.name!r} depends on both outer and inner loops", realize,
                expected="factors that divide the loops", found="a partial tile at the end",
            )  # fmt: skip
        inner.append(term)
    return Conditions(build.logical_and(*outer), build.logical_and(*inner))


# Inside of the outer block, only its iterators are visible, not the loops outside, and it reads only its declared regions.
def require_bounds_inside(
    realize: BlockRealize, inside: Sequence[For], condition: Expr, outside: Sequence[For], iterators: Iterators
) -> dict[Var, Expr]:
    """The outer iterator for each loop outside that is bound directly to one."""
    pairs = zip(iterators.outer, iterators.outer_values, strict=True)
    bound: dict[Var, Expr] = {value: iv.var for iv, value in pairs if isinstance(value, Var)}
    parts = [*iterators.inner_values, condition, *(e for f in inside for e in (f.min, f.extent))]
    if any(isinstance(node, BufferLoad) for part in parts for node in walk(part)):
        raise refuse(
            "opaque-access", f"cannot blockize: a loop or condition around block {realize.block.name!r} reads a buffer", realize,
            expected="bounds, bindings and conditions without loads",
        )  # fmt: skip
    lost = next((f for f in outside if f.loop_var not in bound and any(uses_var(p, f.loop_var) for p in parts)), None)
    if lost is not None:
        raise refuse(
            "not-divisible", f"loops around block {realize.block.name!r} depend on {lost.loop_var.name!r}, which is not visible inside",
            lost, realize, expected=f"an iterator bound to {lost.loop_var.name!r}",
        )  # fmt: skip
    return bound


def wrapped_nest(loops: Sequence[For], body: Stmt, bounds: Mapping[Var, Expr]) -> Stmt:
    """The loops around `body`. Their bounds use the outer iterators in place of the loops outside."""
    for old in reversed(loops):
        body = replace_fields(old, min=substitute(old.min, bounds), extent=substitute(old.extent, bounds), body=body)
    return body


# The init of the whole tile runs first: each sum in the tile must start with its init, exactly once.
def require_own_init(ctx: Context, realize: BlockRealize, inside: Sequence[For], iterators: Iterators) -> None:
    block = realize.block
    assert block.init is not None
    opaque = next((iv.var for iv in iterators.inner if iv.iter_type not in ("spatial", "reduce")), None)
    if opaque is not None:
        raise refuse(
            "opaque-iterator", f"cannot blockize: the init of block {block.name!r} would run over all of {opaque.name!r} first", realize,
            found="an iterator that is neither spatial nor a reduction iterator", expected="an inner loop",
        )  # fmt: skip
    require_updates_own_element(ctx, realize, "blockize")
    loops = loop_ranges(inside)
    written = {w.buffer for w in block.writes}
    feeds = any(isinstance(n, BufferLoad) and n.buffer in written for n in walk(block.init))
    apart = (
        ctx.index.fact(writes_distinct, block)
        and is_once(realize, loops)
        and starts_with_init(realize, loops, partly=True)
    )
    if (
        feeds
        or not apart
        or not all(map(_starts_together, block.iter_vars, iterators.outer, iterators.divisions.values()))
    ):
        other = "a sum that starts inside of a tile, or an init that reads the output"
        raise no_own_sum(ctx, realize, "blockize", loops, partly=True, other=other)


def _starts_together(old: IterVar, whole: IterVar, found: Division) -> bool:
    """Whether a sum starts in the first tile."""
    if old.iter_type != "reduce" or found.width is None or found.base is None:
        return True
    return prove_equal(old.dom.min, build.add(build.mul(whole.dom.min, found.width), found.base))
