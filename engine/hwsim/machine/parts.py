"""Parts of machines: memories, engines of each kind, caches and buses, as values with parameters in whole cycles and bytes.

This module is the only description of the keys of a machine file: docs/machine-file.md and the tooltips of the app's parameters are
generated from it.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

MOST = 1 << 48
"""Upper limit on cycles and bytes of one part: quantities that programs derive from them are kept in 64 bits."""

MOST_BANKS = 1 << 12
MOST_CACHED = 1 << 32
"""Limits on the banks of a memory and the bytes of a cache: the simulator tracks each bank and each cache line."""

Positive = Annotated[int, Meta(ge=1, le=MOST)]
Natural = Annotated[int, Meta(ge=0, le=MOST)]
Energy = Annotated[float, Meta(ge=0)]
Sources = tuple[tuple[str, str], ...]


def says(text: str) -> Meta:
    """Annotates a key with its description, a sentence or two."""
    return Meta(description=text)


def meanings(part: type[msgspec.Struct]) -> dict[str, str]:
    """Returns the description of each key of a part, or of the machine."""
    return {field.name: _told(field.type) for field in msgspec.structs.fields(part)}


def _told(hint: object) -> str:
    told = (note.description for note in get_args(hint)[1:] if isinstance(note, Meta))
    return next(filter(None, told), "")


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory: it holds the buffers of some storage scopes; engines read and write it through its ports."""

    name: str
    scopes: Annotated[tuple[str, ...], says("The storage scopes whose buffers live here. A scope is one memory's.")]
    capacity_bytes: Annotated[Positive, says("How much it holds; a multiple of `banks`.")]
    read_bytes_per_cycle: Annotated[Positive, says("How wide the port is that reads go through.")]
    write_bytes_per_cycle: Annotated[Positive, says("How wide the port is that writes go through.")]
    ports: Annotated[
        Literal["separate", "shared"],
        says("Whether reads and writes have a port each, or both go through one, as wide as reads are."),
    ] = "separate"
    banks: Annotated[
        int, Meta(ge=1, le=MOST_BANKS), says("Equal parts of the capacity. What one is, `mapping` says.")
    ] = 1
    mapping: Annotated[
        Literal["block", "interleave"],
        says(
            'With "block" each bank is a contiguous range of addresses, a physical block that buffers are placed in and that is '
            'filled and used independently of the others; with "interleave" consecutive rows go round all banks.'
        ),
    ] = "block"
    interleave_bytes: Annotated[
        Natural, says('The row of a bank: so many bytes go to one before the next. Needed by "interleave".')
    ] = 0
    bank_groups: Annotated[
        Natural,
        says(
            "Rows go round so many groups, each with its ports; the banks of a group follow each other in its addresses, and each "
            "is read or written in a cycle, not both. 0: no groups."
        ),
    ] = 0
    bank_ports: Annotated[
        Positive, says("Rows that a bank reads and writes each cycle (together, where ports are shared).")
    ] = 1
    broadcast: Annotated[bool, says("Whether lanes of a vector that want the same row are served at once.")] = True
    phase_bytes: Annotated[
        Natural, says("A vector of more bytes is served in phases of so many, one after the other. 0: all at once.")
    ] = 0
    latency_cycles: Annotated[
        Natural,
        says(
            "From the end of a copy until its data is there (of the two memories the slower counts), and what a line of a cache in "
            "front of it waits. The latencies of other engines include it."
        ),
    ] = 0
    burst_bytes: Annotated[
        Positive,
        says(
            "The least that moves: transfers are rounded up to whole bursts, and engines on one port take turns by them."
        ),
    ] = 1
    energy_pj_per_byte: Annotated[Energy, says("What a byte read or written takes.")] = 0.0
    block_scopes: Annotated[
        tuple[str, ...], says("Scopes of single physical blocks: buffers of the i-th live in the i-th block.")
    ] = ()
    source: Sources = ()

    @property
    def scope(self) -> str:
        """The scope that names the memory in reports."""
        return self.scopes[0]

    @property
    def blocks(self) -> int:
        """The number of physical blocks that a buffer can be placed in: the banks, if each is a range of addresses."""
        return self.banks if self.mapping == "block" else 1

    def block_of(self, scope: str) -> int | None:
        """Returns the number of the physical block that a scope names; None for a scope of the whole memory."""
        return self.block_scopes.index(scope) if scope in self.block_scopes else None


