"""Consistency checks on a machine whose parameters are well-typed: an error has its place, the value found and the value expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from ...ir import dtype as dt
from ..errors import MachineError, refuse
from .links import attached_nodes, nodes_of, outer_memory
from .parts import RATED, Bus, Cache, DmaEngine, Engine, Level, Link, Memory, SystolicEngine

TABLES = ("rates", "cycles_by_type", "passes_by_type", "lanes_by_type")


class Parted(Protocol):
    """Protocol of a machine, as its parts."""

    @property
    def memories(self) -> tuple[Memory, ...]: ...
    @property
    def engines(self) -> tuple[Engine, ...]: ...
    @property
    def caches(self) -> tuple[Cache, ...]: ...
    @property
    def buses(self) -> tuple[Bus, ...]: ...
    @property
    def levels(self) -> tuple[Level, ...]: ...
    @property
    def links(self) -> tuple[Link, ...]: ...
    @property
    def core(self) -> Level | None: ...
    def memory(self, name: str) -> Memory: ...
    def cores_around(self, level: str) -> int: ...
    def caches_of(self, engine: str, memory: str) -> tuple[Cache, ...]: ...


class Violation(msgspec.Struct, frozen=True):
    """An inconsistency in a machine and its place: section ("memories", "vtcm") and key. Machine files turn it into a line."""

    code: str
    message: str
    section: tuple[str, ...]
    key: str
    found: str
    expected: str
    fix: tuple[str, ...] = ()


def violation_error(violation: Violation) -> MachineError:
    return refuse(
        violation.code, violation.message, found=violation.found, expected=violation.expected, fix=violation.fix
    )


def find_violation(machine: Parted) -> Violation | None:
    """Returns the first inconsistency of a well-typed machine, or None."""
    owners: dict[str, str] = {}
    for memory in machine.memories:
        violation = _scope_violation(memory, owners) or _bank_violation(memory)
        if violation is not None:
            return violation
        owners.update(dict.fromkeys((*memory.scopes, *memory.block_scopes), memory.name))
    names = [m.name for m in machine.memories]
    for engine in machine.engines:
        for key, reach in (("reads", engine.reads), ("writes", engine.writes)):
            violation = _reach_violation(engine, key, reach, names)
            if violation is not None:
                return violation
        violation = _table_violation(engine)
        if violation is not None:
            return violation
        if isinstance(engine, DmaEngine) and engine.channels > 1 and engine.unit:
            message = (
                f"engine {engine.name!r} has channels that run at the same time, but shares the unit {engine.unit!r}"
            )
            found = f'channels = {engine.channels}, unit = "{engine.unit}"'
            return Violation("channels-in-unit", message, ("engines", engine.name), "channels", found, "one of the two")
        if isinstance(engine, SystolicEngine) and engine.weights == "double" and engine.dataflow == "output_stationary":
            message = f"engine {engine.name!r} has two registers for an operand, but no operand is stationary"
            expected = 'dataflow = "weight_stationary" or "input_stationary"'
            return Violation("no-weights", message, ("engines", engine.name), "weights", "output_stationary", expected)
    violation = _unit_violation(machine.engines)
    if violation is not None:
        return violation
    for bus in machine.buses:
        violation = _engines_violation(bus, "buses", machine)
        if violation is not None:
            return violation
    for cache in machine.caches:
        violation = _cache_violation(cache, machine)
        if violation is not None:
            return violation
    violation = _level_violation(machine)
    if violation is not None:
        return violation
    for link in machine.links:
        violation = _link_violation(link, machine)
        if violation is not None:
            return violation
    if not machine.engines:
        expected = "at least one [engines.NAME]"
        return Violation("no-engine", "the machine has no engine", ("engines",), "", "none", expected)
    return None


def _scope_violation(memory: Memory, owners: Mapping[str, str]) -> Violation | None:
    section = ("memories", memory.name)
    if not memory.scopes:
        message = f"memory {memory.name!r} has no scope"
        return Violation("no-scope", message, section, "scopes", "[]", 'at least one storage scope, such as "global"')
    own = (*memory.scopes, *memory.block_scopes)
    for number, scope in enumerate(own):
        owner = memory.name if scope in own[:number] else owners.get(scope)
        if owner is not None:
            message = f"scope {scope!r} already belongs to memory {owner!r}"
            key = "scopes" if number < len(memory.scopes) else "block_scopes"
            return Violation("scope-taken", message, section, key, repr(scope), "each scope in exactly one memory")
    return None


def _bank_violation(memory: Memory) -> Violation | None:
    section = ("memories", memory.name)
    if memory.capacity_bytes % memory.banks:
        message = f"memory {memory.name!r} cannot be divided into {memory.banks} equal banks"
        found = f"{memory.capacity_bytes} bytes in {memory.banks} banks"
        return Violation("uneven-banks", message, section, "banks", found, "banks that divide capacity_bytes")
    if memory.mapping == "interleave" and memory.banks > 1 and memory.interleave_bytes == 0:
        message = f"memory {memory.name!r} interleaves its banks without a row size"
        expected = "interleave_bytes: the bytes per row of a bank"
        return Violation(
            "no-interleave", message, section, "mapping", "no interleave_bytes", expected, ("interleave_bytes = 32",)
        )
    if memory.block_ports == "own" and memory.bank_groups:
        message = f"the banks of a group of memory {memory.name!r} share its ports, so they cannot have their own"
        return Violation(
            "uneven-banks", message, section, "block_ports", f"{memory.bank_groups} groups", "no bank_groups"
        )
    if memory.has_own_ports and any(
        n % memory.banks for n in (memory.read_bytes_per_cycle, memory.write_bytes_per_cycle)
    ):
        message = f"the ports of memory {memory.name!r} cannot be divided among its banks"
        found = (
            f"{memory.read_bytes_per_cycle} and {memory.write_bytes_per_cycle} bytes per cycle, {memory.banks} banks"
        )
        return Violation("uneven-banks", message, section, "block_ports", found, "widths that the banks divide")
    if memory.bank_groups and (memory.mapping == "block" or memory.banks % memory.bank_groups):
        message = f"memory {memory.name!r} cannot divide its banks into {memory.bank_groups} equal groups"
        found = f"{memory.banks} banks, mapping {memory.mapping}"
        expected = 'groups that divide the banks, and mapping = "interleave"'
        return Violation("uneven-banks", message, section, "bank_groups", found, expected)
    if memory.interleave_bytes and (memory.capacity_bytes // memory.banks) % memory.interleave_bytes:
        message = f"a bank of memory {memory.name!r} is not a multiple of its rows of {memory.interleave_bytes} bytes"
        found = f"{memory.capacity_bytes // memory.banks} bytes per bank"
        expected = "interleave_bytes that divide a bank"
        return Violation("uneven-banks", message, section, "interleave_bytes", found, expected)
    return None


def _reach_violation(engine: Engine, key: str, reach: Sequence[str], names: Sequence[str]) -> Violation | None:
    section, known = ("engines", engine.name), ", ".join(names)
    if not reach:
        return Violation(
            "no-reach", f"engine {engine.name!r} {key} nothing", section, key, "[]", f"one or more of {known}"
        )
    for name in reach:
        if name not in names:
            message = f"engine {engine.name!r} {key} an unknown memory {name!r}"
            return Violation("unknown-memory", message, section, key, repr(name), known)
    return None


def _table_violation(engine: Engine) -> Violation | None:
    """Checks the names in an engine's tables: operations, or data types."""
    for key in TABLES:
        for name, _ in getattr(engine, key, ()):
            known = name in RATED if key == "rates" else dt.is_valid(name)
            if not known:
                message = f"{key} of engine {engine.name!r} names an unknown {'operation' if key == 'rates' else 'type'} {name!r}"
                expected = ", ".join(RATED) if key == "rates" else "data types, such as int8 or float16"
                return Violation("unknown-name", message, ("engines", engine.name), key, repr(name), expected)
    return None


