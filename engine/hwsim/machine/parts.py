"""Parts of machines: memories, engines of each kind, caches and buses, as values with parameters in whole cycles and bytes.

This module is the only description of the keys of a machine file: docs/machine-file.md and the tooltips of the app's parameters are
generated from it.
"""

from __future__ import annotations

from math import lcm
from typing import Annotated, Any, Literal, cast, get_args

import msgspec
from msgspec import Meta

MOST = 1 << 48
"""Upper limit on cycles and bytes of one part: quantities that programs derive from them are kept in 64 bits."""

MOST_BANKS = 1 << 12
MOST_CHANNELS = 1 << 6
MOST_CACHED = 1 << 32
MOST_PREFETCHED = 1 << 6
"""Limits on the banks of a memory, the bytes of a cache and the lines of a prefetch: the simulator tracks each bank and each line."""

MOST_STRIDE = 2048
"""Bytes of the longest stride that is prefetched, as in Intel's optimization reference manual (IP-based stride prefetcher)."""

Positive = Annotated[int, Meta(ge=1, le=MOST)]
Natural = Annotated[int, Meta(ge=0, le=MOST)]
Energy = Annotated[float, Meta(ge=0)]
Sources = tuple[tuple[str, str], ...]
Table = tuple[tuple[str, Positive], ...]
"""Figures by name: of data types, or of operations. A TOML table in the machine file."""

RATED = ("cast", "div", "erf", "exp", "fma", "log", "max", "pow", "rsqrt", "shuffle", "sigmoid", "sin", "sqrt", "tanh")
"""Operations that `rates` may name. "max" includes minima, "sin" all trigonometric functions, "shuffle" is a step of a row reduction."""


MOST_INSTANCES = 1 << 16
MOST_RESIDENTS = 1 << 8
"""Limits on the instances of a level, and on the blocks that a core holds."""

EACH = "The level whose instances have one each, by name; one on the chip by default."


def described(text: str) -> Meta:
    """Annotates a key with its description, a sentence or two."""
    return Meta(description=text)


def listed_tables(figures: dict[str, Any]) -> dict[str, Any]:
    """Returns the keys of a part with each table as a list of its pairs."""
    tables = {
        key: list(cast("dict[str, Any]", value).items()) for key, value in figures.items() if isinstance(value, dict)
    }
    return figures | tables


def meanings(part: type[msgspec.Struct]) -> dict[str, str]:
    """Returns the description of each key of a part, or of the machine."""
    return {field.name: _description(field.type) for field in msgspec.structs.fields(part)}


