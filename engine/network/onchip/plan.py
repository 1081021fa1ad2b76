"""The plan of tensors in on-chip memory: their addresses from the producer to the last consumer, and the copies of weights and inputs.

A tensor that a call of the inference produces is on chip from that call to the last one that reads it. Any other tensor is copied there
during the call before its first reader. The rest of each call's buffers is one region beside them; no region or tensor exceeds the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import msgspec

from ...arith import simplify
from ...hwsim import Machine, Memory, row_name
from ...hwsim.access.allocation import Chunk, ChunkSpot, allocate
from ...ir import Graph, GraphTensor, KernelCall, Refusal, TilewrightError, build, free_vars, substitute
from ...ir import dtype as dt
from .programs import CallVariant, Scopes
from .transfers import Transfer


class PlannedTensor(msgspec.Struct, frozen=True, eq=False):
    """A tensor on chip during calls `first` to `last` (positions in the graph), at byte `address` of the memory `row`.

    `copied` says that the calls of an inference do not produce it: it is copied from the largest memory during call `first`, or before it
    if that is the first one and reads it.
    """

    tensor: GraphTensor
    scope: str
    row: str
    address: int
    bytes: int
    first: int
    last: int
    copied: bool


class PlannedCall(msgspec.Struct, frozen=True):
    """The use of one memory row during a call: bytes of its own buffers and of tensors on chip, the end of the highest address, and the
    capacity."""

    call: int
    row: str
    own_bytes: int
    tensor_bytes: int
    peak_bytes: int
    capacity_bytes: int


class OnChipPlan(msgspec.Struct, frozen=True, eq=False):
    """Tensors in on-chip memory, the use of their memories during each call in which they are there, and the copies. `waits` are the cycles
    between the end of a call and the begin of the next one, by the position of the latter."""

    tensors: tuple[PlannedTensor, ...] = ()
    calls: tuple[PlannedCall, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    waits: Mapping[int, int] = {}

    @property
    def wait_cycles(self) -> int:
        return sum(self.waits.values())


class Resident(msgspec.Struct, frozen=True, eq=False):
    """A tensor that a choice puts on chip, with the calls of its lifetime, before it has an address. `readers` are the calls that read
    it."""

    tensor: GraphTensor
    scope: str
    memory: Memory
    bytes: int
    first: int
    last: int
    copied: bool
    readers: tuple[int, ...]

    @property
    def block(self) -> int:
        return self.memory.block_of(self.scope) or 0

    @property
    def row(self) -> str:
        return row_name(self.memory, self.block)


def planned_tensors(
    graph: Graph, running: Sequence[int], machine: Machine, choice: Mapping[str, str], sizes: Mapping[str, int]
) -> tuple[Resident, ...]:
    """Return the tensors of a choice (scopes by name of the tensor), with their lifetimes. `running` are the calls of an inference in
    order.

    Raises TilewrightError "unknown-tensor", "unknown-scope", "whole-memory" for a scope that leaves the physical block open,
    "not-on-chip" for the largest memory, results of the model, and tensors that are stored in others.
    """
    known = {t.name: t for call in graph.calls for t in (*call.arguments, *call.results)}
    found: list[Resident] = []
    for name, scope in choice.items():
        tensor = known.get(name)
        if tensor is None:
            raise _refuse("unknown-tensor", f"on_chip names {name}, which no call of the model reads or writes")
        memory = _require_scope(machine, name, scope)
        _require_inner(graph, tensor)
        found.append(_resident(graph, running, tensor, scope, memory, sizes))
    return tuple(found)


def _resident(
    graph: Graph, running: Sequence[int], tensor: GraphTensor, scope: str, memory: Memory, sizes: Mapping[str, int]
) -> Resident:
    readers = tuple(at for at in running if tensor in graph.calls[at].arguments)
    producer = next((at for at in running if tensor in graph.calls[at].results), None)
    size = prod(_extents(tensor, sizes)) * dt.size_bytes(tensor.dtype)
    if producer is not None:
        return Resident(tensor, scope, memory, size, producer, max(readers, default=producer), False, readers)
    if not readers:
        raise _refuse("unknown-tensor", f"on_chip names {tensor.name}, which no call of an inference reads")
    place = running.index(readers[0])
    return Resident(tensor, scope, memory, size, running[max(0, place - 1)], readers[-1], True, readers)


def _extents(tensor: GraphTensor, sizes: Mapping[str, int]) -> list[int]:
    found: list[int] = []
    for extent in tensor.shape:
        variables = {v: build.const(sizes[v.name], v.dtype) for v in free_vars(extent)}
        value = build.int_value(simplify(substitute(extent, variables)))
        assert value is not None, "an extent of numbers alone is a number"
        found.append(value)
    return found


# A choice names a scope of a memory, and its physical block if it has several.
def _require_scope(machine: Machine, name: str, scope: str) -> Memory:
    memory = machine.find_memory(scope)
    inner = [m for m in machine.memories if m is not machine.far]
    known = ", ".join(s for m in inner for s in (m.block_scopes if m.blocks > 1 else m.scopes))
    if memory is None:
        raise _refuse("unknown-scope", f"{machine.name} has no memory for the scope {scope!r} of {name}", known)
    if memory is machine.far:
        raise _refuse("not-on-chip", f"{name} is in the largest memory, {memory.name}, without on_chip", known)
    if memory.blocks > 1 and memory.block_of(scope) is None:
        message = f"the scope {scope!r} of {name} leaves open in which physical block of {memory.name} it is"
        raise _refuse("whole-memory", message, ", ".join(memory.block_scopes) or "a scope of one physical block")
    return memory


# Results of the model belong to the caller; a tensor that shares its memory with another has no lifetime of its own.
def _require_inner(graph: Graph, tensor: GraphTensor) -> None:
    if tensor in graph.results:
        raise _refuse(
            "not-on-chip", f"{tensor.name} is a result of the model, which the caller reads in the largest memory"
        )
    for call in graph.calls:
        stored = {call.arguments[at] for at in call.in_place if at >= 0}
        stored |= {r for r, at in zip(call.results, call.in_place, strict=False) if at >= 0}
        if tensor in stored:
            raise _refuse(
                "not-on-chip", f"{tensor.name} is stored in place by {call.kernel}", "a tensor with memory of its own"
            )


def scopes_of(call: KernelCall, residents: Sequence[Resident]) -> Scopes:
    """Return the parameters of a call's program that are tensors on chip, by position."""
    scopes = {r.tensor: r.scope for r in residents}
    fresh = [t for n, t in enumerate(call.results) if not call.in_place or call.in_place[n] < 0]
    return tuple((n, scopes[t]) for n, t in enumerate((*call.arguments, *fresh)) if t in scopes)


