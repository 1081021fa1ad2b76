"""Which iterations depend on which: the questions that reordering, parallel loops and moved blocks ask.

All answers are safe: "yes, independent" and "yes, covered" are given only when they surely hold, for affine accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import msgspec

from ..arith import detect_iter_map, linear, prove, simplify
from ..ir import (
    Add,
    And,
    AssertStmt,
    BinaryOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    LetStmt,
    Max,
    Min,
    Mul,
    Or,
    Range,
    SeqStmt,
    Stmt,
    Var,
    build,
    structural_equal,
    uses_var,
    walk,
)
from .index import ProgramIndex
from .pullback import pull_back
from .regions import hull, realized

Ranges = Mapping[Var, Range]


class Conflict(msgspec.Struct, frozen=True, eq=False):
    """Two blocks whose accesses to `buffer` may meet in different iterations."""

    first: BlockRealize
    second: BlockRealize
    buffer: Buffer


def find_conflict(index: ProgramIndex, top: For, moving: Sequence[Var]) -> Conflict | None:
    """Two blocks below `top` that could see each other's values across iterations of the `moving` loops; None when surely not.

    Values that a block takes from one before it within the same iteration (see `is_covered`) do not count.
    """
    below = index.child_blocks(top)
    for position, first in enumerate(below):
        for second in below[position + 1 :]:
            for buffer in _shared(first.block, second.block):
                if not _is_private(index, first, second, buffer) and _is_carried(index, first, second, buffer, moving):
                    return Conflict(first, second, buffer)
    return None


def _shared(first: Block, second: Block) -> list[Buffer]:
    """Buffers that both touch and at least one writes."""
    written = {w.buffer for w in (*first.writes, *second.writes)}
    mine = {r.buffer for r in (*first.reads, *first.writes)}
    return [b for b in dict.fromkeys(r.buffer for r in (*second.reads, *second.writes)) if b in mine and b in written]


def _is_private(index: ProgramIndex, first: BlockRealize, second: BlockRealize, buffer: Buffer) -> bool:
    """Whether `second` only reads `buffer`, and only what `first`, its one writer, wrote in the same iteration."""
    return (
        all(w.buffer is not buffer for w in second.block.writes)
        and any(w.buffer is buffer for w in first.block.writes)
        and index.writers(buffer) == (first.block.name,)
        and is_covered(index, first, second, buffer)
    )


def is_covered(index: ProgramIndex, producer: BlockRealize, consumer: BlockRealize, buffer: Buffer) -> bool:
    """Whether, in each iteration of the loops around both, `consumer` reads only elements of `buffer` that `producer` wrote in it.

    TVM calls it region cover.
    """
    if not _only_guards_domain(producer):
        return False
    written = [w for w in producer.block.writes if w.buffer is buffer]
    read = [r for r in consumer.block.reads if r.buffer is buffer]
    if len(written) != 1 or not read or not _writes_always(producer.block, buffer):
        return False
    if _covers(index, producer, written[0], consumer, read, {}):
        return True
    pulled = pull_back(producer.block, consumer.block, buffer)
    return pulled is not None and _covers(index, producer, pulled.written, consumer, pulled.read, pulled.loops)


def _writes_always(block: Block, buffer: Buffer) -> bool:
    """Whether a store of the block to `buffer` stands under no branch. Blocks inside count by what they say that they write."""

    def visit(stmt: Stmt) -> bool:
        match stmt:
            case BufferStore():
                return stmt.buffer is buffer
            case BlockRealize():
                return build.is_true(stmt.predicate) and any(w.buffer is buffer for w in stmt.block.writes)
            case SeqStmt():
                return any(map(visit, stmt.seq))
            case For() | LetStmt() | AssertStmt():
                return visit(stmt.body)
            case _:
                return False

    return visit(block.body) or any(m.source.buffer is buffer for m in block.match_buffers)


def _covers(
    index: ProgramIndex,
    producer: BlockRealize,
    written: BufferRegion,
    consumer: BlockRealize,
    read: Sequence[BufferRegion],
    body_loops: Ranges,
) -> bool:
    """Whether the box that is `written` holds what is `read` (also as the `body_loops` of the consumer run), and has no gaps."""
    common = _common_loops(index, producer, consumer)
    outer = {f.loop_var: Range(f.min, f.extent) for f in common}
    made = hull([realized(written, producer)], _inner_loops(index, producer, common), outer)
    needed = hull([realized(r, consumer) for r in read], {**_inner_loops(index, consumer, common), **body_loops}, outer)
    if not _is_dense(index, producer, written, common):
        return False
    shape = written.buffer.shape
    return all(_contains(m, n, extent, outer) for m, n, extent in zip(made.region, needed.region, shape, strict=True))


def _inner_loops(index: ProgramIndex, realize: BlockRealize, common: Sequence[For]) -> dict[Var, Range]:
    return {f.loop_var: Range(f.min, f.extent) for f in index.loops_above(realize) if f not in common}


def _contains(outer: Range, inner: Range, limit: Expr, ranges: Ranges) -> bool:
    """Whether `inner`, cut to the buffer's `limit`, is within `outer`."""
    end = build.add(outer.min, outer.extent)
    inner_end = build.add(inner.min, inner.extent)
    starts = prove(build.le(outer.min, inner.min), ranges) or prove(build.le(outer.min, 0), ranges)
    return starts and (prove(build.ge(end, inner_end), ranges) or prove(build.ge(end, limit), ranges))


