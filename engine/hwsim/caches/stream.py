"""Memory accesses of a program, in order: byte addresses from layouts and strides, computed for whole loop nests at once by NumPy.

An access is one element read or written. For a statement, the unconditional reads are first, left to right, each element once; then the
reads that a condition chooses; then the write. Only the chosen side of a choice is read. A compiler does the same with the code of
`export.to_c(accesses="exact")`. The init of a reduction is a write like others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace as replace_fields

from ...arith import Analyzer, linear
from ...ir import (
    And,
    BinaryOp,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Expr,
    Let,
    Not,
    Or,
    Predicate,
    Select,
    Var,
    build,
    structural_equal,
    substitute,
    walk,
)
from ...ir import dtype as dt
from ..errors import refuse
from ..tasks.geometry import flat_form
from ..tasks.grid import UnknownValueError, Values, values
from ..tasks.nest import AllocationSite, ComputeBlock, Loop, LoopNode, Nest, NestNode, Piece

Guard = tuple[Expr, ...]


class Event(msgspec.Struct, frozen=True, eq=False):
    """One access in a statement of the `leaf`-th leaf, in each iteration of `loops` for which all `guards` hold.

    `place` is its offset in elements from the buffer's base; with `turn`, slots rotate over that loop.
    """

    number: int
    leaf: int
    block: str
    buffer: Buffer
    place: Expr
    written: bool
    loops: tuple[Loop, ...]
    guards: Guard = ()
    turn: Var | None = None
    slots: int = 1


class StreamLoop(msgspec.Struct, frozen=True, eq=False):
    loop: Loop
    children: tuple[StreamNode, ...]
    volume: int
    """Accesses in one iteration, if every condition holds."""


StreamNode = StreamLoop | Event


def volume_of(node: StreamNode) -> int:
    """Returns the accesses of a node, if every condition holds."""
    return node.volume * node.loop.extent if isinstance(node, StreamLoop) else 1


Bytes = npt.NDArray[np.int64]


class Batch(msgspec.Struct, frozen=True, eq=False):
    """Accesses in order: byte addresses, the event of each, and the row of the batch's loops in which it happened."""

    address: Bytes
    event: npt.NDArray[np.int32]
    row: Bytes


class LoopSpan(msgspec.Struct, frozen=True, eq=False):
    """A loop of a batch: `count` iterations from `start`."""

    loop: Loop
    start: int
    count: int


