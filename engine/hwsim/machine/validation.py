"""Consistency checks on a machine whose parameters are well-typed: an error has its place, the value found and the value expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from ..errors import MachineError, refuse
from .parts import Bus, Cache, Engine, Memory


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
    def caches_of(self, engine: str, memory: str) -> tuple[Cache, ...]: ...


class Complaint(msgspec.Struct, frozen=True):
    """An inconsistency in a machine and its place: section ("memories", "vtcm") and key. Machine files turn it into a line."""

    code: str
    message: str
    section: tuple[str, ...]
    key: str
    found: str
    expected: str
    fix: tuple[str, ...] = ()


def complaint_error(complaint: Complaint) -> MachineError:
    return refuse(
        complaint.code, complaint.message, found=complaint.found, expected=complaint.expected, fix=complaint.fix
    )


def find_complaint(machine: Parted) -> Complaint | None:
    """Returns the first inconsistency of a well-typed machine, or None."""
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
    complaint = _unit_complaint(machine.engines)
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
        message = f"memory {memory.name!r} has no scope"
        return Complaint("no-scope", message, section, "scopes", "[]", 'at least one storage scope, such as "global"')
    own = (*memory.scopes, *memory.block_scopes)
    for number, scope in enumerate(own):
        owner = memory.name if scope in own[:number] else taken.get(scope)
        if owner is not None:
            message = f"scope {scope!r} already belongs to memory {owner!r}"
            key = "scopes" if number < len(memory.scopes) else "block_scopes"
            return Complaint("scope-taken", message, section, key, repr(scope), "each scope in exactly one memory")
    return None


def _bank_complaint(memory: Memory) -> Complaint | None:
    section = ("memories", memory.name)
    if memory.capacity_bytes % memory.banks:
        message = f"memory {memory.name!r} cannot be divided into {memory.banks} equal banks"
        found = f"{memory.capacity_bytes} bytes in {memory.banks} banks"
        return Complaint("uneven-banks", message, section, "banks", found, "banks that divide capacity_bytes")
    if memory.mapping == "interleave" and memory.banks > 1 and memory.interleave_bytes == 0:
        message = f"memory {memory.name!r} interleaves its banks without a row size"
        expected = "interleave_bytes: the bytes per row of a bank"
        return Complaint(
            "no-interleave", message, section, "mapping", "no interleave_bytes", expected, ("interleave_bytes = 32",)
        )
    if memory.bank_groups and (memory.mapping == "block" or memory.banks % memory.bank_groups):
        message = f"memory {memory.name!r} cannot divide its banks into {memory.bank_groups} equal groups"
        found = f"{memory.banks} banks, mapping {memory.mapping}"
        expected = 'groups that divide the banks, and mapping = "interleave"'
        return Complaint("uneven-banks", message, section, "bank_groups", found, expected)
    if memory.interleave_bytes and (memory.capacity_bytes // memory.banks) % memory.interleave_bytes:
        message = f"a bank of memory {memory.name!r} is not a multiple of its rows of {memory.interleave_bytes} bytes"
        found = f"{memory.capacity_bytes // memory.banks} bytes per bank"
        expected = "interleave_bytes that divide a bank"
        return Complaint("uneven-banks", message, section, "interleave_bytes", found, expected)
    return None


def _reach_complaint(engine: Engine, key: str, reach: Sequence[str], names: Sequence[str]) -> Complaint | None:
    section, known = ("engines", engine.name), ", ".join(names)
    if not reach:
        return Complaint(
            "no-reach", f"engine {engine.name!r} {key} nothing", section, key, "[]", f"one or more of {known}"
        )
    for name in reach:
        if name not in names:
            message = f"engine {engine.name!r} {key} an unknown memory {name!r}"
            return Complaint("unknown-memory", message, section, key, repr(name), known)
    return None


def _unit_complaint(engines: Sequence[Engine]) -> Complaint | None:
    """Checks that engines of one unit have queues of equal size."""
    queues: dict[str, Engine] = {}
    for engine in engines:
        first = queues.setdefault(engine.unit, engine)
        if engine.unit and engine.queue_tasks != first.queue_tasks:
            message = f"engines {first.name!r} and {engine.name!r} of unit {engine.unit!r} have different queues"
            found = f"queues of {first.queue_tasks} and {engine.queue_tasks} tasks"
            expected = f"queue_tasks = {first.queue_tasks} in both"
            return Complaint("uneven-queues", message, ("engines", engine.name), "queue_tasks", found, expected)
    return None


def _engines_complaint(part: Cache | Bus, group: str, machine: Parted) -> Complaint | None:
    """Checks that the engines of a cache or a bus exist."""
    names = [e.name for e in machine.engines]
    what = "cache" if isinstance(part, Cache) else "bus"
    unknown = next((e for e in part.engines if e not in names), None)
    if unknown is None and part.engines:
        return None
    message = f"{what} {part.name!r} is used by {'no engine' if unknown is None else f'an unknown engine {unknown!r}'}"
    found = repr(unknown or [])
    return Complaint("unknown-engine", message, (group, part.name), "engines", found, ", ".join(names))


def _cache_complaint(cache: Cache, machine: Parted) -> Complaint | None:
    section = ("caches", cache.name)
    memories = [m.name for m in machine.memories]
    if cache.memory not in memories:
        message = f"cache {cache.name!r} is in front of an unknown memory {cache.memory!r}"
        return Complaint("unknown-memory", message, section, "memory", repr(cache.memory), ", ".join(memories))
    complaint = _engines_complaint(cache, "caches", machine)
    if complaint is not None:
        return complaint
    if cache.size_bytes % (cache.ways * cache.line_bytes):
        message = f"cache {cache.name!r} cannot be divided into sets of {cache.ways} lines of {cache.line_bytes} bytes"
        expected = f"a multiple of {cache.ways * cache.line_bytes}"
        return Complaint("uneven-sets", message, section, "size_bytes", f"{cache.size_bytes} bytes", expected)
    for engine in cache.engines:
        levels = machine.caches_of(engine, cache.memory)
        inner = levels[: levels.index(cache)][-1:]
        if inner and cache.line_bytes % inner[0].line_bytes:
            message = (
                f"a line of cache {cache.name!r} is not a multiple of a line of {inner[0].name!r}, the previous level"
            )
            expected = f"a multiple of {inner[0].line_bytes}"
            return Complaint("uneven-lines", message, section, "line_bytes", f"{cache.line_bytes} bytes", expected)
    return None