def _description(hint: object) -> str:
    notes = (note.description for note in get_args(hint)[1:] if isinstance(note, Meta))
    return next(filter(None, notes), "")


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory: it holds the buffers of some storage scopes; engines read and write it through its ports."""

    name: str
    scopes: Annotated[
        tuple[str, ...], described("The storage scopes that it implements. A scope belongs to one memory.")
    ]
    capacity_bytes: Annotated[Positive, described("Capacity; a multiple of `banks`.")]
    read_bytes_per_cycle: Annotated[Positive, described("Width of the read port.")]
    write_bytes_per_cycle: Annotated[Positive, described("Width of the write port.")]
    ports: Annotated[
        Literal["separate", "shared"],
        described("Separate ports for reads and writes, or one shared port with the width of reads."),
    ] = "separate"
    banks: Annotated[
        int,
        Meta(ge=1, le=MOST_BANKS),
        described("Number of equal parts of the capacity. `mapping` assigns addresses to them."),
    ] = 1
    mapping: Annotated[
        Literal["block", "interleave"],
        described(
            'With "block" each bank is a contiguous range of addresses, a physical block that holds whole buffers and that engines '
            'access independently of the others; with "interleave" consecutive rows rotate over all banks.'
        ),
    ] = "block"
    block_ports: Annotated[
        Literal["common", "own"],
        described(
            'With "common" all accesses use the ports of the memory; with "own" each physical block, or each interleaved bank, has its '
            "own, with an equal part of the widths: accesses to different ones do not delay each other."
        ),
    ] = "common"
    interleave_bytes: Annotated[
        Natural,
        described('Bytes per row of a bank: consecutive rows are in different banks. Required by "interleave".'),
    ] = 0
    bank_groups: Annotated[
        Natural,
        described(
            "Number of groups that rows rotate over, each with separate ports. The banks of a group are consecutive ranges of its "
            "addresses, and a bank is read or written in a cycle, not both. 0: no groups."
        ),
    ] = 0
    bank_ports: Annotated[
        Positive, described("Rows that a bank reads and writes per cycle (in total if ports are shared).")
    ] = 1
    broadcast: Annotated[bool, described("Whether lanes of a vector that access the same row are served at once.")] = (
        True
    )
    phase_bytes: Annotated[
        Natural,
        described("Bytes per phase: a longer vector is served in several phases, one after the other. 0: all at once."),
    ] = 0
    thread_bytes: Annotated[
        Natural,
        described(
            "Bytes that a thread accesses at once, if they are consecutive: a longer vector, or one whose elements lie apart, is accessed "
            "part by part. 0: any vector at once."
        ),
    ] = 0
    joined_phases: Annotated[
        bool,
        described(
            "Whether two phases are served as one if threads i and i xor 1, or i and i xor 2, access the same address throughout, as "
            "on NVIDIA's GPUs. Needs `phase_bytes` and `thread_bytes`."
        ),
    ] = False
    latency_cycles: Annotated[
        Natural,
        described(
            "Delay from the end of a copy until its data is available (the maximum of both memories), and the miss latency of a "
            "cache in front of it. The latencies of other engines include it."
        ),
    ] = 0
    burst_bytes: Annotated[
        Positive,
        described("Smallest transfer: transfers are rounded up to whole bursts, the unit of arbitration on a port."),
    ] = 1
    energy_pj_per_byte: Annotated[Energy, described("Energy per byte read or written.")] = 0.0
    atomic_bytes_per_cycle: Annotated[
        Natural,
        described(
            "Rate of atomic updates, of all cores together: an engine sends the operands, and the memory reads, updates and writes the "
            "elements. 0: engines read, update and write them."
        ),
    ] = 0
    atomic_cycles: Annotated[
        Natural, described("Cycles between two atomic updates of one element. 0: they do not delay each other.")
    ] = 0
    atomic_latency_cycles: Annotated[
        Natural, described("Delay of the result of atomic updates, beside the latency of the engine.")
    ] = 0
    block_scopes: Annotated[
        tuple[str, ...], described("Scopes of single physical blocks: the i-th scope is the i-th block.")
    ] = ()
    level: Annotated[str, described(EACH)] = ""
    source: Sources = ()

    @property
    def scope(self) -> str:
        """The scope that names the memory in reports."""
        return self.scopes[0]

    @property
    def blocks(self) -> int:
        """The number of physical blocks that a buffer can be placed in: the banks, if each is a range of addresses."""
        return self.banks if self.mapping == "block" else 1

    @property
    def alignment_bytes(self) -> int:
        """Addresses of buffers are multiples of it: a row of the banks and a burst."""
        return lcm(self.interleave_bytes or 1, self.burst_bytes)

    @property
    def has_own_ports(self) -> bool:
        """Whether each physical block, or each interleaved bank, has ports of its own."""
        return self.block_ports == "own" and self.banks > 1

    @property
    def has_bank_ports(self) -> bool:
        """Whether each interleaved bank has ports of its own."""
        return self.has_own_ports and self.mapping == "interleave"

    def block_of(self, scope: str) -> int | None:
        """Returns the number of the physical block that a scope names; None for a scope of the whole memory."""
        return self.block_scopes.index(scope) if scope in self.block_scopes else None


class AnyEngine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys that all engines share.

    A task occupies its engine for `setup_cycles` plus the duration of its work; its result is available `latency_cycles` later. Tasks are
    issued in program order.
    """

    name: str
    reads: Annotated[tuple[str, ...], described("The memories that it reads operands from, by name.")]
    writes: Annotated[tuple[str, ...], described("The memories that it writes results to, by name.")]
    setup_cycles: Annotated[Natural, described("Fixed cost of each task before its work starts.")] = 0
    latency_cycles: Annotated[
        Natural, described("Delay from the end of a task's work until its result is available.")
    ] = 0
    wait_cycles: Annotated[
        Natural,
        described(
            "Cycles that it waits for a token before a task, for each other unit whose tasks the task depends on."
        ),
    ] = 0
    signal_cycles: Annotated[
        Natural, described("Cycles that it signals a token after a task, for each other unit whose tasks depend on it.")
    ] = 0
    queue_tasks: Annotated[
        Positive, described("Capacity of its queue; while a queue is full, no task is issued to any engine.")
    ] = 8
    unit: Annotated[
        str,
        described("Engines of one unit share its hardware and its queue: they run one at a time, in program order."),
    ] = ""
    level: Annotated[str, described("The level of the cores, if the machine has levels.")] = ""
    source: Sources = ()