def allocated(
    residents: Sequence[Resident], running: Sequence[int], variants: Mapping[int, CallVariant], graph: Graph
) -> tuple[tuple[PlannedTensor, ...], tuple[PlannedCall, ...]]:
    """Return the tensors with their addresses, and the use of their memories. `variants` are the programs of the calls, by position.

    Raises TilewrightError "capacity-overflow" with the call in which a memory is too small.
    """
    tensors: list[PlannedTensor] = []
    calls: list[PlannedCall] = []
    for memory in dict.fromkeys(r.memory for r in residents):
        here = [r for r in residents if r.memory is memory]
        inside = [at for at in running if any(r.first <= at <= r.last for r in here)]
        kept = {at: [n for n, _ in scopes_of(graph.calls[at], here)] for at in inside}
        own = {at: _own_bytes(variants[at], kept[at], memory) for at in inside}
        regions = {(at, block): size for at, sizes in own.items() for block, size in sizes.items()}
        chunks = [Chunk(r.bytes, r.first, r.last, r.block) for r in here]
        chunks += [Chunk(size, at, at, block) for (at, block), size in regions.items() if size]
        room = memory.capacity_bytes // memory.blocks
        spots = allocate(chunks, memory.blocks, room, memory.alignment_bytes)
        _require_room(chunks, spots, here, graph, room)
        tensors += [
            PlannedTensor(r.tensor, r.scope, r.row, spot.address, r.bytes, r.first, r.last, r.copied)
            for r, spot in zip(here, spots, strict=False)
        ]
        for at in inside:
            calls += [_planned_call(at, block, memory, chunks, spots, len(here)) for block in range(memory.blocks)]
    return tuple(tensors), tuple(calls)


def _planned_call(
    at: int, block: int, memory: Memory, chunks: Sequence[Chunk], spots: Sequence[ChunkSpot], tensors: int
) -> PlannedCall:
    live = [(c, s, n < tensors) for n, (c, s) in enumerate(zip(chunks, spots, strict=True)) if c.first <= at <= c.last]
    live = [row for row in live if row[1].block == block]
    return PlannedCall(
        at,
        row_name(memory, block),
        sum(c.size_bytes for c, _, is_tensor in live if not is_tensor),
        sum(c.size_bytes for c, _, is_tensor in live if is_tensor),
        max((s.address + c.size_bytes for c, s, _ in live), default=0),
        memory.capacity_bytes // memory.blocks,
    )


def _own_bytes(variant: CallVariant, kept: Sequence[int], memory: Memory) -> dict[int, int]:
    """The region of a call's own buffers in each physical block, without the parameters in `kept`: from their lowest to their highest
    address."""
    if variant.report is None:
        return {}
    ends: dict[int, tuple[int, int]] = {}
    names = {variant.program.buffers[at].name for at in kept}
    for placement in variant.report.segments.program.places.placements:
        if placement.memory.name != memory.name or (placement.is_param and placement.buffer.name in names):
            continue
        for block, address in zip(placement.banks, placement.addresses, strict=True):
            low, high = ends.get(block, (address, address))
            ends[block] = min(low, address), max(high, address + placement.part_bytes)
    return {block: high - low for block, (low, high) in ends.items()}


# A tensor on chip never makes a memory overflow.
def _require_room(
    chunks: Sequence[Chunk], spots: Sequence[ChunkSpot], here: Sequence[Resident], graph: Graph, room: int
) -> None:
    for chunk, spot in zip(chunks, spots, strict=True):
        end = spot.address + chunk.size_bytes
        if end > room:
            live = [r for r in here if r.block == spot.block and r.first <= chunk.last and chunk.first <= r.last]
            if not live:
                continue  # The kernel itself does not fit, which its report says.
            words = " and ".join(r.tensor.name for r in live)
            message = f"{words} and the buffers of call {chunk.first} ({graph.calls[chunk.first].kernel}) do not fit in {live[0].row}"
            raise _refuse("capacity-overflow", message, f"at most {room:,} B", f"{end:,} B")


def _refuse(code: str, message: str, expected: str = "", found: str = "") -> TilewrightError:
    return TilewrightError(Refusal(code, message, expected=expected, found=found))


__all__ = ["OnChipPlan", "PlannedCall", "PlannedTensor", "Resident", "allocated", "planned_tensors", "scopes_of"]
