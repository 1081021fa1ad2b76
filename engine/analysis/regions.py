"""Accessed regions of a statement: the hull, per buffer, of all accesses as the loops inside of the statement run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import msgspec

from ..arith import Analyzer, Relaxer
from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Allocate,
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    FloatImm,
    For,
    IntImm,
    LaunchThread,
    Let,
    LetStmt,
    Node,
    Not,
    Range,
    Select,
    Stmt,
    Var,
    build,
    children,
    free_vars,
    structural_equal,
    substitute,
    walk,
)
from ..ir import dtype as dt

N = TypeVar("N", bound=Node)
Regions = tuple[BufferRegion, ...]

Guard = tuple[Expr, bool]
"""A condition, and whether it holds where the access happens."""


def accessed_regions(stmt: Stmt) -> tuple[Regions, Regions]:
    """The (reads, writes) of `stmt`, one region per buffer in order of first access; for blocks without T.reads or T.writes.

    Same rules as TVM's GetBlockAccessRegion: regions span the loops inside, nested blocks count by their declared reads and writes, a block
    with an init does not list its writes as reads, buffers allocated inside are omitted, and a matched buffer counts as its source. An
    index without a known hull gives the whole axis. Conditions do not narrow a region. A buffer with its address in use counts as read and
    written as a whole (TVM refuses to find regions for it), or as `T.tvm_access_ptr` declares.
    """
    inner, found = _Accesses(), _Accesses()
    inner.visit(stmt, _Context())
    found.take(inner, set())
    return found.regions(found.reads), found.regions(found.writes)


def hull(
    regions: Sequence[BufferRegion],
    relaxed: Mapping[Var, Range],
    ranges: Mapping[Var, Range],
    conditions: Sequence[Expr] = (),
) -> BufferRegion:
    """The smallest box known to contain all `regions` (of one buffer) as the `relaxed` variables run.

    Only iterations in which the `conditions` hold count. An axis without known bounds is whole.
    """
    return hull_over(Relaxer(relaxed, Analyzer(ranges)), regions, conditions)


def hull_over(known: Relaxer, regions: Sequence[BufferRegion], conditions: Sequence[Expr] = ()) -> BufferRegion:
    """Same as `hull`, with a relaxer that several calls share."""
    buffer = regions[0].buffer
    limits = [limit for c in conditions for limit in _at_most_zero(c)]
    axes: list[Range] = []
    for axis, extent in enumerate(buffer.shape):
        parts = [_relax(r.region[axis], known, limits) for r in regions]
        spans = [p for p in parts if p is not None]
        axes.append(_union(spans, known.stay) if len(spans) == len(parts) else build.make_range(0, extent))
    return BufferRegion(buffer, tuple(axes))


def realized(region: BufferRegion, realize: BlockRealize) -> BufferRegion:
    """A region of a block with the iterators replaced by their bindings."""
    values = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
    return BufferRegion(region.buffer, tuple(substitute(r, values) for r in region.region))


def _relax(axis: Range, known: Relaxer, limits: Sequence[Expr]) -> Range | None:
    if not limits:
        return known.around(axis)
    last = axis.min if build.is_const(axis.extent, 1) else build.sub(build.add(axis.min, axis.extent), 1)
    low = known.interval(axis.min)
    high = low if last is axis.min else known.interval(last)
    start, end = (None if low is None else low.min), (None if high is None else high.max)
    for limit in limits:
        # Where `limit` is at most 0, `last` is at most `last - limit`, and `axis.min` at least `axis.min + limit`.
        end = _tighter(start, end, _without(build.sub(last, limit), known), known)
        start = _tighter(start, end, _without(build.add(axis.min, limit), known), known, lower=True)
    if start is None or end is None:
        return None
    return Range(start, known.stay.simplify(build.add(build.sub(end, start), 1)))


def _without(expr: Expr, known: Relaxer) -> Expr | None:
    """`expr` simplified, if the relaxed variables cancel out; otherwise None."""
    expr = known.all.simplify(expr)
    return None if any(node in known.relaxed for node in walk(expr)) else expr


def _tighter(
    start: Expr | None, end: Expr | None, other: Expr | None, known: Relaxer, *, lower: bool = False
) -> Expr | None:
    """`other` in place of `end` (or `start`, if `lower`) if the distance is then provably smaller; otherwise the old one."""
    old = start if lower else end
    if other is None or start is None or end is None:
        return other if old is None else old
    width = known.stay.bounds(build.sub(end, start)).high
    new = known.stay.bounds(build.sub(end, other) if lower else build.sub(other, start)).high
    return other if new is not None and (width is None or new < width) else old


def _at_most_zero(condition: Expr) -> list[Expr]:
    """Expressions that are at most 0 if the comparison `condition` holds; none for other conditions."""
    negated = isinstance(condition, Not)
    inner = condition.a if isinstance(condition, Not) else condition
    if not isinstance(inner, LT | LE | GT | GE | EQ | NE) or not dt.is_int(inner.a.dtype):
        return []
    up, down = build.sub(inner.a, inner.b), build.sub(inner.b, inner.a)
    match inner, negated:
        case (LT(), False) | (GE(), True):
            return [build.add(up, 1)]
        case (LE(), False) | (GT(), True):
            return [up]
        case (GT(), False) | (LE(), True):
            return [build.add(down, 1)]
        case (GE(), False) | (LT(), True):
            return [down]
        case (EQ(), False) | (NE(), True):
            return [up, down]
        case _:
            return []


def _union(parts: Sequence[Range], known: Analyzer) -> Range:
    if len(parts) == 1:
        return parts[0]
    low = _farthest([part.min for part in parts], known, build.minimum)
    high = _farthest([build.add(part.min, part.extent) for part in parts], known, build.maximum)
    low = known.simplify(low)
    return Range(low, known.simplify(build.sub(high, low)))


def _farthest(ends: Sequence[Expr], known: Analyzer, choose: Callable[[Expr, Expr], Expr]) -> Expr:
    """The least (or largest) of the ends, decided directly for ends with a constant distance."""
    found = ends[0]
    for end in ends[1:]:
        gap = known.form(found).plus(known.form(end), -1)
        if gap.digits:
            found = choose(found, end)
        elif (gap.constant > 0) == (choose is build.minimum):
            found = end
    return found


class _Context(msgspec.Struct, frozen=True):
    """The context of an access: the loops around it and the names bound to values. `known` finds hulls over the loops."""

    loops: Mapping[Var, Range] = {}
    lets: Mapping[Var, Expr] = {}
    known: Relaxer | None = None

    def under(self, loop: For) -> _Context:
        loops = {**self.loops, loop.loop_var: self.bound(Range(loop.min, loop.extent))}
        return _Context(loops, self.lets, Relaxer(loops, Analyzer()))

    def binding(self, var: Var, value: Expr) -> _Context:
        return _Context(self.loops, {**self.lets, var: substitute(value, self.lets)}, self.known)

    def bound(self, node: N) -> N:
        return substitute(node, self.lets)


_LEAVES = frozenset((Var, IntImm, FloatImm, Buffer))
_RELEVANT = frozenset(
    (For, LaunchThread, Call, BufferData, BufferLoad, BufferStore, BlockRealize, Block, LetStmt, Let, Allocate)
)
"""Classes of nodes that access memory or change the context, looked up because most nodes are arithmetic."""


class _Accesses:
    """A collector of the accessed boxes, as the loops inside run."""

    def __init__(self) -> None:
        self.reads: list[BufferRegion] = []
        self.writes: list[BufferRegion] = []

    def visit(self, node: Node, context: _Context) -> None:
        if type(node) in _LEAVES:
            return
        if type(node) not in _RELEVANT:
            for child in children(node):
                self.visit(child, context)
            return
        match node:
            case For():
                context = context.under(node)
            case LaunchThread():
                self.visit(build.serial(node.var, node.extent, node.body), context)
                return
            case Call(op="tvm_access_ptr", args=(_, BufferData(buffer=buffer), *others, IntImm(value=mask))) if (
                mask in (1, 2)
            ):
                (self.reads if mask == 1 else self.writes).append(build.full_region(buffer))
                for part in others:
                    self.visit(part, context)
                return
            case BufferData(buffer=buffer) | Call(op="address_of", args=(BufferLoad(buffer=buffer), *_)):
                self.reads.append(build.full_region(buffer))
                self.writes.append(build.full_region(buffer))
            case BufferLoad():
                self.reads.append(_relaxed(_point(node.buffer, node.indices), context))
            case BufferStore():
                self.writes.append(_relaxed(_point(node.buffer, node.indices), context))
            case BlockRealize():
                self.reads.extend(_relaxed(realized(r, node), context) for r in node.block.reads)
                self.writes.extend(_relaxed(realized(w, node), context) for w in node.block.writes)
                return
            case Block():
                self._block(node, context)
                return
            case LetStmt() | Let():
                self.visit(node.value, context)
                self.visit(node.body, context.binding(node.var, node.value))
                return
            case Allocate():
                inner = _Accesses()
                inner.visit(node.body, context)
                self.take(inner, set(node.buffers))
                return
            case _:
                pass
        for child in children(node):
            self.visit(child, context)

    def _block(self, block: Block, context: _Context) -> None:
        inner = _Accesses()
        if block.init is not None:
            inner.visit(block.init, context)
        inner.visit(block.body, context)
        sources = {match.buffer: match.source for match in block.match_buffers}
        inner.reads = [_relaxed(_in_source(r, sources), context) for r in inner.reads]
        inner.writes = [_relaxed(_in_source(w, sources), context) for w in inner.writes]
        if block.init is not None:
            written = {w.buffer for w in inner.writes}
            inner.reads = [r for r in inner.reads if r.buffer not in written]
        self.take(inner, set(block.alloc_buffers))

    def take(self, inner: _Accesses, local: Collection[Buffer]) -> None:
        """Add all accesses of a statement except those to its local buffers. Contents of buffers that it writes are unknown outside."""
        changing = {*local, *(w.buffer for w in inner.writes)}
        self.reads.extend(_known_outside(r, changing) for r in inner.reads if r.buffer not in local)
        self.writes.extend(_known_outside(w, changing) for w in inner.writes if w.buffer not in local)

    @staticmethod
    def regions(found: list[BufferRegion]) -> Regions:
        by_buffer: dict[Buffer, list[BufferRegion]] = {}
        for region in found:
            by_buffer.setdefault(region.buffer, []).append(region)
        return tuple(_joined(regions) for regions in by_buffer.values())


def _point(buffer: Buffer, indices: tuple[Expr, ...]) -> BufferRegion:
    return BufferRegion(buffer, tuple(build.point(i) for i in indices))


def _known_outside(region: BufferRegion, changing: Collection[Buffer]) -> BufferRegion:
    """The region with whole axes for those whose position depends on a buffer that changes."""
    loads = [_loads(axis, changing) for axis in region.region]
    if not any(loads):
        return region
    axes = zip(region.region, region.buffer.shape, loads, strict=True)
    return BufferRegion(region.buffer, tuple(build.make_range(0, size) if load else axis for axis, size, load in axes))


def _loads(axis: Range, changing: Collection[Buffer]) -> bool:
    """Whether an axis depends on the contents of one of these buffers."""
    if type(axis.min) in _LEAVES and type(axis.extent) in _LEAVES:
        return False
    return any(type(n) is BufferLoad and n.buffer in changing for n in walk(axis))


def _relaxed(region: BufferRegion, context: _Context) -> BufferRegion:
    """The region as the loops of `context` run; axes that do not depend on them stay unchanged."""
    if context.known is None and not context.lets:
        return region
    if context.known is None:
        return BufferRegion(region.buffer, tuple(map(context.bound, region.region)))
    axes: list[Range] = []
    for axis, size in zip(map(context.bound, region.region), region.buffer.shape, strict=True):
        if not free_vars(axis).isdisjoint(context.loops):
            axis = context.known.around(axis)
            axis = build.make_range(0, size) if axis is None else _inside(axis, size)
        axes.append(axis)
    return BufferRegion(region.buffer, tuple(axes))


def _joined(regions: Sequence[BufferRegion]) -> BufferRegion:
    """The box around all `regions` of one buffer."""
    axes: list[Range] = []
    for axis in range(len(regions[0].region)):
        parts: list[Range] = []
        for region in regions:
            if not any(structural_equal(region.region[axis], known) for known in parts):
                parts.append(region.region[axis])
        size = regions[0].buffer.shape[axis]
        axes.append(parts[0] if len(parts) == 1 else _inside(_union(parts, Analyzer()), size))
    return BufferRegion(regions[0].buffer, tuple(axes))


def _inside(axis: Range, size: Expr) -> Range:
    """The part of an axis within a buffer of this `size`: conditions exclude the elements beyond it."""
    known, low = Analyzer(), axis.min
    end, last = build.add(low, axis.extent), build.cast(size, low.dtype)
    first, past = known.bounds(low), known.bounds(build.sub(end, last))
    if first.high is not None and first.high <= 0 and first.low != 0:
        low = build.const(0, low.dtype)
    if past.low is not None and past.low >= 0 and past.high != 0:
        end = last
    if low is axis.min and end is not last:
        return axis
    extent = known.simplify(build.sub(end, low))
    least = known.bounds(extent).low
    return axis if least is None or least <= 0 else Range(low, extent)


def _in_source(region: BufferRegion, sources: Mapping[Buffer, BufferRegion]) -> BufferRegion:
    """A region of a matched buffer as a region of its source: the last axes are shifted, the axes before them kept."""
    source = sources.get(region.buffer)
    if source is None:
        return region
    before = len(source.region) - len(region.region)
    shifted = [
        Range(build.add(outer.min, axis.min), axis.extent)
        for outer, axis in zip(source.region[before:], region.region, strict=True)
    ]
    return BufferRegion(source.buffer, (*source.region[:before], *shifted))


def loads_of(value: Expr) -> list[tuple[BufferLoad, tuple[Guard, ...]]]:
    """The loads of a value, each with the conditions under which it happens."""
    found: list[tuple[BufferLoad, tuple[Guard, ...]]] = []
    _collect(value, (), found)
    return found


def _collect(value: Expr, guards: tuple[Guard, ...], found: list[tuple[BufferLoad, tuple[Guard, ...]]]) -> None:
    if isinstance(value, BufferLoad):
        found.append((value, guards))
    choice = branches(value)
    if choice is None:
        for child in children(value):
            if isinstance(child, Expr):
                _collect(child, guards, found)
        return
    condition, then, other = choice
    _collect(condition, guards, found)
    _collect(then, (*guards, (condition, True)), found)
    _collect(other, (*guards, (condition, False)), found)


def branches(value: Expr) -> tuple[Expr, Expr, Expr] | None:
    """The condition of a choice and its two values; None for another value."""
    if isinstance(value, Select):
        return value.condition, value.true_value, value.false_value
    if isinstance(value, Call) and value.op == "if_then_else":
        condition, then, other = value.args
        return condition, then, other
    return None