Atomic = Literal["add", "max", "min"]
Activation = Literal["bias", "cast", "channel_scale", "clip", "offset", "relu", "scale"]


class DmaEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="dma"):
    """Copies between memories by descriptors, each of which costs the set-up."""

    bytes_per_cycle: Annotated[Positive, described("Maximum copy rate, of all channels together.")]
    channels: Annotated[
        int,
        Meta(ge=1, le=MOST_CHANNELS),
        described(
            "Channels, each with its own queue and set-up, that copy at the same time and share the copy rate burst by burst. The "
            'copies of a program use them in turn, in text order; the annotation `engine` selects one: "dma[1]".'
        ),
    ] = 1
    outstanding_requests: Annotated[
        Natural,
        described(
            "Bursts that a copy may have requested but not completed, in each direction: they limit its rate to outstanding_requests · "
            "burst_bytes in the latency of the memory. 0: as many as hide the latency."
        ),
    ] = 0
    dimensions: Annotated[
        Natural,
        described("Dimensions of a descriptor, the first of them a contiguous run. 0: as many as a copy needs."),
    ] = 0
    max_extent: Annotated[
        Natural,
        described(
            "Most elements of a run, and most steps of any other dimension of a descriptor: a copy with longer ones needs several "
            "descriptors. 0: any."
        ),
    ] = 0
    transpose_bytes_per_cycle: Annotated[
        Natural,
        described(
            "Rate of its transposer: a copy that transposes reads whole runs of the source and writes whole runs of the target, at "
            "this rate. 0: it has none, and moves the elements that are contiguous in both one by one."
        ),
    ] = 0
    activations: Annotated[
        tuple[Activation, ...],
        described(
            "Functions that it applies to elements on their way: cast (rounding included), clip, offset, relu and scale, by constants; "
            "bias and channel_scale, a sum and a product with an element of another operand, which it reads too. An elementwise block "
            "of only these is one copy."
        ),
    ] = ()
    atomics: Annotated[
        tuple[Atomic, ...],
        described(
            "Updates that a copy may make in place of writes, of elements of a memory with `atomic_bytes_per_cycle`: add, max and min."
        ),
    ] = ()
    zero_padding: Annotated[
        bool,
        described(
            "Whether it pads in flight: a copy whose elements are zero where a condition on loops fails, as at the border of a "
            "convolution, is one copy that reads the elements inside and writes all. If not, a vector engine or the scalar engine does it."
        ),
    ] = False