class Stream(msgspec.Struct, frozen=True, eq=False):
    """A program's accesses to the buffers that have a base, as a tree that is evaluated in batches. `bytes_of` is the size of a buffer with
    all its slots.
    """

    nodes: tuple[StreamNode, ...]
    events: tuple[Event, ...]
    bases: dict[Buffer, int]
    bytes_of: dict[Buffer, int]

    def bytes_of_element(self, buffer: Buffer) -> int:
        return dt.size_bytes(buffer.dtype)

    def batch(self, nodes: Sequence[StreamNode], spans: Sequence[LoopSpan], fixed: Mapping[Var, int]) -> Batch:
        """Returns all accesses of `nodes` while the loops of `spans`, outermost first, run; those around them are at `fixed`."""
        address, event, row = self._table(nodes, spans, fixed)
        flat = address.reshape(-1)
        made = flat >= 0
        return Batch(flat[made], event.reshape(-1)[made], row.reshape(-1)[made])

    def _table(
        self, nodes: Sequence[StreamNode], spans: Sequence[LoopSpan], fixed: Mapping[Var, int]
    ) -> tuple[Bytes, npt.NDArray[np.int32], Bytes]:
        """Returns one row for each iteration of the spans, one column for each access in it; -1 for an access that does not happen."""
        rows = prod(s.count for s in spans)
        columns: list[tuple[Bytes, npt.NDArray[np.int32], Bytes]] = []
        over: dict[Var, Values | int] | None = None
        for node in nodes:
            if isinstance(node, StreamLoop):
                inner = (*spans, LoopSpan(node.loop, 0, node.loop.extent))
                address, event, row = self._table(node.children, inner, fixed)
                columns.append((address.reshape(rows, -1), event.reshape(rows, -1), row.reshape(rows, -1)))
                continue
            if over is None:
                over = {**fixed, **_axes(spans)}
            found = self._addresses(node, over, [s.count for s in spans])
            which = np.full((rows, 1), node.number, np.int32)
            columns.append((found.reshape(rows, 1), which, np.arange(rows, dtype=np.int64).reshape(rows, 1)))
        if len(columns) == 1:
            return columns[0]
        if not columns:
            return np.zeros((rows, 0), np.int64), np.zeros((rows, 0), np.int32), np.zeros((rows, 0), np.int64)
        return (
            np.concatenate([c[0] for c in columns], axis=1),
            np.concatenate([c[1] for c in columns], axis=1),
            np.concatenate([c[2] for c in columns], axis=1),
        )

    def _addresses(self, event: Event, over: Mapping[Var, Values | int], shape: Sequence[int]) -> Bytes:
        size = dt.size_bytes(event.buffer.dtype)
        address = known(event, event.place, over) * size + self.bases[event.buffer]
        if event.turn is not None:
            slot = np.asarray(over[event.turn], np.int64) % event.slots
            address = address + slot * (self.bytes_of[event.buffer] // event.slots)
        for guard in event.guards:
            address = np.where(known(event, guard, over) != 0, address, np.int64(-1))
        return np.broadcast_to(address, tuple(shape))


def _axes(spans: Sequence[LoopSpan]) -> dict[Var, Values | int]:
    found: dict[Var, Values | int] = {}
    for n, span in enumerate(spans):
        shape = [span.count if i == n else 1 for i in range(len(spans))]
        found[span.loop.var] = np.arange(span.start, span.start + span.count, dtype=np.int64).reshape(shape)
    return found


# Addresses are known before the program runs.
def known(event: Event, expr: Expr, over: Mapping[Var, Values | int]) -> Values:
    try:
        return values(expr, over)
    except UnknownValueError:
        message = (
            f"the addresses of {event.buffer.name!r} in block {event.block!r} depend on data, so cache hits are unknown"
        )
        expected = "indices and conditions over loop variables"
        raise refuse("data-dependent", message, event.buffer, expected=expected) from None


def read_stream(nest: Nest, kept: Mapping[Buffer, int] | None = None, *, align: int = 64) -> Stream:
    """Returns the stream of a nest whose inits are lowered. `kept` has the buffers to include, with the base address of each; by default
    all, one behind the other at multiples of `align`.
    """
    sites = {s.buffer: s for s in nest.sites}
    sizes = {b: _bytes(s) for b, s in sites.items()}
    bases = dict(kept) if kept is not None else one_after_another(list(sites), sizes, align)
    reader = _Reader(nest, sites, set(bases))
    nodes = reader.nodes(nest.children, ())
    return Stream(tuple(nodes), tuple(reader.events), bases, sizes)


def one_after_another(buffers: Sequence[Buffer], sizes: Mapping[Buffer, int], align: int) -> dict[Buffer, int]:
    found: dict[Buffer, int] = {}
    end = 0
    for buffer in buffers:
        found[buffer] = end
        end = -(-(end + sizes[buffer]) // align) * align
    return found


def _bytes(site: AllocationSite) -> int:
    """Returns the bytes of a buffer with all its slots."""
    buffer = site.buffer
    extents = [build.int_value(e) for e in buffer.shape]
    strides = [build.int_value(s) for s in buffer.strides]
    numbers = [e for e in extents if e is not None]
    steps = [s for s in strides if s is not None]
    if len(numbers) < len(extents) or len(steps) < len(strides):
        raise refuse(
            "symbolic-shape", f"the size of buffer {buffer.name!r} is unknown", buffer, expected="a constant shape"
        )
    spread = sum((e - 1) * s for e, s in zip(numbers, steps, strict=True)) + 1 if steps else prod(numbers)
    slots = 1 if site.indexed else site.slots
    if slots > 1 and steps:
        spread = steps[0] * numbers[0]  # as `lower` makes slots
    return spread * dt.size_bytes(buffer.dtype) * slots


class _Reader:
    def __init__(self, nest: Nest, sites: Mapping[Buffer, AllocationSite], kept: set[Buffer]) -> None:
        self.analyzer: Analyzer = nest.analyzer
        self.sites, self.kept = sites, kept
        self.events: list[Event] = []
        self.leaves = 0

    def nodes(self, children: Sequence[NestNode], loops: tuple[Loop, ...]) -> list[StreamNode]:
        found: list[StreamNode] = []
        for child in children:
            if isinstance(child, LoopNode):
                inner = self.nodes(child.children, (*loops, child.loop))
                if inner:
                    found.append(_loop(child.loop, inner))
            else:
                found += self.leaf(child, loops)
        return found

    def leaf(self, leaf: ComputeBlock, loops: tuple[Loop, ...]) -> list[StreamNode]:
        number = self.leaves
        self.leaves += 1
        return self.pieces(leaf, number, leaf.pieces, loops, 0)

    def pieces(
        self, leaf: ComputeBlock, number: int, pieces: Sequence[Piece], loops: tuple[Loop, ...], depth: int
    ) -> list[StreamNode]:
        """Returns the accesses of pieces; consecutive pieces that share a loop at this depth run in it together."""
        found: list[StreamNode] = []
        at = 0
        while at < len(pieces):
            piece = pieces[at]
            if len(piece.loops) == depth:
                found += self.accesses(piece, number, leaf.block.name, loops)
                at += 1
                continue
            loop, end = piece.loops[depth], at
            while end < len(pieces) and len(pieces[end].loops) > depth and pieces[end].loops[depth] is loop:
                end += 1
            inner = self.pieces(leaf, number, pieces[at:end], (*loops, loop), depth + 1)
            if inner:
                found.append(_loop(loop, inner))
            at = end
        return found

    def accesses(self, piece: Piece, leaf: int, block: str, loops: tuple[Loop, ...]) -> list[StreamNode]:
        store = piece.store
        if store is None:
            if any(region.buffer in self.kept for region, _ in piece.touches):
                raise refuse("opaque-access", f"the element accesses of block {block!r} are unknown",
                             expected="loads and stores of single elements")  # fmt: skip
            return []
        # As `lower` simplifies it: a term that cancels is not read.
        reads = list(_reads((self.analyzer.simplify(store.value), *store.indices)))
        found: list[Event] = []
        sure: list[Event] = []
        for load, guards in (*(r for r in reads if not r[1]), *(r for r in reads if r[1])):
            event = self.event(load.buffer, load.indices, (*piece.conditions, *guards), leaf, block, loops, False)
            if event is not None and not any(_same(event, e) for e in sure):
                found.append(event)
                if not guards:
                    sure.append(event)
        written = self.event(store.buffer, store.indices, piece.conditions, leaf, block, loops, True)
        made = found if written is None else [*found, written]
        numbered = [replace_fields(e, number=len(self.events) + n) for n, e in enumerate(made)]
        self.events += numbered
        return list(numbered)

    def event(
        self,
        buffer: Buffer,
        indices: Sequence[Expr],
        guards: Guard,
        leaf: int,
        block: str,
        loops: tuple[Loop, ...],
        written: bool,
    ) -> Event | None:
        if buffer not in self.kept:
            return None
        site = self.sites[buffer]
        form = flat_form(replace_fields(buffer, axis_separators=()), indices, self.analyzer)
        place = self.analyzer.expr(form, indices[0].dtype if indices else "int32")
        if buffer.elem_offset is not None:
            place = build.add(place, buffer.elem_offset)
        turns = site.slots > 1 and not site.indexed and site.slot_loop is not None
        turn, slots = (site.slot_loop.var, site.slots) if turns and site.slot_loop is not None else (None, 1)
        return Event(0, leaf, block, buffer, place, written, loops, guards, turn, slots)


def _loop(loop: Loop, children: Sequence[StreamNode]) -> StreamLoop:
    return StreamLoop(loop, tuple(children), sum(map(volume_of, children)))


def _same(a: Event, b: Event) -> bool:
    return a.buffer is b.buffer and structural_equal(a.place, b.place)


def _reads(exprs: Sequence[Expr], guards: Guard = ()) -> Iterator[tuple[BufferLoad, Guard]]:
    """Yields the loads of expressions in the order of evaluation, each with the conditions that it depends on."""
    for expr in exprs:
        match expr:
            case BufferLoad(indices=indices):
                yield from _reads(indices, guards)
                yield expr, guards
            case Select(condition=condition, true_value=yes, false_value=no):
                yield from _chosen(condition, yes, no, guards)
            case Call(op="if_then_else", args=(condition, yes, no)):
                yield from _chosen(condition, yes, no, guards)
            case And(a=a, b=b):
                yield from _reads((a,), guards)
                yield from _reads((b,), (*guards, a))
            case Or(a=a, b=b):
                yield from _reads((a,), guards)
                yield from _reads((b,), (*guards, build.logical_not(a)))
            case BinaryOp(a=a, b=b) | Predicate(a=a, b=b):
                yield from _reads((a, b), guards)
            case Not(a=a) | Cast(value=a):
                yield from _reads((a,), guards)
            case Let(var=var, value=value, body=body):
                yield from _reads((substitute(body, {var: value}),), guards)
            case Call(args=args):
                yield from _reads(args, guards)
            case _:
                pass


def _chosen(condition: Expr, yes: Expr, no: Expr, guards: Guard) -> Iterator[tuple[BufferLoad, Guard]]:
    yield from _reads((condition,), guards)
    yield from _reads((yes,), (*guards, condition))
    yield from _reads((no,), (*guards, build.logical_not(condition)))


def step_of(event: Event, loop: Loop) -> int | None:
    """Returns the elements by which the access moves with each iteration of a loop, if it happens; None if that is not constant."""
    if event.turn is loop.var:
        return None
    form = linear(event.place)
    if form is None:
        return None
    step = 0
    for atom, factor in form.terms:
        if atom is loop.var:
            step = factor
        elif any(n is loop.var for n in walk(atom)):
            return None
    return step