def _unit_violation(engines: Sequence[Engine]) -> Violation | None:
    """Checks that engines of one unit have queues of equal size."""
    queues: dict[str, Engine] = {}
    for engine in engines:
        first = queues.setdefault(engine.unit, engine)
        if engine.unit and engine.queue_tasks != first.queue_tasks:
            message = f"engines {first.name!r} and {engine.name!r} of unit {engine.unit!r} have different queues"
            found = f"queues of {first.queue_tasks} and {engine.queue_tasks} tasks"
            expected = f"queue_tasks = {first.queue_tasks} in both"
            return Violation("uneven-queues", message, ("engines", engine.name), "queue_tasks", found, expected)
    return None


def _engines_violation(part: Cache | Bus, group: str, machine: Parted) -> Violation | None:
    """Checks that the engines of a cache or a bus exist."""
    names = [e.name for e in machine.engines]
    what = "cache" if isinstance(part, Cache) else "bus"
    unknown = next((e for e in part.engines if e not in names), None)
    if unknown is None and part.engines:
        return None
    message = f"{what} {part.name!r} is used by {'no engine' if unknown is None else f'an unknown engine {unknown!r}'}"
    found = repr(unknown or [])
    return Violation("unknown-engine", message, (group, part.name), "engines", found, ", ".join(names))


