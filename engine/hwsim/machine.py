"""A machine as a value: memories that answer to storage scopes, engines that read and write them, figures in whole cycles and bytes.

A machine is frozen and hashable; `replace` gives a varied one that has passed the same checks as a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import Meta
from msgspec.structs import replace as replace_fields

from .errors import MachineError, refuse

Positive = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
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
    banks: Positive = 1
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
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    setup_cycles: Natural = 0
    latency_cycles: Natural = 0
    queue_tasks: Positive = 8
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
    size_bytes: Positive
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


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memories and engines, in the order of the file: of two engines that could do a task, the first does it."""

    name: str
    clock_hz: Positive
    memories: tuple[Memory, ...]
    engines: tuple[Engine, ...]
    caches: tuple[Cache, ...] = ()
    buses: tuple[Bus, ...] = ()
    description: str = ""
    source: Sources = ()

    def __repr__(self) -> str:
        memories = ", ".join(f"{m.name} ({', '.join(m.scopes)})" for m in self.memories)
        return f"<Machine {self.name!r}: memories {memories}; engines {', '.join(e.name for e in self.engines)}>"

    def find_memory(self, scope: str) -> Memory | None:
        """The memory that a storage scope stands for."""
        return next((m for m in self.memories if scope in (*m.scopes, *m.block_scopes)), None)

    def memory(self, name: str) -> Memory:
        """The memory called `name`. Raises KeyError."""
        return _named(self.memories, name)

    def engine(self, name: str) -> Engine:
        """The engine called `name`. Raises KeyError."""
        return _named(self.engines, name)

    def caches_of(self, engine: str, memory: str) -> tuple[Cache, ...]:
        """The levels between an engine and a memory, the nearest to the engine first."""
        return tuple(c for c in self.caches if c.memory == memory and engine in c.engines)

    def buses_of(self, engine: str) -> tuple[Bus, ...]:
        """The buses that what an engine moves goes over."""
        return tuple(b for b in self.buses if engine in b.engines)

    def replace(self, path: str, value: object) -> Machine:
        """This machine with one figure changed: "memories.vtcm.banks", "local.vtcm.banks" by scope, "engines.dma.setup_cycles", "clock_hz".

        Raises MachineError for an unknown path or a value that a machine file could not have either.
        """
        owner, _, field = path.rpartition(".")
        if not owner:
            return _checked(_with_field(self, path, value, path))
        group, part = self._part(owner, path)
        changed = _with_field(part, field, value, path)
        parts = tuple(changed if p is part else p for p in self.parts(group))
        return _checked(replace_fields(self, **{group: parts}))

    def parts(self, group: str) -> tuple[Part, ...]:
        """The memories, engines, caches or buses."""
        return cast("tuple[Part, ...]", getattr(self, group))

    def _part(self, owner: str, path: str) -> tuple[str, Part]:
        """What the front of a path names, and its group: "memories.vtcm", "engines.dma", or a scope, or just the name."""
        named = [(group, part) for group in GROUPS for part in self.parts(group)]
        for group, part in named:
            if owner in (f"{group}.{part.name}", part.name):
                return group, part
        by_scope = self.find_memory(owner)
        if by_scope is not None:
            return "memories", by_scope
        known = [f"{group}.{part.name}" for group, part in named]
        scopes = [s for m in self.memories for s in m.scopes]
        raise refuse("unknown-figure", f"machine {self.name!r} has no {owner!r}", found=path,
                     expected=f"{', '.join(known)}, or a scope: {', '.join(scopes)}")  # fmt: skip


N = TypeVar("N", Memory, Engine)
S = TypeVar("S", bound=Machine | Part)


def _named(parts: tuple[N, ...], name: str) -> N:
    for part in parts:
        if part.name == name:
            return part
    raise KeyError(name)


CHANGED = "changed by Machine.replace"
"""The source of a figure that no file gave."""


def _with_field(part: S, field: str, value: object, path: str) -> S:
    """`part` with one figure changed and checked."""
    table = cast("dict[str, Any]", msgspec.to_builtins(part))
    fixed = ("kind", "name", "source", *(GROUPS if isinstance(part, Machine) else ()))
    if field not in table or field in fixed:
        figures = [f for f in table if f not in fixed]
        raise refuse(
            "unknown-figure", f"there is no figure {field!r} to change", found=path, expected=", ".join(figures)
        )
    table[field] = value
    table["source"] = [(key, text) for key, text in part.source if key != field] + [(field, CHANGED)]
    try:
        return msgspec.convert(table, type(part))
    except msgspec.ValidationError as error:
        raise refuse("bad-figure", f"{path} cannot be {value!r}", found=repr(value),
                     expected=str(error).partition(" - at ")[0]) from None  # fmt: skip


def _checked(machine: Machine) -> Machine:
    require_consistent(machine)
    return machine


class Complaint(msgspec.Struct, frozen=True):
    """What is wrong in a machine, and where: section ("memories", "vtcm") and key. Machine files turn it into a line."""

    code: str
    message: str
    section: tuple[str, ...]
    key: str
    found: str
    expected: str
    fix: tuple[str, ...] = ()


# A scope is one memory's, engines name memories that exist, blocks divide the capacity.
def require_consistent(machine: Machine) -> None:
    complaint = find_complaint(machine)
    if complaint is not None:
        raise complaint_error(complaint)


def complaint_error(complaint: Complaint) -> MachineError:
    return refuse(
        complaint.code, complaint.message, found=complaint.found, expected=complaint.expected, fix=complaint.fix
    )