def _only_guards_domain(realize: BlockRealize) -> bool:
    """Whether the predicate only cuts iterations whose iterators would leave their domain, as uneven splits make it."""
    values = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    guards = [simplify(build.lt(v, build.add(iv.dom.min, iv.dom.extent))) for iv, v in values]
    terms = [simplify(t) for t in build.conjuncts(realize.predicate)]
    return all(any(structural_equal(t, g) for g in guards) for t in terms)


def _common_loops(index: ProgramIndex, first: BlockRealize, second: BlockRealize) -> list[For]:
    around = set(index.loops_above(second))
    return [f for f in index.loops_above(first) if f in around]


def _box(
    index: ProgramIndex, realize: BlockRealize, buffer: Buffer, common: Sequence[For], *, writes: bool
) -> BufferRegion | None:
    """The hull of what the block touches of `buffer` in one iteration of the `common` loops."""
    regions = [r for r in (realize.block.writes if writes else realize.block.reads) if r.buffer is buffer]
    if not regions:
        return None
    outer = {f.loop_var: Range(f.min, f.extent) for f in common}
    return hull([realized(r, realize) for r in regions], _inner_loops(index, realize, common), outer)


def _is_dense(index: ProgramIndex, producer: BlockRealize, written: BufferRegion, common: Sequence[For]) -> bool:
    """Whether the producer writes every element of its box."""
    region = realized(written, producer)
    inner = _inner_loops(index, producer, common)
    outer = {f.loop_var: Range(f.min, f.extent) for f in common}
    if _is_dense_by_axis(region, inner):
        return True
    box = hull([region], inner, outer)
    sizes = [build.int_value(simplify(r.extent, outer)) for r in box.region]
    trips = [build.int_value(r.extent) for r in inner.values()]
    if None in sizes or None in trips:
        return False
    points = tuple(r.min for r in region.region)
    whole = all(build.is_const(r.extent, 1) for r in region.region)
    return (
        whole
        and prod(s or 0 for s in sizes) == prod(t or 0 for t in trips)
        and is_injective(points, {**inner, **outer})
    )


def _is_dense_by_axis(region: BufferRegion, inner: Ranges) -> bool:
    """Each axis runs over its own loops in steps that leave no gap (mixed radix)."""
    used: set[Var] = set()
    for axis in region.region:
        form, width = linear(axis.min), build.int_value(axis.extent)
        if form is None or width is None:
            return False
        steps: list[tuple[int, int]] = []
        for atom, factor in form.terms:
            if not any(uses_var(atom, v) for v in inner):
                continue
            trips = build.int_value(inner[atom].extent) if isinstance(atom, Var) else None
            if trips is None or atom in used:
                return False
            used.add(atom)  # pyright: ignore[reportArgumentType]
            steps.append((abs(factor), trips))
        reach = width
        for factor, trips in sorted(steps):
            if factor > reach:
                return False
            reach += factor * (trips - 1)
    return True


def _is_carried(
    index: ProgramIndex, first: BlockRealize, second: BlockRealize, buffer: Buffer, moving: Sequence[Var]
) -> bool:
    """Whether accesses to `buffer` may meet in two iterations that differ in a `moving` loop."""
    common = _common_loops(index, first, second)
    loops = {f.loop_var: Range(f.min, f.extent) for f in common}
    wanted = {v for v in moving if v in loops and not build.is_const(loops[v].extent, 1)}
    for mine_writes in (True, False):
        for other_writes in (True, False):
            if not (mine_writes or other_writes):
                continue
            mine = _box(index, first, buffer, common, writes=mine_writes)
            other = _box(index, second, buffer, common, writes=other_writes)
            if mine and other and not wanted <= separated_loops(mine.region, other.region, loops):
                return True
    return False