def _cache_violation(cache: Cache, machine: Parted) -> Violation | None:
    section = ("caches", cache.name)
    memories = [m.name for m in machine.memories]
    if cache.memory not in memories:
        message = f"cache {cache.name!r} is in front of an unknown memory {cache.memory!r}"
        return Violation("unknown-memory", message, section, "memory", repr(cache.memory), ", ".join(memories))
    violation = _engines_violation(cache, "caches", machine)
    if violation is not None:
        return violation
    if cache.size_bytes % (cache.ways * cache.line_bytes):
        message = f"cache {cache.name!r} cannot be divided into sets of {cache.ways} lines of {cache.line_bytes} bytes"
        expected = f"a multiple of {cache.ways * cache.line_bytes}"
        return Violation("uneven-sets", message, section, "size_bytes", f"{cache.size_bytes} bytes", expected)
    if cache.replacement == "plru" and cache.ways & (cache.ways - 1):
        message = f"a tree of bits cannot divide the {cache.ways} ways of cache {cache.name!r}"
        return Violation("uneven-ways", message, section, "ways", f"{cache.ways} ways", "a power of two")
    for engine in cache.engines:
        levels = machine.caches_of(engine, cache.memory)
        inner = levels[: levels.index(cache)][-1:]
        if cache.prefetch_lines and inner:
            message = (
                f"cache {cache.name!r} prefetches, but engines do not access it: {inner[0].name!r} is in front of it"
            )
            found = f"{cache.prefetch_lines} lines"
            return Violation(
                "prefetch-level", message, section, "prefetch_lines", found, f"a prefetcher of {levels[0].name!r}"
            )
        if cache.inclusion != "non-inclusive" and not inner:
            message = f"cache {cache.name!r} is {cache.inclusion}, but has no previous level"
            return Violation("no-previous-level", message, section, "inclusion", cache.inclusion, "non-inclusive")
        if cache.inclusion == "exclusive" and cache.line_bytes != inner[0].line_bytes:
            message = f"cache {cache.name!r} takes whole lines of {inner[0].name!r}, the previous level, which are of another size"
            found = f"{cache.line_bytes} bytes"
            return Violation("uneven-lines", message, section, "line_bytes", found, f"{inner[0].line_bytes} bytes")
        if inner and cache.line_bytes % inner[0].line_bytes:
            message = (
                f"a line of cache {cache.name!r} is not a multiple of a line of {inner[0].name!r}, the previous level"
            )
            expected = f"a multiple of {inner[0].line_bytes}"
            return Violation("uneven-lines", message, section, "line_bytes", f"{cache.line_bytes} bytes", expected)
    return None


