"""What a statement touches: the hull, per buffer, of all accesses as the loops inside of the statement run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..arith import bounds, interval, simplify
from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    Node,
    Not,
    Range,
    Stmt,
    Var,
    build,
    children,
    substitute,
    walk,
)
from ..ir import dtype as dt

Regions = tuple[BufferRegion, ...]


def accessed_regions(stmt: Stmt) -> tuple[Regions, Regions]:
    """The (reads, writes) of `stmt`, one region a buffer in order of first access; for blocks whose T.reads or T.writes were left out.

    A buffer that a reduction block updates at the indices it writes is not among its reads, as in TVM.
    """
    found = _Accesses()
    found.visit(stmt, {})
    return found.regions(found.reads), found.regions(found.writes)


def hull(
    regions: Sequence[BufferRegion],
    relaxed: Mapping[Var, Range],
    ranges: Mapping[Var, Range],
    conditions: Sequence[Expr] = (),
) -> BufferRegion:
    """The smallest box known to contain all `regions` (of one buffer) as the `relaxed` variables run.

    Only iterations in which the `conditions` hold count. An axis that cannot be bounded is whole.
    """
    buffer = regions[0].buffer
    axes: list[Range] = []
    limits = [limit for c in conditions for limit in _at_most_zero(c)]
    for axis, extent in enumerate(buffer.shape):
        parts = [_relax(r.region[axis], relaxed, ranges, limits) for r in regions]
        axes.append(
            _union([p for p in parts if p is not None], ranges) if None not in parts else build.make_range(0, extent)
        )
    return BufferRegion(buffer, tuple(axes))


def realized(region: BufferRegion, realize: BlockRealize) -> BufferRegion:
    """A region of a block with the iterators replaced by what the realize binds them to."""
    values = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
    return BufferRegion(region.buffer, tuple(substitute(r, values) for r in region.region))


def _relax(
    axis: Range, relaxed: Mapping[Var, Range], ranges: Mapping[Var, Range], limits: Sequence[Expr]
) -> Range | None:
    last = axis.min if build.is_const(axis.extent, 1) else build.sub(build.add(axis.min, axis.extent), 1)
    low = interval(axis.min, relaxed, ranges)
    high = low if last is axis.min else interval(last, relaxed, ranges)
    start, end = (None if low is None else low.min), (None if high is None else high.max)
    for limit in limits:
        # Where `limit` is at most 0, `last` is at most `last - limit`, and `axis.min` at least `axis.min + limit`.
        end = _tighter(start, end, _without(build.sub(last, limit), relaxed, ranges), ranges)
        start = _tighter(start, end, _without(build.add(axis.min, limit), relaxed, ranges), ranges, lower=True)
    if start is None or end is None:
        return None
    return Range(start, simplify(build.add(build.sub(end, start), 1), ranges))


def _without(expr: Expr, relaxed: Mapping[Var, Range], ranges: Mapping[Var, Range]) -> Expr | None:
    """`expr` simplified, when the relaxed variables cancel out."""
    expr = simplify(expr, {**ranges, **relaxed})
    return None if any(node in relaxed for node in walk(expr)) else expr


def _tighter(
    start: Expr | None, end: Expr | None, other: Expr | None, ranges: Mapping[Var, Range], *, lower: bool = False
) -> Expr | None:
    """`other` for `end` (or `start`, when `lower`) where the distance is then surely smaller; else the old one."""
    old = start if lower else end
    if other is None or start is None or end is None:
        return other if old is None else old
    width = bounds(build.sub(end, start), ranges).high
    new = bounds(build.sub(end, other) if lower else build.sub(other, start), ranges).high
    return other if new is not None and (width is None or new < width) else old


def _at_most_zero(condition: Expr) -> list[Expr]:
    """Expressions that are at most 0 where the comparison `condition` holds; none for other conditions."""
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


def _union(parts: Iterable[Range], ranges: Mapping[Var, Range]) -> Range:
    low: Expr | None = None
    high: Expr | None = None
    for part in parts:
        end = build.add(part.min, part.extent)
        low = part.min if low is None else build.minimum(low, part.min)
        high = end if high is None else build.maximum(high, end)
    assert low is not None and high is not None
    low = simplify(low, ranges)
    return Range(low, simplify(build.sub(high, low), ranges))


class _Accesses:
    """Collects accesses with the loops around them."""

    def __init__(self) -> None:
        self.reads: list[tuple[BufferRegion, dict[Var, Range]]] = []
        self.writes: list[tuple[BufferRegion, dict[Var, Range]]] = []

    def visit(self, node: Node, loops: dict[Var, Range]) -> None:
        match node:
            case For():
                loops = {**loops, node.loop_var: Range(node.min, node.extent)}
            case BufferLoad():
                self.reads.append((_point(node.buffer, node.indices), loops))
            case BufferStore():
                self.writes.append((_point(node.buffer, node.indices), loops))
            case BlockRealize():
                own = set(node.block.alloc_buffers)
                self.reads.extend((realized(r, node), loops) for r in node.block.reads if r.buffer not in own)
                self.writes.extend((realized(w, node), loops) for w in node.block.writes if w.buffer not in own)
                return
            case Block():
                inner = _Accesses()
                inner.visit(node.body, loops)
                if node.init is not None:
                    inner.visit(node.init, loops)
                    written = {w.buffer for w, _ in inner.writes}
                    inner.reads = [a for a in inner.reads if a[0].buffer not in written]
                self.reads.extend(inner.reads)
                self.writes.extend(inner.writes)
                return
            case _:
                pass
        for child in children(node):
            self.visit(child, loops)

    @staticmethod
    def regions(found: list[tuple[BufferRegion, dict[Var, Range]]]) -> Regions:
        by_buffer: dict[Buffer, list[tuple[BufferRegion, dict[Var, Range]]]] = {}
        for region, loops in found:
            by_buffer.setdefault(region.buffer, []).append((region, loops))
        result: list[BufferRegion] = []
        for accesses in by_buffer.values():
            relaxed = [hull([region], loops, {}) for region, loops in accesses]
            result.append(relaxed[0] if len(relaxed) == 1 else hull(relaxed, {}, {}))
        return tuple(result)


def _point(buffer: Buffer, indices: tuple[Expr, ...]) -> BufferRegion:
    return BufferRegion(buffer, tuple(build.point(i) for i in indices))