def find_complaint(machine: Machine) -> Complaint | None:
    """The first thing in a well-typed machine that makes no sense, or None."""
    taken: dict[str, str] = {}
    for memory in machine.memories:
        complaint = _scope_complaint(memory, taken) or _bank_complaint(memory)
        if complaint is not None:
            return complaint
        taken.update(dict.fromkeys((*memory.scopes, *memory.block_scopes), memory.name))
    names = [m.name for m in machine.memories]
    for engine in machine.engines:
        for key, reach in (("reads", engine.reads), ("writes", engine.writes)):
            complaint = _reach_complaint(engine, key, reach, names)
            if complaint is not None:
                return complaint
    for bus in machine.buses:
        complaint = _engines_complaint(bus, "buses", machine)
        if complaint is not None:
            return complaint
    for cache in machine.caches:
        complaint = _cache_complaint(cache, machine)
        if complaint is not None:
            return complaint
    if not machine.engines:
        expected = "at least one [engines.NAME]"
        return Complaint("no-engine", "the machine has no engine", ("engines",), "", "none", expected)
    return None


def _scope_complaint(memory: Memory, taken: Mapping[str, str]) -> Complaint | None:
    section = ("memories", memory.name)
    if not memory.scopes:
        message = f"memory {memory.name!r} answers to no scope"
        return Complaint("no-scope", message, section, "scopes", "[]", 'at least one storage scope, such as "global"')
    own = (*memory.scopes, *memory.block_scopes)
    for number, scope in enumerate(own):
        owner = memory.name if scope in own[:number] else taken.get(scope)
        if owner is not None:
            message = f"scope {scope!r} is memory {owner!r}'s already"
            key = "scopes" if number < len(memory.scopes) else "block_scopes"
            return Complaint("scope-taken", message, section, key, repr(scope), "each scope once, in one memory")
    return None


def _bank_complaint(memory: Memory) -> Complaint | None:
    section = ("memories", memory.name)
    if memory.capacity_bytes % memory.banks:
        message = f"memory {memory.name!r} does not divide into {memory.banks} equal banks"
        found = f"{memory.capacity_bytes} bytes in {memory.banks} banks"
        return Complaint("uneven-banks", message, section, "banks", found, "banks that divide capacity_bytes")
    if memory.mapping == "interleave" and memory.banks > 1 and memory.interleave_bytes == 0:
        message = f"memory {memory.name!r} interleaves its banks but does not say how wide"
        expected = "interleave_bytes: how many go to one bank before the next"
        return Complaint(
            "no-interleave", message, section, "mapping", "no interleave_bytes", expected, ("interleave_bytes = 32",)
        )
    if memory.bank_groups and (memory.mapping == "block" or memory.banks % memory.bank_groups):
        message = f"memory {memory.name!r} does not put its banks into {memory.bank_groups} equal groups"
        found = f"{memory.banks} banks, mapping {memory.mapping}"
        expected = 'groups that divide the banks, and mapping = "interleave"'
        return Complaint("uneven-banks", message, section, "bank_groups", found, expected)
    if memory.interleave_bytes and (memory.capacity_bytes // memory.banks) % memory.interleave_bytes:
        message = f"a bank of memory {memory.name!r} does not hold whole rows of {memory.interleave_bytes} bytes"
        found = f"{memory.capacity_bytes // memory.banks} bytes a bank"
        expected = "interleave_bytes that divide a bank"
        return Complaint("uneven-banks", message, section, "interleave_bytes", found, expected)
    return None


def _reach_complaint(engine: Engine, key: str, reach: Sequence[str], names: Sequence[str]) -> Complaint | None:
    section, known = ("engines", engine.name), ", ".join(names)
    if not reach:
        return Complaint("no-reach", f"engine {engine.name!r} {key} nothing", section, key, "[]", f"some of {known}")
    for name in reach:
        if name not in names:
            message = f"engine {engine.name!r} {key} an unknown memory {name!r}"
            return Complaint("unknown-memory", message, section, key, repr(name), known)
    return None


def _engines_complaint(part: Cache | Bus, group: str, machine: Machine) -> Complaint | None:
    """A cache or a bus is used by engines that there are."""
    names = [e.name for e in machine.engines]
    what = "cache" if isinstance(part, Cache) else "bus"
    unknown = next((e for e in part.engines if e not in names), None)
    if unknown is None and part.engines:
        return None
    message = f"{what} {part.name!r} is used by {'no engine' if unknown is None else f'an unknown engine {unknown!r}'}"
    found = repr(unknown or [])
    return Complaint("unknown-engine", message, (group, part.name), "engines", found, ", ".join(names))


def _cache_complaint(cache: Cache, machine: Machine) -> Complaint | None:
    section = ("caches", cache.name)
    memories = [m.name for m in machine.memories]
    if cache.memory not in memories:
        message = f"cache {cache.name!r} is in front of an unknown memory {cache.memory!r}"
        return Complaint("unknown-memory", message, section, "memory", repr(cache.memory), ", ".join(memories))
    complaint = _engines_complaint(cache, "caches", machine)
    if complaint is not None:
        return complaint
    if cache.size_bytes % (cache.ways * cache.line_bytes):
        message = f"cache {cache.name!r} does not divide into sets of {cache.ways} lines of {cache.line_bytes} bytes"
        expected = f"a multiple of {cache.ways * cache.line_bytes}"
        return Complaint("uneven-sets", message, section, "size_bytes", f"{cache.size_bytes} bytes", expected)
    for engine in cache.engines:
        levels = machine.caches_of(engine, cache.memory)
        inner = levels[: levels.index(cache)][-1:]
        if inner and cache.line_bytes % inner[0].line_bytes:
            message = (
                f"a line of cache {cache.name!r} does not hold whole lines of {inner[0].name!r}, the level before it"
            )
            expected = f"a multiple of {inner[0].line_bytes}"
            return Complaint("uneven-lines", message, section, "line_bytes", f"{cache.line_bytes} bytes", expected)
    return None