def _level_violation(machine: Parted) -> Violation | None:
    """Checks that levels are nested in each other, and that engines belong to the cores."""
    names = [level.name for level in machine.levels]
    known = ", ".join(names) or "no level"
    around: dict[str, str] = {}
    for level in machine.levels:
        section = ("levels", level.name)
        if level.within and level.within not in names:
            message = f"level {level.name!r} is in an unknown level {level.within!r}"
            return Violation("unknown-level", message, section, "in", repr(level.within), known)
        if level.within in around:
            message = f"levels {around[level.within]!r} and {level.name!r} are both in {level.within or 'the chip'}"
            return Violation(
                "levels-apart", message, section, "in", repr(level.within), "levels that are nested in each other"
            )
        around[level.within] = level.name
        for key in ("register_memories", "shared_memories"):
            of_cores = [m.name for m in machine.memories if m.level == level.name]
            for name in (n for n in getattr(level, key) if n not in of_cores):
                message = f"{key} of level {level.name!r} names {name!r}, which is no memory of this level"
                return Violation("unknown-memory", message, section, key, repr(name), ", ".join(of_cores))
    nested, here = 0, ""
    while (here := around.get(here, "")) and nested < len(names):
        nested += 1
    if nested < len(names):
        section = ("levels", names[0])
        return Violation(
            "levels-apart", "levels are in each other", section, "in", known, "one level in the chip, others in it"
        )
    core = machine.core
    for group in ("memories", "engines", "buses"):
        for part in getattr(machine, group):
            section = (group, part.name)
            if part.level and part.level not in names:
                message = f"{part.name!r} belongs to an unknown level {part.level!r}"
                return Violation("unknown-level", message, section, "level", repr(part.level), known)
            if group == "engines" and core is not None and part.level != core.name:
                message = f"engine {part.name!r} does not belong to the cores"
                found = repr(part.level) if part.level else "the chip"
                return Violation("engine-level", message, section, "level", found, f'level = "{core.name}"')
    return _shared_cache_violation(machine) if core is not None and machine.caches else None


def _shared_cache_violation(machine: Parted) -> Violation | None:
    """Checks that the cores share one cache, in front of a memory of the chip, whose contents are simulated for all of them."""
    cache = machine.caches[0]
    behind = next(m for m in machine.memories if m.name == cache.memory)
    checks = (
        (len(machine.caches) == 1, "memory", f"{len(machine.caches)} caches", "one cache that all cores share"),
        (not behind.level, "memory", f"a memory of each {behind.level}", "a memory of the chip"),
        (cache.replacement == "lru", "replacement", cache.replacement, "lru"),
        (not cache.prefetch_lines, "prefetch_lines", str(cache.prefetch_lines), "0"),
        (behind.block_ports == "common", "memory", "ports of blocks", "a memory without ports of its blocks"),
    )
    for holds, key, found, expected in checks:
        if not holds:
            message = f"the cores share cache {cache.name!r}, of which the simulator does not know such contents"
            return Violation("shared-cache", message, ("caches", cache.name), key, found, expected)
    return None


def _link_violation(link: Link, machine: Parted) -> Violation | None:
    """Checks that a link is between memories of different levels, and that its nodes exist."""
    section, names = ("links", link.name), [m.name for m in machine.memories]
    for key, name in (("from", link.origin), ("to", link.target)):
        if name not in names:
            message = f"link {link.name!r} is at an unknown memory {name!r}"
            return Violation("unknown-memory", message, section, key, repr(name), ", ".join(names))
    nodes = nodes_of(link, machine)
    if nodes is None:
        message = f"link {link.name!r} is between memories of one level: {link.origin!r} and {link.target!r}"
        expected = "a memory of the cores, and one around them"
        return Violation("link-level", message, section, "to", repr(link.target), expected)
    if link.row_nodes and nodes % link.row_nodes:
        message = f"the {nodes} nodes of link {link.name!r} make no rows of {link.row_nodes}"
        return Violation(
            "uneven-links", message, section, "row_nodes", str(link.row_nodes), f"a number that divides {nodes}"
        )
    if not attached_nodes(link, machine):
        message = f"link {link.name!r} is attached to none of its nodes"
        found, expected = str([*link.attached]), f"a node from 0 to {nodes - 1}"
        return Violation("link-node", message, section, "attached", found, expected)
    core = machine.core
    if link.multicast and outer_memory(link, machine) != link.origin:
        message = f"link {link.name!r} has multicast, but its transfers come from cores"
        return Violation(
            "link-multicast", message, section, "multicast", f"from {link.origin!r}", f"a link from {link.target!r}"
        )
    if link.multicast and core is not None and core.dispatch == "first_free":
        message = f"link {link.name!r} has multicast, but blocks go to the core that is free first: no cores run a wave together"
        expected = 'dispatch = "persistent", "round_robin" or "static"'
        return Violation("link-multicast", message, section, "multicast", "first_free", expected)
    return None
