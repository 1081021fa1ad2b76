"""What a block reads and writes, for programs that leave T.reads or T.writes out (TVM's GetBlockAccessRegion)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    LetStmt,
    MatchBufferRegion,
    Node,
    Range,
    Var,
    build,
    children,
    substitute,
)
from .affine import Hull, Linear, hull, join

Box = list[Hull | None]


class _Accesses:
    """Boxes by buffer, in the order of the first access."""

    def __init__(self) -> None:
        self.boxes: dict[Buffer, Box] = {}

    def add(self, buffer: Buffer, box: Box) -> None:
        known = self.boxes.get(buffer)
        if known is None:
            self.boxes[buffer] = box
        else:
            self.boxes[buffer] = [None if a is None or b is None else join(a, b) for a, b in zip(known, box, strict=True)]

    def regions(self) -> list[BufferRegion]:
        return [BufferRegion(buffer, tuple(map(_cover, box, buffer.shape))) for buffer, box in self.boxes.items()]


def _cover(bounds: Hull | None, size: Expr) -> Range:
    if bounds is None:
        return Range(build.const(0, size.dtype), size)
    low, high = build.match_dtypes(*bounds)
    extent = Linear.of(high).plus(Linear.of(low), -1)
    extent.constant += 1
    return Range(low, extent.expr(low.dtype))


class _Detector:
    """Walks the body of one block. Blocks inside count by their signature."""

    def __init__(self, match_buffers: Sequence[MatchBufferRegion]) -> None:
        self.reads = _Accesses()
        self.writes = _Accesses()
        self.loops: dict[Var, Hull] = {}
        self.lets: dict[Var, Expr] = {}
        self.matched = {match.buffer: match.source for match in match_buffers}

    def visit(self, node: Node) -> None:
        match node:
            case BufferLoad():
                self._point(self.reads, node.buffer, node.indices)
            case BufferStore():
                self._point(self.writes, node.buffer, node.indices)
                for child in (node.value, *node.indices):
                    self.visit(child)
                return
            case For():
                return self._loop(node)
            case LetStmt():
                self.visit(node.value)
                self.lets[node.var] = substitute(node.value, self.lets)
                self.visit(node.body)
                del self.lets[node.var]
                return
            case IfThenElse():
                pass
            case BlockRealize():
                return self._nested(node)
            case Buffer():
                return
            case _:
                pass
        for child in children(node):
            self.visit(child)

    def _loop(self, loop: For) -> None:
        for child in (loop.min, loop.extent):
            self.visit(child)
        last = Linear.of(loop.min).plus(Linear.of(loop.extent))
        last.constant -= 1
        self.loops[loop.loop_var] = (loop.min, last.expr(loop.loop_var.dtype))
        self.visit(loop.body)
        del self.loops[loop.loop_var]

    def _nested(self, realize: BlockRealize) -> None:
        values = dict(zip((i.var for i in realize.block.iter_vars), realize.iter_values, strict=True))
        for found, regions in (self.reads, realize.block.reads), (self.writes, realize.block.writes):
            for region in regions:
                box = [self._range(substitute(r, values)) for r in region.region]
                self._add(found, region.buffer, box)

    def _point(self, found: _Accesses, buffer: Buffer, indices: Sequence[Expr]) -> None:
        self._add(found, buffer, [hull(substitute(i, self.lets), self.loops) for i in indices])

    def _range(self, r: Range) -> Hull | None:
        first = hull(r.min, self.loops)
        end = Linear.of(r.min).plus(Linear.of(r.extent))
        end.constant -= 1
        last = hull(end.expr(r.min.dtype), self.loops)
        return None if first is None or last is None else (first[0], last[1])

    def _add(self, found: _Accesses, buffer: Buffer, box: Box) -> None:
        source = self.matched.get(buffer)
        if source is not None:
            buffer, box = source.buffer, [self._range(r) for r in source.region]
        found.add(buffer, box)


def detect_regions(block: Block, known: Collection[Buffer]) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """The reads and writes of `block` to buffers in `known` (those that exist outside of it), hulls over its inner loops.

    With an init, what is written is not listed as read, as in TVM.
    """
    detector = _Detector(block.match_buffers)
    for part in (block.init, block.body):
        if part is not None:
            detector.visit(part)
    writes = [w for w in detector.writes.regions() if w.buffer in known]
    written = {w.buffer for w in writes} if block.init is not None else set[Buffer]()
    reads = [r for r in detector.reads.regions() if r.buffer in known and r.buffer not in written]
    return tuple(reads), tuple(writes)