def separated_loops(a: Sequence[Range], b: Sequence[Range], loops: Ranges) -> set[Var]:
    """Loops that must be in the same iteration wherever box `a` of one iteration meets box `b` of another."""
    same_point = all(structural_equal(x, y) and build.is_const(x.extent, 1) for x, y in zip(a, b, strict=True))
    if same_point and is_injective([x.min for x in a], loops):
        return set(loops)
    known: set[Var] = {v for v, r in loops.items() if build.is_const(r.extent, 1)}
    while True:
        before = len(known)
        for x, y in zip(a, b, strict=True):
            known |= _separated_by_axis(x, y, loops, known)
        if len(known) == before:
            return known


def _separated_by_axis(a: Range, b: Range, loops: Ranges, known: set[Var]) -> set[Var]:
    """Loops whose step on this axis is larger than all that smaller steps and the boxes' widths can bridge."""
    left, right = linear(a.min), linear(b.min)
    width_a, width_b = build.int_value(a.extent), build.int_value(b.extent)
    if left is None or right is None or width_a is None or width_b is None:
        return set()
    gap = linear(build.sub(a.min, b.min))
    if gap is None or gap.terms:
        return set()
    if any(not isinstance(atom, Var) and any(uses_var(atom, v) for v in loops) for atom, _ in left.terms):
        return set()
    reach: int | None = abs(gap.constant) + max(width_a, width_b) - 1
    found: set[Var] = set()
    for atom, factor in sorted(left.terms, key=lambda term: abs(term[1])):
        if not isinstance(atom, Var) or atom not in loops or atom in known:
            continue
        # A step that smaller ones can bridge leaves them open too: they may differ where it differs.
        found = found | {atom} if reach is not None and abs(factor) > reach else set()
        trips = build.int_value(loops[atom].extent)
        reach = None if reach is None or trips is None else reach + abs(factor) * (trips - 1)
    return found


def is_injective(indices: Sequence[Expr], ranges: Ranges) -> bool:
    """Whether different values of the variables (of more than one trip) always give different indices."""
    loops = {v: r for v, r in ranges.items() if not build.is_const(r.extent, 1)}
    points = [build.point(i) for i in indices]
    known: set[Var] = set()
    while True:
        before = len(known)
        for point in points:
            known |= _separated_by_axis(point, point, loops, known)
        if len(known) == len(loops):
            return True
        if len(known) == before:
            break
    found = detect_iter_map(list(indices), dict(loops))
    return found is not None and found.bijective


def writes_distinct(block: Block) -> bool:
    """Whether different values of the spatial iterators write different elements."""
    spatial = {iv.var: iv.dom for iv in block.iter_vars if iv.iter_type == "spatial"}
    wanted = {v for v, dom in spatial.items() if not build.is_const(dom.extent, 1)}
    return all(
        wanted <= separated_loops(w.region, w.region, spatial)
        if _has_width(w)
        else is_injective([r.min for r in w.region], spatial)
        for w in block.writes
    )


def _has_width(region: BufferRegion) -> bool:
    return any(not build.is_const(r.extent, 1) for r in region.region)


def is_associative_update(block: Block) -> bool:
    """Whether the block does `x = op(x, …)` for one element x and an op whose order does not matter (sum, product, min, max, and, or)."""
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, Add | Mul | Min | Max | And | Or):
        return False
    return any(
        _is_same_element(mine, store) and not _touches(other, store.buffer) for mine, other in _operands(store.value)
    )


def _operands(value: BinaryOp | And | Or) -> Iterable[tuple[Expr, Expr]]:
    return (value.a, value.b), (value.b, value.a)


def _is_same_element(expr: Expr, store: BufferStore) -> bool:
    return (
        isinstance(expr, BufferLoad)
        and expr.buffer is store.buffer
        and all(structural_equal(a, b) for a, b in zip(expr.indices, store.indices, strict=True))
    )


def _touches(expr: Expr, buffer: Buffer) -> bool:
    return any(isinstance(n, BufferLoad) and n.buffer is buffer for n in walk(expr))


def updates_only_own_element(block: Block) -> bool:
    """Whether the block reads, of the buffers it writes, only the elements that it writes."""
    return all(
        isinstance(node, BufferStore) or _is_written_point(node, write)
        for write in block.writes
        for node in walk(block.body)
        if isinstance(node, BufferLoad | BufferStore) and node.buffer is write.buffer
    )


def _is_written_point(load: BufferLoad, write: BufferRegion) -> bool:
    return not _has_width(write) and all(
        structural_equal(i, r.min) for i, r in zip(load.indices, write.region, strict=True)
    )