PASSES = (
    "Native element width: wider elements need ceil(width / element_bytes)² passes, unless a table names their type."
)
RATES = (
    "Durations by operation, as multiples of `cycles_per_operation`: cast, div, erf, exp, fma, log, max, pow, rsqrt, shuffle, sigmoid, "
    "sin, sqrt, tanh. Other operations take 1; fma is a sum with a product, which are two operations without it."
)
PER_OPERATION = "Energy per operation."
OPERAND_ROWS = (
    'With "banked" each row of a tile is one access to interleaved banks, and the unit waits for its bank conflicts; with "ideal" rows '
    "have no conflicts."
)


MATRIX_ROWS = (
    OPERAND_ROWS
    + ' With "loads_8x16" operands are loaded in pieces of 8 rows of 16 bytes, as ldmatrix does, and the unit waits for the '
    "conflicts of each."
)


class MatrixEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="matrix"):
    """Multiplies and accumulates tiles; a tile at the edge lasts as long as a whole one."""

    tile_rows: Annotated[Positive, described("Rows of the left operand's and the result's tile.")]
    tile_columns: Annotated[Positive, described("Columns of the right operand's and the result's tile.")]
    tile_depth: Annotated[Positive, described("Elements of the reduction axis per tile.")]
    cycles_per_tile: Annotated[Positive, described("Duration of a tile.")]
    element_bytes: Annotated[Positive, described(PASSES)]
    energy_pj_per_operation: Annotated[Energy, described(PER_OPERATION)] = 0.0
    operand_rows: Annotated[
        Literal["ideal", "banked", "loads_8x16"],
        described(MATRIX_ROWS),
    ] = "ideal"
    operand_loads: Annotated[
        Literal["during", "before"],
        described(
            'With "loads_8x16", whether operands are loaded while the unit multiplies ("during"), or all operands of a task first '
            '("before"), as in a kernel that fills its registers and then multiplies.'
        ),
    ] = "during"
    tile_language: Annotated[
        Literal["", "mma", "wgmma"],
        described(
            "The instructions for which TileLang's compiler chooses the layouts of shared buffers: those of sm_80, or those of sm_90."
        ),
    ] = ""
    register_rows: Annotated[
        Positive,
        described(
            "Rows of the register block, in tiles of the result: the right operand is read once for each block along the rows."
        ),
    ] = 1
    register_columns: Annotated[
        Positive,
        described(
            "Columns of the register block, in tiles of the result: the left operand is read once for each block along the columns."
        ),
    ] = 1
    accumulate_in: Annotated[
        Literal["registers", "memory"],
        described(
            "Where sums accumulate: in registers, which load and store the result once per task, or in memory, where each tile of "
            "the depth reads and writes the result."
        ),
    ] = "registers"
    cycles_by_type: Annotated[
        Table,
        described("Duration of a tile by the type of its wider operand; other types take passes of `cycles_per_tile`."),
    ] = ()


Dataflow = Literal["output_stationary", "weight_stationary", "input_stationary"]


class SystolicEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="systolic"):
    """A matrix engine that is a grid of multiply-accumulate cells, filled and emptied from its edges (`systolic`)."""

    rows: Annotated[Positive, described("Number of rows of cells.")]
    columns: Annotated[Positive, described("Number of columns of cells.")]
    dataflow: Annotated[Dataflow, described("The operand that stays in the cells while the others stream through.")]
    element_bytes: Annotated[Positive, described(PASSES)]
    energy_pj_per_operation: Annotated[Energy, described(PER_OPERATION)] = 0.0
    operand_rows: Annotated[
        Literal["ideal", "banked"],
        described(OPERAND_ROWS),
    ] = "ideal"
    weights: Annotated[
        Literal["single", "double"],
        described(
            "Registers per cell for the stationary operand. With one, a fold loads it, streams and drains before the next fold "
            "begins; with two, the operand of the next fold or task is loaded meanwhile, and folds follow each other without a gap."
        ),
    ] = "single"
    passes_by_type: Annotated[Table, described("Passes over a product by the type of its wider operand.")] = ()

    @property
    def preload_cycles(self) -> int:
        """Cycles that a task's stationary operand has to be ready before the task can start: one row per cycle."""
        return self.rows if self.weights == "double" else 0


class VectorEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="vector"):
    """Runs elementwise work and reductions on contiguous elements, or on the threads of a block."""

    vector_bytes: Annotated[Positive, described("Bytes of contiguous elements per operation.")]
    cycles_per_operation: Annotated[Positive, described("Duration of one operation on a vector.")]
    operands: Annotated[
        Literal["in_turn", "together"],
        described(
            "Whether it accesses the operands of an operation one after the other, as loads and stores do, or all at once."
        ),
    ] = "in_turn"
    lanes: Annotated[
        Literal["result", "program"],
        described(
            "The lanes of an operation: contiguous elements of the result, independent of the loops over them; or the program's "
            "vectorized loops, and one element without them, as in compiled CPU code."
        ),
    ] = "result"
    row_lanes: Annotated[
        Natural,
        described(
            "Lanes that hold parts of one row in a row reduction, while the other lanes hold other rows, as in the fragments of a GPU's "
            "registers; 0 for all lanes of an operation."
        ),
    ] = 0
    rates: Annotated[Table, described(RATES)] = ()
    around_bytes_per_cycle: Annotated[
        Natural,
        described(
            "Rate of its accesses to memories of the levels around its core, which take turns with its accesses to banks, and whose "
            "latency is added to its own: loads of a GPU's threads. 0: that of their ports, with the latency included in its own."
        ),
    ] = 0
    lanes_by_type: Annotated[
        Table, described("Lanes of an operation by element type; other types have as many as fit into `vector_bytes`.")
    ] = ()
    energy_pj_per_operation: Annotated[Energy, described("Energy per operation on one element.")] = 0.0


class ScalarEngine(AnyEngine, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="scalar"):
    """Runs any work, one element after the other; loads and stores count as operations."""

    cycles_per_operation: Annotated[Positive, described("Duration of one load, store or operation.")]
    energy_pj_per_operation: Annotated[Energy, described(PER_OPERATION)] = 0.0
    rates: Annotated[Table, described(RATES)] = ()


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
    """A cache in front of a memory: set-associative, allocating on writes, dirty lines written back.

    Several in front of one memory are levels, in the order of the file, the first nearest to the engine. On a machine with levels there is
    one, which all cores share: least recently used lines of one set, whatever its `ways`, with a port for each direction; a written line
    is not read first.
    """

    name: str
    memory: Annotated[str, described("The memory that it caches, by name.")]
    engines: Annotated[tuple[str, ...], described("The engines whose accesses use it, by name.")]
    size_bytes: Annotated[int, Meta(ge=1, le=MOST_CACHED), described("Capacity; a multiple of `ways` · `line_bytes`.")]
    ways: Annotated[Positive, described("Lines per set.")]
    line_bytes: Annotated[Positive, described("Line size; a multiple of that of the previous level.")]
    bytes_per_cycle: Annotated[Positive, described("Rate at which it delivers a line to the previous level.")]
    latency_cycles: Annotated[Natural, described("Delay from the request of a line to its first byte.")] = 0
    replacement: Annotated[
        Literal["lru", "plru", "fifo"],
        described(
            'Which line of a set is evicted: the least recently used, the one that a tree of bits points to ("plru"), or the one that '
            'came first ("fifo").'
        ),
    ] = "lru"
    inclusion: Annotated[
        Literal["non-inclusive", "exclusive", "inclusive"],
        described(
            'How its lines relate to those of the previous level. "non-inclusive": a miss fills both, and each evicts on its own; '
            '"exclusive": a victim cache, filled by what the previous level evicts, which gives a line away when it is requested; '
            '"inclusive": a line that it evicts leaves the previous levels, too. Every access is simulated then.'
        ),
    ] = "non-inclusive"
    prefetcher: Annotated[
        Literal["next-line", "stride"],
        described(
            'Which lines are prefetched: those behind the one that is accessed, or ("stride") those that a load or store of the program '
            "accesses next, if its last two steps were equal."
        ),
    ] = "next-line"
    prefetch_lines: Annotated[
        int,
        Meta(ge=0, le=MOST_PREFETCHED),
        described("Lines that each access prefetches, the first `prefetch_distance` ahead. 0: no prefetcher."),
    ] = 0
    prefetch_distance: Annotated[
        int,
        Meta(ge=1, le=MOST_PREFETCHED),
        described(
            'Lines, or steps of a "stride" prefetcher, from the one that is accessed to the first that is prefetched.'
        ),
    ] = 1
    source: Sources = ()

    @property
    def prefetch_reach(self) -> int:
        """Bytes from an access to the last that is prefetched behind it."""
        furthest = self.prefetch_distance + self.prefetch_lines - 1 if self.prefetch_lines else 0
        return furthest * (MOST_STRIDE if self.prefetches_strides else self.line_bytes)

    @property
    def prefetch_reach_back(self) -> int:
        """Bytes from an access to the first that is prefetched before it."""
        return self.prefetch_reach if self.prefetches_strides else 0

    @property
    def prefetches_strides(self) -> bool:
        return self.prefetcher == "stride" and self.prefetch_lines > 0

    @property
    def sets(self) -> int:
        return self.size_bytes // (self.ways * self.line_bytes)


