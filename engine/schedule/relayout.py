"""Layout change of a buffer: applies the index map to every use, simplified with the ranges of the iterators around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from msgspec.structs import replace as replace_fields

from ..analysis import accessed_regions
from ..arith import simplify
from ..ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IndexMap,
    IntImm,
    MatchBufferRegion,
    Max,
    Min,
    Node,
    PrimFunc,
    Range,
    Var,
    build,
    map_children,
    walk,
)

N = TypeVar("N", bound=Node)


def relaid(func: PrimFunc, old: Buffer, new: Buffer, index_map: IndexMap) -> PrimFunc:
    """`func` with `new` in place of `old`: element [i, j] of `old` is at index_map(i, j) of `new`. Requires that views are of single
    elements or that the map keeps all indices."""
    return _Relayout(old, new, index_map).visit(func, {})


def keeps_indices(index_map: IndexMap) -> bool:
    """Whether the map leaves the indices unchanged and only sets separators."""
    return index_map.indices == index_map.params


Regions = tuple[BufferRegion, ...]


class _Relayout:
    """A rewriter of every use of `old`."""

    def __init__(self, old: Buffer, new: Buffer, index_map: IndexMap) -> None:
        self.old = old
        self.new = new
        self.index_map = index_map
        self._views: dict[Buffer, Buffer] = {}
        self._moved: dict[tuple[Expr, ...], tuple[Mapping[Var, Range], tuple[Expr, ...]]] = {}

    def visit(self, node: N, ranges: Mapping[Var, Range]) -> N:
        """`node` after the change; the same object if the buffer does not occur."""
        return cast("N", self._visit(node, ranges))

    def _visit(self, node: Node, ranges: Mapping[Var, Range]) -> Node:
        if type(node) is Var or type(node) is IntImm:
            return node
        if node is self.old:
            return self.new
        if isinstance(node, Buffer):
            return self._views.get(node, node)
        if isinstance(node, For):
            ranges = {**ranges, node.loop_var: Range(node.min, node.extent)}
        elif isinstance(node, Block):
            return self._block(node, {**ranges, **{iv.var: iv.dom for iv in node.iter_vars}})
        done = map_children(node, lambda child: self._visit(child, ranges))
        if isinstance(node, BufferLoad | BufferStore) and node.buffer is self.old:
            assert isinstance(done, BufferLoad | BufferStore)
            done = replace_fields(done, indices=self._indices(done.indices, ranges))
        return done

    def _indices(self, old: tuple[Expr, ...], ranges: Mapping[Var, Range]) -> tuple[Expr, ...]:
        """The indices in the new layout; cached, because the accesses of a block have common indices."""
        known = self._moved.get(old)
        if known is None or known[0] is not ranges:
            known = self._moved[old] = ranges, tuple(_simplified(i, ranges) for i in self.index_map.apply(old))
        return known[1]

    def _block(self, block: Block, ranges: Mapping[Var, Range]) -> Block:
        """The block with its body rewritten and its regions of the buffer recomputed from the new body."""
        matches = tuple(self._match(m, ranges) for m in block.match_buffers)
        body = self.visit(block.body, ranges)
        init = None if block.init is None else self.visit(block.init, ranges)
        touched = [r.buffer for r in (*block.reads, *block.writes)]
        viewed = any(a is not b for a, b in zip(matches, block.match_buffers, strict=True))
        unchanged = body is block.body and init is block.init and not viewed
        if unchanged and not any(b is self.old for b in (*touched, *block.alloc_buffers)):
            return block
        owned = tuple(self.new if b is self.old else b for b in block.alloc_buffers)
        done = replace_fields(block, body=body, init=init, alloc_buffers=owned, match_buffers=matches)
        if not any(b is self.old or b in self._views for b in touched):
            return done
        reads, writes = accessed_regions(done)
        return replace_fields(
            done,
            reads=self._regions(block.reads, reads, ranges),
            writes=self._regions(block.writes, writes, ranges),
        )

    def _match(self, match: MatchBufferRegion, ranges: Mapping[Var, Range]) -> MatchBufferRegion:
        """The match over the new layout if it is a view of the buffer, directly or indirectly; otherwise with its region rewritten."""
        source = self.visit(match.source, ranges)
        if source is match.source:
            return match
        if source.buffer is match.source.buffer:
            return MatchBufferRegion(match.buffer, source)
        view = self._views[match.buffer] = _view(match.buffer, self.new)
        if match.source.buffer is self.old and not keeps_indices(self.index_map):
            at = self.index_map.apply([r.min for r in source.region])
            source = BufferRegion(self.new, tuple(build.point(_simplified(i, ranges)) for i in at))
        return MatchBufferRegion(view, source)

    def _regions(self, before: Regions, found: Regions, ranges: Mapping[Var, Range]) -> Regions:
        mine = next((r for r in found if r.buffer is self.new), build.full_region(self.new))
        return tuple(mine if r.buffer is self.old else self.visit(r, ranges) for r in before)


def _view(view: Buffer, new: Buffer) -> Buffer:
    """A view of the new buffer: it has the new separators if it has the same number of axes, otherwise none."""
    return replace_fields(view, axis_separators=new.axis_separators if len(view.shape) == len(new.shape) else ())


def _simplified(index: Expr, ranges: Mapping[Var, Range]) -> Expr:
    """The index simplified as in TVM: sums use the iterators' ranges; clamps and plain iterators stay unchanged, as do divisions of an
    iterator that is shorter than its divisor."""
    index = simplify(index)
    if isinstance(index, Var) or any(isinstance(node, Min | Max) for node in walk(index)):
        return index
    short = {node.a for node in walk(index) if isinstance(node, FloorDiv | FloorMod) and _is_short(node, ranges)}
    return simplify(index, {v: r for v, r in ranges.items() if v not in short})


def _is_short(division: FloorDiv | FloorMod, ranges: Mapping[Var, Range]) -> bool:
    known = ranges.get(division.a) if isinstance(division.a, Var) else None
    extent, divisor = build.int_value(known and known.extent), build.int_value(division.b)
    return extent is not None and divisor is not None and extent < divisor
