"""What machines are made of: memories, engines of each kind, caches and buses, as values with figures in whole cycles and bytes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MOST = 1 << 48
"""Cycles and bytes of one part: what programs make of them is kept in 64 bits."""

MOST_BANKS = 1 << 12
MOST_CACHED = 1 << 32
"""Each bank and each line of a cache is followed."""

Positive = Annotated[int, Meta(ge=1, le=MOST)]
Natural = Annotated[int, Meta(ge=0, le=MOST)]
Banks = Annotated[int, Meta(ge=1, le=MOST_BANKS)]
Energy = Annotated[float, Meta(ge=0)]
Sources = tuple[tuple[str, str], ...]


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory. Buffers whose storage scope is among `scopes` live in it; those in the i-th of `block_scopes` in its i-th physical block.

    `banks` are equal parts of the capacity. With mapping "block" each is a contiguous range of addresses, and the blocks can be filled
    and used independently of each other; with "interleave" consecutive `interleave_bytes`, the rows, go round all banks.
    A bank reads and writes `bank_ports` rows each cycle (together, with shared ports). Lanes of a vector that want the same row are
    served at once if there is `broadcast`. A vector of more than `phase_bytes` is served in phases of so many (0: all at once).
    With `bank_groups` rows go round the groups, each with its ports; the banks of a group follow each other in its addresses, and each
    can be read or written in a cycle, not both.
    Reads and writes have a port each, of so many bytes per cycle; with `ports` "shared" both go through one, as wide as reads are.
    A transfer moves whole bursts; its data is there `latency_cycles` later.
    """

    name: str
    scopes: tuple[str, ...]
    capacity_bytes: Positive
    read_bytes_per_cycle: Positive
    write_bytes_per_cycle: Positive
    ports: Literal["separate", "shared"] = "separate"
    banks: Banks = 1
    mapping: Literal["block", "interleave"] = "block"
    interleave_bytes: Natural = 0
    bank_groups: Natural = 0
    bank_ports: Positive = 1
    broadcast: bool = True
    phase_bytes: Natural = 0
    latency_cycles: Natural = 0
    burst_bytes: Positive = 1
    energy_pj_per_byte: Energy = 0.0
    block_scopes: tuple[str, ...] = ()
    source: Sources = ()

    @property
    def scope(self) -> str:
        """The scope that reports name the memory by."""
        return self.scopes[0]

    @property
    def blocks(self) -> int:
        """How many physical blocks a buffer can be placed in: the banks, when each is a range of addresses."""
        return self.banks if self.mapping == "block" else 1

    def block_of(self, scope: str) -> int | None:
        """The physical block that a scope is a name of; None for a scope of the whole memory."""
        return self.block_scopes.index(scope) if scope in self.block_scopes else None


class _Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all engines have. A task occupies its engine `setup_cycles` and then as long as its work takes; its result is there
    `latency_cycles` after that. `reads` and `writes` name memories.

    So many as `queue_tasks` may wait in front of the engine: tasks are issued in program order, and issue stops while a queue is full.
    Engines of one `unit` are one piece of hardware: with one queue, they work in turn, in program order.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    setup_cycles: Natural = 0
    latency_cycles: Natural = 0
    queue_tasks: Positive = 8
    unit: str = ""
    source: Sources = ()


class DmaEngine(_Engine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="dma"):
    """Copies between memories, at most `bytes_per_cycle`. A descriptor has so many `dimensions` (0: as many as it takes), the first of
    them a contiguous run; each takes the set-up."""

    bytes_per_cycle: Positive
    dimensions: Natural = 0


class MatrixEngine(_Engine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="matrix"):
    """Multiplies and accumulates a rows x depth by a depth x columns tile in `cycles_per_tile`.

    Elements wider than `element_bytes` take ceil(width / element_bytes)^2 passes; a tile at the edge takes as long as a whole one.
    """

    tile_rows: Positive
    tile_columns: Positive
    tile_depth: Positive
    cycles_per_tile: Positive
    element_bytes: Positive
    energy_pj_per_operation: Energy = 0.0


Dataflow = Literal["output_stationary", "weight_stationary", "input_stationary"]


class SystolicEngine(_Engine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="systolic"):
    """A matrix engine that is a grid of `rows` x `columns` multiply-accumulate cells; `dataflow` says what stays in them (`systolic`).

    Elements wider than `element_bytes` take ceil(width / element_bytes)^2 passes.
    """

    rows: Positive
    columns: Positive
    dataflow: Dataflow
    element_bytes: Positive
    energy_pj_per_operation: Energy = 0.0


class VectorEngine(_Engine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="vector"):
    """Elementwise work and reductions, `vector_bytes` of contiguous elements per operation.

    It accesses the operands of an operation "in_turn", as by loads and stores, or all "together".
    """

    vector_bytes: Positive
    cycles_per_operation: Positive
    operands: Literal["in_turn", "together"] = "in_turn"
    energy_pj_per_operation: Energy = 0.0


class ScalarEngine(_Engine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="scalar"):
    """Anything, one element after the other; loads and stores count as operations."""

    cycles_per_operation: Positive
    energy_pj_per_operation: Energy = 0.0


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
    """A cache in front of `memory` for the accesses of `engines`: set-associative, LRU, allocating on writes, dirty lines written back.

    Several in front of one memory are levels, in the order of the file, the first nearest to the engine. A level that is asked for a
    line by the one before it gives it after `latency_cycles`, at `bytes_per_cycle`.
    """

    name: str
    memory: str
    engines: tuple[str, ...]
    size_bytes: Annotated[int, Meta(ge=1, le=MOST_CACHED)]
    ways: Positive
    line_bytes: Positive
    bytes_per_cycle: Positive
    latency_cycles: Natural = 0
    source: Sources = ()

    @property
    def sets(self) -> int:
        return self.size_bytes // (self.ways * self.line_bytes)


class Bus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `engines` move between memories goes over it, in whole bursts: they share its bytes per cycle."""

    name: str
    engines: tuple[str, ...]
    bytes_per_cycle: Positive
    burst_bytes: Positive = 1
    source: Sources = ()


Part = Memory | Engine | Cache | Bus
GROUPS = ("memories", "engines", "caches", "buses")
"""The fields of a machine that hold its parts."""
