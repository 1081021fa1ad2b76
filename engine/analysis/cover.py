"""Region cover: whether another block writes all elements that a block reads, in the same iteration.

"Covered" requires a proof: by boxes in the common cases, otherwise by the exact sets of `instances`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from math import prod

import msgspec

from ..arith import Analyzer, detect_iter_map, least_of, linear, prove, simplify
from ..ir import (
    LT,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    IterVar,
    LaunchThread,
    LetStmt,
    Ramp,
    Range,
    SeqStmt,
    Stmt,
    Var,
    addressed_buffers,
    build,
    free_vars,
    structural_equal,
    substitute,
    uses_var,
    walk,
)
from .boxes import holds, holds_all, hull_of
from .index import ProgramIndex
from .instances import HOLDS, Decision, Elements, Instances, contains, in_range
from .joins import joined_splits
from .pullback import pull_back
from .regions import hull, realized
from .separation import is_injective, without_outer

Ranges = Mapping[Var, Range]

UNCERTAIN_WRITE = Decision(None, "undecided: the block may not run, or may store only a part of what it declares")


def is_covered(
    index: ProgramIndex,
    producer: BlockRealize,
    consumer: BlockRealize,
    buffer: Buffer,
    element: Sequence[Expr] | None = None,
    *,
    by_declaration: bool = False,
) -> Decision:
    """Whether `consumer` reads only elements of `buffer` that `producer` writes, in each iteration of the loops around both.

    TVM calls this region cover. Reads past the ends of the buffer are ignored: a condition prevents them. With `element` (indices in the
    consumer's iterators), the result says whether `producer` writes that element in every iteration, whether or not the consumer reads it.
    `by_declaration`: the consumer reads all that it declares, as TVM assumes.
    """
    if element is None:
        return index.fact_here(_is_covered, producer, consumer, buffer, None, by_declaration)
    return _is_covered(index, producer, consumer, buffer, element)


def _is_covered(
    index: ProgramIndex,
    producer: BlockRealize,
    consumer: BlockRealize,
    buffer: Buffer,
    element: Sequence[Expr] | None = None,
    by_declaration: bool = False,
) -> Decision:
    write = _sure_write(producer.block, buffer)
    regions = [r for r in consumer.block.reads if r.buffer is buffer]
    whole = element is not None
    if element is not None:
        regions = [BufferRegion(buffer, tuple(map(build.point, element)))]
    if write is None or not regions or not provably_runs(index, producer, set(index.path(consumer))):
        return UNCERTAIN_WRITE
    read = _Access(tuple(regions), {})
    # The cheap axis-by-axis test runs first, the expensive tests last.
    if _covers(index, producer, write, consumer, read, whole=whole, dense=_is_dense_by_axis):
        return HOLDS
    pulled = None if by_declaration else pull_back(producer.block, consumer.block, buffer)
    if pulled is not None:
        written, origins = _Access((pulled.written,), {}), _Access(pulled.read, pulled.loops)
        if _covers(index, producer, written, consumer, origins, whole=whole or not pulled.fills, dense=_is_dense):
            return HOLDS
    if _covers(index, producer, write, consumer, read, whole=whole, dense=_is_dense):
        return HOLDS
    return _contains(index, producer, write, consumer, read, whole=whole)


def provably_runs(index: ProgramIndex, realize: BlockRealize, around: Container[Stmt]) -> bool:
    """Whether the block provably runs whenever the statements `around` it do: no other branch, and all other loops have iterations."""
    parent = index.parent(realize)
    return parent is None or runs_at(index, parent, around)


def runs_at(index: ProgramIndex, stmt: Stmt, around: Container[Stmt]) -> bool:
    """Whether the body of `stmt` provably runs whenever the statements `around` it do."""
    loops = {f.loop_var: Range(f.min, f.extent) for f in (*index.loops_above(stmt), stmt) if type(f) is For}
    for outer in (stmt, *index.path(stmt)):
        if type(outer) is Block:
            return True
        if outer in around:
            continue
        if type(outer) is IfThenElse or (type(outer) is For and not has_iterations(outer.extent, loops)):
            return False
    return True


def has_iterations(extent: Expr, loops: Ranges) -> bool:
    """Whether a loop has at least one iteration; sizes from the caller are assumed positive. A trip count that is data may be zero, as that
    of an empty row."""
    value = build.int_value(extent)
    if value is not None:
        return value > 0
    is_data = any(isinstance(node, BufferLoad) for node in walk(extent))
    if not is_data and not free_vars(extent) & loops.keys():
        return True
    return all(prove(build.ge(case, 1), loops) for case in least_of(extent))


def writes_all(
    index: ProgramIndex, realize: BlockRealize, box: BufferRegion, around: Sequence[For], *, is_hull: bool = False
) -> Decision:
    """Whether the block writes all of `box` in each iteration of the loops `around` it. The box uses their variables.

    `is_hull`: the box is in the hull of what the block declares to write. If it provably writes all of that, it remains to show that these
    regions have no gaps.
    """
    write, condition = _guarded_write(realize.block, box.buffer)
    if write is None or not provably_runs(index, realize, around):
        return UNCERTAIN_WRITE
    is_hull = is_hull and any(write.regions[0] is declared for declared in realize.block.writes)
    bindings = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
    predicate = build.logical_and(realize.predicate, substitute(condition, bindings))
    guarded = BlockRealize(realize.iter_values, predicate, realize.block)
    realize, inner = joined_splits(guarded, inner_loops(index, realize, around))
    outer = {f.loop_var: Range(f.min, f.extent) for f in around}
    written, inner = realized(write.regions[0], realize), {**inner, **write.loops}
    known = Analyzer(outer)
    if (
        _leaves_no_gaps(realize, write, {**inner, **outer})
        and _is_dense(written, inner, outer)
        and (is_hull or holds(hull_of(written, inner, known), hull_of(box, {}, known), known))
    ):
        return HOLDS
    needed = Elements(Instances(realize.block.name, {}, in_range(outer)), (box,))
    return contains(_elements(realize, inner, write, outer), needed)


def _guarded_write(block: Block, buffer: Buffer) -> tuple[_Access | None, Expr]:
    """The guaranteed write of the block under a condition, and that condition. The condition comes from a single nested block."""
    write, inner = _sure_write(block, buffer), block.body
    if write is not None or not isinstance(inner, BlockRealize):
        return write, build.TRUE
    found, condition = _guarded_write(inner.block, buffer)
    if found is None:
        return None, build.TRUE
    bindings = dict(zip((iv.var for iv in inner.block.iter_vars), inner.iter_values, strict=True))
    regions = tuple(realized(r, inner) for r in found.regions)
    return _Access(regions, found.loops), build.logical_and(inner.predicate, substitute(condition, bindings))


class _Access(msgspec.Struct, frozen=True, eq=False):
    """Regions in terms of a block's iterators, and the loops of its body that the regions still depend on."""

    regions: tuple[BufferRegion, ...]
    loops: Ranges


def _sure_write(block: Block, buffer: Buffer) -> _Access | None:
    """The guaranteed write of each run of the block to `buffer`; None if it may write nothing, or several regions.

    T.writes is an upper bound. A single element counts as written if a store under no branch exists; for a larger region, the elements of a
    plain store in loops count. Declared writes of inner blocks, matched buffers and intrinsics are trusted.
    """
    regions = [w for w in block.writes if w.buffer is buffer]
    if len(regions) != 1:
        return None
    found = _find_store(block.body, buffer, {})
    is_point = all(build.is_const(r.extent, 1) for r in regions[0].region)
    if is_point and found is not None:
        return _Access((regions[0],), {})
    viewed = any(m.source.buffer is buffer for m in block.match_buffers)
    return _Access((regions[0],), {}) if viewed or buffer in addressed_buffers(block.body) else found


def _find_store(stmt: Stmt, buffer: Buffer, loops: Ranges) -> _Access | None:
    """The first unconditional store to `buffer`, or the first unconditional block that writes it."""
    match stmt:
        case BufferStore() if stmt.buffer is buffer and not _has_gaps(stmt):
            return _Access((BufferRegion(buffer, tuple(build.point(i) for i in stmt.indices)),), loops)
        case BlockRealize() if build.is_true(stmt.predicate):
            inner = _sure_write(stmt.block, buffer)
            if inner is None:
                return None
            return _Access(tuple(realized(r, stmt) for r in inner.regions), {**loops, **inner.loops})
        case SeqStmt():
            return next((a for s in stmt.seq if (a := _find_store(s, buffer, loops)) is not None), None)
        case For() if has_iterations(stmt.extent, loops):
            return _find_store(stmt.body, buffer, {**loops, stmt.loop_var: Range(stmt.min, stmt.extent)})
        case LaunchThread(var=var, extent=extent, body=body):
            return _find_store(build.serial(var, extent, body), buffer, loops)
        case AssertStmt() | AttrStmt():
            return _find_store(stmt.body, buffer, loops)
        case LetStmt():
            return _find_store(substitute(stmt.body, {stmt.var: stmt.value}), buffer, loops)
        case _:
            return None


def _has_gaps(store: BufferStore) -> bool:
    """Whether the store writes a vector with a stride other than 1."""
    last = store.indices[-1] if store.indices else None
    return isinstance(last, Ramp) and not build.is_const(last.stride, 1)


def _covers(
    index: ProgramIndex,
    producer: BlockRealize,
    write: _Access,
    consumer: BlockRealize,
    read: _Access,
    *,
    whole: bool,
    dense: Callable[[BufferRegion, Ranges, Ranges], bool],
) -> bool:
    """Whether the written box contains the read box (including parts outside of the buffer, if `whole`) and has no gaps according to
    `dense`."""
    common = common_loops(index, producer, consumer)
    producer, own = joined_splits(producer, inner_loops(index, producer, common))
    outer = {f.loop_var: Range(f.min, f.extent) for f in common}
    inner = {**own, **write.loops}
    if not _leaves_no_gaps(producer, write, {**inner, **outer}, build.conjuncts(consumer.predicate), whole=whole):
        return False
    written = realized(write.regions[0], producer)
    known, limits = Analyzer(outer), None if whole else written.buffer.shape
    if not dense(written, inner, outer):
        return False
    made = hull_of(written, inner, known)
    if limits is not None and holds_all(made, limits, known):
        return True
    consumer, theirs = joined_splits(consumer, inner_loops(index, consumer, common))
    running = {**theirs, **read.loops}
    return all(holds(made, hull_of(realized(r, consumer), running, known), known, limits) for r in read.regions)


def _contains(
    index: ProgramIndex, producer: BlockRealize, write: _Access, consumer: BlockRealize, read: _Access, *, whole: bool
) -> Decision:
    """The exact decision of `_covers`."""
    common = common_loops(index, producer, consumer)
    outer = {f.loop_var: Range(f.min, f.extent) for f in common}
    written, needed = (
        _elements(*joined_splits(realize, inner_loops(index, realize, common)), access, outer)
        for realize, access in ((producer, write), (consumer, read))
    )
    return contains(written, needed, None if whole else write.regions[0].buffer.shape)


def _elements(realize: BlockRealize, loops: Ranges, access: _Access, outer: Ranges) -> Elements:
    regions = tuple(realized(r, realize) for r in access.regions)
    return Elements(Instances.of(realize, {**loops, **access.loops}, outer), regions)


def _leaves_no_gaps(
    realize: BlockRealize, write: _Access, ranges: Ranges, known: Sequence[Expr] = (), *, whole: bool = False
) -> bool:
    """Whether every element in the range of the block's loops is written: iterations excluded by the predicate lie outside of the buffer.
    With `whole`, the predicate must exclude nothing.

    `known` are conditions that hold wherever the element is read.
    """
    if build.is_true(realize.predicate):
        return True
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    for term in build.conjuncts(realize.predicate):
        given = prove(term, ranges) or _is_implied(term, ranges) or any(structural_equal(term, k) for k in known)
        if not given and (
            whole or not any(_is_guard(term, iv, v) and _ends_with(term, iv, write, pairs) for iv, v in pairs)
        ):
            return False
    return True


def _is_implied(term: Expr, ranges: Ranges) -> bool:
    """Whether a bound holds because a loop with a symbolic extent ends there: `i + start < end`, with `end - start` iterations."""
    if not isinstance(term, LT):
        return False
    gap = linear(build.sub(term.b, term.a))
    for atom, factor in () if gap is None else gap.terms:
        loop = ranges.get(atom) if isinstance(atom, Var) else None
        if gap is None or not isinstance(atom, Var) or any(a is not atom and uses_var(a, atom) for a, _ in gap.terms):
            continue
        if factor < 0 and loop is not None and build.int_value(loop.extent) is None:
            last = build.sub(build.add(loop.min, loop.extent), 1)
            return prove(substitute(term, {atom: last}), ranges)
    return False


def _ends_with(term: Expr, iter_var: IterVar, write: _Access, pairs: Sequence[tuple[IterVar, Expr]]) -> bool:
    """Whether all iterator values beyond the end of the domain that the term guards would index outside of the buffer."""
    region, var, dom = write.regions[0], iter_var.var, iter_var.dom
    beyond = Var("beyond", var.dtype)
    ranges = {iv.var: iv.dom for iv, _ in pairs} | {**write.loops, beyond: build.make_range(0, _FAR)}
    axes = list(zip(region.region, region.buffer.shape, strict=True))
    if isinstance(simplify(term), LT):
        after = build.add(build.add(dom.min, dom.extent), beyond)
        return any(prove(build.ge(substitute(r.min, {var: after}), size), ranges) for r, size in axes)
    before = build.sub(build.sub(dom.min, 1), beyond)
    return any(prove(build.le(build.add(substitute(r.min, {var: before}), r.extent), 0), ranges) for r, _ in axes)


_FAR = 1 << 20
"""The tested distance beyond an iterator's domain: larger than any loop extent."""


def only_guards_domain(realize: BlockRealize) -> bool:
    """Whether the predicate only excludes iterations with iterators outside of their domain, as uneven splits do."""
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    return all(any(_is_guard(term, iv, value) for iv, value in pairs) for term in build.conjuncts(realize.predicate))


def _is_guard(term: Expr, iter_var: IterVar, value: Expr) -> bool:
    """Whether the term bounds the iterator to its domain."""
    low, end = iter_var.dom.min, build.add(iter_var.dom.min, iter_var.dom.extent)
    term = simplify(term)
    bounds = (build.lt(value, end), build.ge(value, low), build.le(low, value))
    return any(structural_equal(term, simplify(b)) for b in bounds)


def common_loops(index: ProgramIndex, first: BlockRealize, second: BlockRealize) -> list[For]:
    around = set(index.loops_above(second))
    return [f for f in index.loops_above(first) if f in around]


def inner_loops(index: ProgramIndex, realize: BlockRealize, common: Sequence[For]) -> dict[Var, Range]:
    return {f.loop_var: Range(f.min, f.extent) for f in index.loops_above(realize) if f not in common}


def touched_box(
    index: ProgramIndex, realize: BlockRealize, buffer: Buffer, common: Sequence[For], *, writes: bool
) -> BufferRegion | None:
    """The hull of the block's accesses to `buffer` in one iteration of the `common` loops."""
    regions = [r for r in (realize.block.writes if writes else realize.block.reads) if r.buffer is buffer]
    if not regions:
        return None
    loops = inner_loops(index, realize, common)
    if len(regions) == 1 and not loops:
        return realized(regions[0], realize)
    outer = {f.loop_var: Range(f.min, f.extent) for f in common}
    return hull([realized(r, realize) for r in regions], loops, outer)


def _is_dense(region: BufferRegion, inner: Ranges, outer: Ranges) -> bool:
    """Whether the `inner` loops write every element of the box."""
    if _is_dense_by_axis(region, inner, outer) or _is_dense_by_digits(region, inner):
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


def _is_dense_by_axis(region: BufferRegion, inner: Ranges, _outer: Ranges) -> bool:
    """Whether each axis uses separate loops, in steps that leave no gap (mixed radix)."""
    used: set[Var] = set()
    for axis in region.region:
        form, width = linear(axis.min), build.int_value(axis.extent)
        if form is None or width is None:
            return False
        steps: list[tuple[int, int | None]] = []
        for atom, factor in form.terms:
            if free_vars(atom).isdisjoint(inner):
                continue
            if not isinstance(atom, Var) or atom in used or not _is_own_range(inner[atom], inner):
                return False
            used.add(atom)
            steps.append((abs(factor), build.int_value(inner[atom].extent)))
        reach: int | None = width
        for factor, trips in sorted(steps, key=lambda step: step[0]):
            if reach is None or factor > reach:
                return False
            reach = None if trips is None else reach + factor * (trips - 1)
    return True


def _is_own_range(loop: Range, inner: Ranges) -> bool:
    """Whether the loop's range is independent of the other loops."""
    return not (free_vars(loop.min) | free_vars(loop.extent)) & inner.keys()


def _is_dense_by_digits(region: BufferRegion, inner: Ranges) -> bool:
    """Whether each axis uses complete digits of the inner loops (`i // 4 % 8`) that no other axis uses, as fused loops do."""
    values = [without_outer(axis.min, inner) for axis in region.region if build.is_const(axis.extent, 1)]
    if len(values) < len(region.region):
        return False
    used = {v: r for v, r in inner.items() if any(value is not None and uses_var(value, v) for value in values)}
    found = None if None in values else detect_iter_map([v for v in values if v is not None], used)
    if found is None or not all(s.compact for s in found.sums):
        return False
    parts = [p for s in found.sums for p in s.parts]
    if any(p.fused is not None or p.extent is None for p in parts):
        return False
    for key in {p.key for p in parts}:
        reach = 1
        for part in sorted((p for p in parts if p.key == key), key=lambda p: p.lower):
            if part.lower % reach:
                return False
            reach = part.lower * (part.extent or 1)
    return True
