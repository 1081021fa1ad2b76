"""Accesses in the iteration space of the producer, where accesses that a layout scatters over the buffer's axes are boxes again.

Example: a block writes `B[k // 64 % 2, m, k % 64]`; another reads the same with its own `k` and `m`. The axes of B do not reveal how the
two accesses relate, but in the space of (m, k) each is a box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..arith import bounds, inverse, prove_equal
from ..ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferRegion,
    Expr,
    For,
    IndexMap,
    LaunchThread,
    Node,
    Ramp,
    Range,
    Var,
    build,
    children,
    structural_equal,
    substitute,
    walk,
)


class PulledBack(msgspec.Struct, frozen=True, eq=False):
    """Regions of an imaginary buffer with one axis for each iterator of the producer. `loops` run inside of the consumer's body.

    `fills`: the producer's iterators reach every element of the true buffer, so reads past the ends of the imaginary buffer are also
    outside of the true one.
    """

    written: BufferRegion
    read: tuple[BufferRegion, ...]
    loops: Mapping[Var, Range]
    fills: bool


def pull_back(producer: Block, consumer: Block, buffer: Buffer) -> PulledBack | None:
    """The producer's writes and the consumer's reads of `buffer`, as points in the space of the producer's iterators.

    None if the producer does not write exactly one element per iteration, or if a read has no known origin.
    """
    writes = [w for w in producer.writes if w.buffer is buffer]
    if len(writes) != 1 or not all(build.is_const(r.extent, 1) for r in writes[0].region):
        return None
    written = [r.min for r in writes[0].region]
    used = {n for e in written for n in walk(e) if isinstance(n, Var)}
    iters = [iv for iv in producer.iter_vars if iv.var in used]
    if len(iters) != len(used) or any(iv.iter_type != "spatial" for iv in iters):
        return None
    space = Buffer(buffer.name, tuple(iv.dom.extent for iv in iters))
    loads = _Loads(buffer)
    loads.visit(consumer)
    ranges = {iv.var: iv.dom for iv in (*producer.iter_vars, *consumer.iter_vars)} | loads.loops
    trace = _Trace(buffer, written, {iv.var: iv.dom for iv in iters}, ranges)
    read: list[BufferRegion] = []
    for indices in loads.found:
        origin = trace.origin(indices)
        if origin is None:
            return None
        read.append(BufferRegion(space, tuple(build.point(e) for e in origin)))
    if loads.is_nested or not read:
        return None
    points = tuple(build.point(iv.var) for iv in iters)
    return PulledBack(BufferRegion(space, points), tuple(read), loads.loops, trace.fills)


class _Loads:
    """The indices of all loads of a buffer in a block, and the loops of its body. `is_nested`: other names may hide more loads."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.found: list[tuple[Expr, ...]] = []
        self.loops: dict[Var, Range] = {}
        self.is_nested = False

    def visit(self, block: Block) -> None:
        self.is_nested = any(m.source.buffer is self.buffer for m in block.match_buffers)
        for part in (block.init, block.body):
            if part is not None:
                self._visit(part)

    def _visit(self, node: Node) -> None:
        match node:
            case For():
                self.loops[node.loop_var] = Range(node.min, node.extent)
            case Block():
                self.is_nested = True
            case LaunchThread():
                self.loops[node.var] = build.make_range(0, node.extent)
            case BufferLoad(indices=(*_, Ramp())) if node.buffer is self.buffer:
                self.is_nested = True
            case BufferLoad() if node.buffer is self.buffer:
                self.found.append(node.indices)
            case _:
                pass
        for child in children(node):
            self._visit(child)


class _Trace:
    """A map from indices of the buffer to the producer's iteration that writes the element."""

    def __init__(
        self, buffer: Buffer, written: Sequence[Expr], iters: Mapping[Var, Range], ranges: Mapping[Var, Range]
    ) -> None:
        self.written = written
        self.iters = iters
        self.ranges = ranges
        self.back = inverse(IndexMap(tuple(iters), tuple(written)), tuple(iters.values())) if iters else None
        self.fills = self.back is not None and all(map(self._reaches_all, written, buffer.shape))

    def origin(self, indices: Sequence[Expr]) -> tuple[Expr, ...] | None:
        """The values of the iterators, or None."""
        found: dict[Var, Expr] = {}
        for pattern, index in zip(self.written, indices, strict=True):
            self._match(pattern, index, found)
        if len(found) == len(self.iters) and all(
            prove_equal(substitute(pattern, found), index, self.ranges)
            for pattern, index in zip(self.written, indices, strict=True)
        ):
            return tuple(found[v] for v in self.iters)
        if self.back is None or not (self.fills or all(map(self._is_met, self.written, indices))):
            return None
        return self.back.apply(indices)

    def _reaches_all(self, pattern: Expr, extent: Expr) -> bool:
        if isinstance(pattern, Var) and pattern in self.iters:
            dom = self.iters[pattern]
            return build.is_const(dom.min, 0) and prove_equal(dom.extent, extent)
        reached = bounds(pattern, self.iters)
        return reached.low == 0 and reached.high is not None and build.is_const(extent, reached.high + 1)

    def _is_met(self, pattern: Expr, index: Expr) -> bool:
        """Whether the pattern's range contains the index; the inverse map is valid only there."""
        reached, read = bounds(pattern, self.iters), bounds(index, self.ranges)
        if reached.low is None or reached.high is None or read.low is None or read.high is None:
            return structural_equal(pattern, index)
        return reached.low <= read.low and read.high <= reached.high

    def _match(self, pattern: Expr, index: Expr, found: dict[Var, Expr]) -> None:
        """Guess values by walking both expressions in step; `origin` checks them."""
        if isinstance(pattern, Var):
            if pattern in self.iters:
                found.setdefault(pattern, index)
        elif type(pattern) is type(index):
            for a, b in zip(children(pattern), children(index), strict=False):
                if isinstance(a, Expr) and isinstance(b, Expr):
                    self._match(a, b, found)