class Bus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bus that its engines share: their transfers between memories go over it in whole bursts and share its rate."""

    name: str
    engines: Annotated[tuple[str, ...], described("The engines that share it, by name.")]
    bytes_per_cycle: Annotated[Positive, described("Bandwidth.")]
    burst_bytes: Annotated[Positive, described("Unit of arbitration between its engines.")] = 1
    level: Annotated[str, described(EACH)] = ""
    source: Sources = ()


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"origin": "from", "target": "to"}):
    """A link between a memory and those of the cores around it, in one direction: the copies of a DMA from `from` to `to` occupy each
    segment of their path for their bytes. A bus is one segment; a ring, a mesh or a torus has one from each node to each neighbour.
    """

    name: str
    origin: Annotated[str, described("The memory that transfers come from, by name.")]
    target: Annotated[
        str,
        described(
            "The memory that they go to, by name. One of both is inside of the level that the other one belongs to."
        ),
    ]
    bytes_per_cycle: Annotated[Positive, described("Bandwidth of each segment.")]
    burst_bytes: Annotated[Positive, described("Unit of arbitration between the cores.")] = 1
    shape: Annotated[
        Literal["bus", "ring", "mesh", "torus"],
        described(
            "The nodes are the instances of the inner memory, in their order, row by row. In a ring and in a torus the last node of a "
            "row or column is a neighbour of the first."
        ),
    ] = "bus"
    row_nodes: Annotated[Natural, described("Nodes in a row of a mesh or torus; whole rows. 0: one row.")] = 0
    direction: Annotated[
        Literal["both", "up", "down"],
        described(
            'The way through a ring or torus: with "both" the shorter one; with "up" only to higher numbers, around the end; with "down" '
            'only to lower ones. A path goes along the row and then along the column; with "down" along the column first.'
        ),
    ] = "both"
    attached: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=MOST_INSTANCES)], ...],
        described(
            "The nodes at which the outer memory is attached, by number, each by a segment of its own. Numbers beyond the nodes are "
            "left out."
        ),
    ] = (0,)
    access: Annotated[
        Literal["nearest", "interleaved"],
        described(
            'Whether a transfer uses the attachment with the fewest hops ("nearest"), or an equal part of it goes over each, as '
            "addresses that rotate over channels of a memory do."
        ),
    ] = "nearest"
    latency_cycles: Annotated[Natural, described("Delay of a transfer, beside that of both memories.")] = 0
    hop_cycles: Annotated[
        Natural, described("Delay for each segment of the path; of several paths, the longest counts.")
    ] = 0
    multicast: Annotated[
        bool,
        described(
            "Whether copies of the same bytes to several cores in one wave of blocks are one transfer: it begins when all these cores "
            "have begun the copy, and occupies each segment of the tree of paths once."
        ),
    ] = False
    source: Sources = ()


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"within": "in"}):
    """A level of the chip, such as clusters and the cores in them. Parts with this `level` exist once in each of its instances, other parts
    once on the chip.

    The innermost level are the cores: the blocks of a program (loops bound to `blockIdx`) are handed out to them. The keys from
    `dispatch` on say how, and how many blocks a core holds at the same time.
    """

    name: str
    count: Annotated[
        int, Meta(ge=1, le=MOST_INSTANCES), described("Number of instances in each instance of the level around.")
    ]
    within: Annotated[str, described("The level around, by name; the chip by default.")] = ""
    dispatch: Annotated[
        Literal["persistent", "round_robin", "static", "first_free"],
        described(
            'How blocks are handed out. "persistent": block i to core i modulo the number of cores, whose blocks follow each other like '
            'iterations of a loop; "round_robin": the same, but a block starts when the one before it has ended; "static": to each core a '
            'range of consecutive blocks; "first_free": the next block to the core that has ended first.'
        ),
    ] = "persistent"
    start_cycles: Annotated[
        Natural, described("Cycles until the first task of a block is issued; if blocks are persistent, of the first.")
    ] = 0
    barrier_cycles: Annotated[
        Natural, described("Cycles from the last block that reaches a barrier of all blocks until they all go on.")
    ] = 0
    blocks: Annotated[int, Meta(ge=1, le=MOST_RESIDENTS), described("Blocks that a core holds at most.")] = 1
    sharing: Annotated[
        Literal["in_turn", "together"],
        described(
            'How the blocks that a core holds share its engines. "in_turn": a task has its engine to itself, so the blocks get out of step '
            'and hide each other\'s waits; "together": tasks of all blocks run at once, each at its part of the rate, so blocks that begin '
            "together stay in step. Blocks that differ run in turn."
        ),
    ] = "in_turn"
    pace: Annotated[
        Literal["in_step", "apart"],
        described(
            'How cores meet at the ports of the levels around. "in_step": equal cores request bursts at the same time; "apart": cores run '
            "out of step, so a core finds these ports free, and the chip takes at least the cycles of the busiest one."
        ),
    ] = "in_step"
    threads: Annotated[Natural, described("Threads that a core holds at most. 0: any number.")] = 0
    warp_threads: Annotated[Positive, described("Threads per warp: blocks are rounded up to whole warps.")] = 32
    registers: Annotated[
        Natural, described("Registers of 4 bytes of a core, for the buffers of `register_memories`. 0: any number.")
    ] = 0
    register_granule: Annotated[Positive, described("Registers of a warp are multiples of it.")] = 1
    register_parts: Annotated[
        Positive, described("Equal parts of the registers: the registers of a warp are in one of them.")
    ] = 1
    thread_registers: Annotated[
        Natural, described("Registers that each thread needs beside its buffers, such as for addresses.")
    ] = 0
    register_memories: Annotated[
        tuple[str, ...], described("The memories whose buffers are in registers, by name.")
    ] = ()
    shared_bytes: Annotated[
        Natural, described("Bytes of a core for the buffers of blocks in `shared_memories`. 0: any number.")
    ] = 0
    shared_granule: Annotated[Positive, described("The bytes of a block are multiples of it.")] = 1
    reserved_bytes: Annotated[Natural, described("Bytes that each block needs beside its buffers.")] = 0
    shared_memories: Annotated[
        tuple[str, ...], described("The memories whose buffers count against `shared_bytes`, by name.")
    ] = ()
    source: Sources = ()


Part = Memory | Engine | Cache | Bus | Level | Link
GROUPS = ("memories", "engines", "caches", "buses", "levels", "links")
"""The fields of a machine that hold its parts."""