class AnyEngine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys that all engines share.

    A task occupies its engine for `setup_cycles` plus the duration of its work; its result is available `latency_cycles` later. Tasks are
    issued in program order.
    """

    name: str
    reads: Annotated[tuple[str, ...], says("The memories that it takes operands from, by name.")]
    writes: Annotated[tuple[str, ...], says("The memories that it puts results into, by name.")]
    setup_cycles: Annotated[Natural, says("What each task takes before its work begins.")] = 0
    latency_cycles: Annotated[Natural, says("From the end of a task's work until its result is there.")] = 0
    queue_tasks: Annotated[
        Positive, says("So many tasks may wait in front of it; while a queue is full, no task is issued to any engine.")
    ] = 8
    unit: Annotated[
        str,
        says("Engines of one unit are one piece of hardware: with one queue, they work in turn, in program order."),
    ] = ""
    source: Sources = ()


class DmaEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="dma"):
    """Copies between memories by descriptors, each of which costs the set-up."""

    bytes_per_cycle: Annotated[Positive, says("The most that it copies.")]
    dimensions: Annotated[
        Natural,
        says("Dimensions of a descriptor, the first of them a contiguous run. 0: as many as a copy takes."),
    ] = 0


PASSES = "The width it is made for: wider elements take ceil(width / element_bytes)² passes."
PER_OPERATION = "What an operation takes."


class MatrixEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="matrix"):
    """Multiplies and accumulates tiles; a tile at the edge lasts as long as a whole one."""

    tile_rows: Annotated[Positive, says("Rows of the left operand's and the result's tile.")]
    tile_columns: Annotated[Positive, says("Columns of the right operand's and the result's tile.")]
    tile_depth: Annotated[Positive, says("What the tile is summed over.")]
    cycles_per_tile: Annotated[Positive, says("What a tile takes.")]
    element_bytes: Annotated[Positive, says(PASSES)]
    energy_pj_per_operation: Annotated[Energy, says(PER_OPERATION)] = 0.0


Dataflow = Literal["output_stationary", "weight_stationary", "input_stationary"]


class SystolicEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="systolic"):
    """A matrix engine that is a grid of multiply-accumulate cells, filled and emptied from its edges (`systolic`)."""

    rows: Annotated[Positive, says("Cells down.")]
    columns: Annotated[Positive, says("Cells across.")]
    dataflow: Annotated[Dataflow, says("What stays in the cells while the rest goes through.")]
    element_bytes: Annotated[Positive, says(PASSES)]
    energy_pj_per_operation: Annotated[Energy, says(PER_OPERATION)] = 0.0


class VectorEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="vector"):
    """Runs elementwise work and reductions on contiguous elements, or on the threads of a block."""

    vector_bytes: Annotated[Positive, says("Contiguous elements of so many bytes are an operation.")]
    cycles_per_operation: Annotated[Positive, says("What one operation on a vector takes.")]
    operands: Annotated[
        Literal["in_turn", "together"],
        says(
            "Whether it accesses the operands of an operation one after the other, as by loads and stores, or all at once."
        ),
    ] = "in_turn"
    lanes: Annotated[
        Literal["result", "program"],
        says(
            "What an operation's lanes are: contiguous elements of the result, whatever loops go over them; or the program's "
            "vectorized loops, and one element where there are none, as in what a compiler makes for a CPU."
        ),
    ] = "result"
    energy_pj_per_operation: Annotated[Energy, says("What an operation on one element takes.")] = 0.0


class ScalarEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="scalar"):
    """Runs any work, one element after the other; loads and stores count as operations."""

    cycles_per_operation: Annotated[Positive, says("What one load, store or operation takes.")]
    energy_pj_per_operation: Annotated[Energy, says(PER_OPERATION)] = 0.0


Engine = DmaEngine | MatrixEngine | SystolicEngine | VectorEngine | ScalarEngine
EngineKind = Literal["dma", "matrix", "vector", "scalar"]
KINDS: dict[type, EngineKind] = {
    DmaEngine: "dma",
    MatrixEngine: "matrix",
    SystolicEngine: "matrix",
    VectorEngine: "vector",
    ScalarEngine: "scalar",
}


class Cache(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cache in front of a memory: set-associative, LRU, allocating on writes, dirty lines written back.

    Several in front of one memory are levels, in the order of the file, the first nearest to the engine.
    """

    name: str
    memory: Annotated[str, says("The memory that it is in front of, by name.")]
    engines: Annotated[tuple[str, ...], says("The engines whose accesses go through it, by name.")]
    size_bytes: Annotated[
        int, Meta(ge=1, le=MOST_CACHED), says("How much it holds; a multiple of `ways` · `line_bytes`.")
    ]
    ways: Annotated[Positive, says("Lines of a set.")]
    line_bytes: Annotated[Positive, says("A line; a multiple of that of the level before it.")]
    bytes_per_cycle: Annotated[Positive, says("At what rate it gives a line to the level before it.")]
    latency_cycles: Annotated[Natural, says("From when a line is asked for until it begins to come.")] = 0
    source: Sources = ()

    @property
    def sets(self) -> int:
        return self.size_bytes // (self.ways * self.line_bytes)


class Bus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bus that its engines share: their transfers between memories go over it in whole bursts and share its rate."""

    name: str
    engines: Annotated[tuple[str, ...], says("The engines that share it, by name.")]
    bytes_per_cycle: Annotated[Positive, says("What it carries.")]
    burst_bytes: Annotated[Positive, says("In such pieces engines take turns on it.")] = 1
    source: Sources = ()


Part = Memory | Engine | Cache | Bus
GROUPS = ("memories", "engines", "caches", "buses")
"""The fields of a machine that hold its parts."""
