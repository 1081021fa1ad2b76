"""A machine as a value: memories that implement storage scopes, engines that read and write them, caches and buses between.

A machine is frozen and hashable. `replace` returns a modified machine that has passed the same checks as a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec.structs import replace as replace_fields

from ..errors import refuse
from .parts import (
    GROUPS,
    Bus,
    Cache,
    DmaEngine,
    Engine,
    Level,
    Link,
    Memory,
    Part,
    Positive,
    Sources,
    SystolicEngine,
    described,
    listed_tables,
)
from .validation import find_violation, violation_error


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memories and engines, in the order of the file: if two engines can run a task, the first runs it."""

    name: Annotated[str, described("Name of the machine.")]
    clock_hz: Annotated[Positive, described("Cycles per second; converts cycles to seconds.")]
    memories: tuple[Memory, ...]
    engines: tuple[Engine, ...]
    caches: tuple[Cache, ...] = ()
    buses: tuple[Bus, ...] = ()
    levels: tuple[Level, ...] = ()
    links: tuple[Link, ...] = ()
    description: Annotated[str, described("One-line description.")] = ""
    source: Sources = ()

    def __repr__(self) -> str:
        memories = ", ".join(f"{m.name} ({', '.join(m.scopes)})" for m in self.memories)
        return f"<Machine {self.name!r}: memories {memories}; engines {', '.join(e.name for e in self.engines)}>"

    @property
    def far(self) -> Memory:
        """The largest memory, where all data starts and ends."""
        return max(self.memories, key=lambda m: m.capacity_bytes)

    def find_memory(self, scope: str) -> Memory | None:
        """Returns the memory that implements a storage scope, or None."""
        return next((m for m in self.memories if scope in (*m.scopes, *m.block_scopes)), None)

    def memory(self, name: str) -> Memory:
        """Returns the memory called `name`. Raises KeyError."""
        return _named(self.memories, name)

    def engine(self, name: str) -> Engine:
        """Returns the engine called `name`. Raises KeyError."""
        return _named(self.engines, name)

    @property
    def core(self) -> Level | None:
        """The innermost level; None if the machine has no levels and is one core."""
        around = {level.within for level in self.levels}
        return next((level for level in self.levels if level.name not in around), None)

    @property
    def cores(self) -> int:
        """The number of cores."""
        return prod(level.count for level in self.levels)

    def cores_around(self, level: str) -> int:
        """Returns the number of cores in one instance of a level; of the chip for ""."""
        names, found = {lv.within: lv for lv in self.levels}, 1
        while (inside := names.get(level)) is not None:
            found, level = found * inside.count, inside.name
        return found

    @property
    def shared_levels(self) -> frozenset[str]:
        """The levels whose instances have several cores; "" is the chip."""
        return frozenset(name for name in ("", *(level.name for level in self.levels)) if self.cores_around(name) > 1)

    @property
    def thread_memories(self) -> tuple[Memory, ...]:
        """The memories on chip that the threads of a block share, while their registers are elsewhere."""
        kinds = {m.name: {scope.partition(".")[0] for scope in m.scopes} for m in self.memories}
        shared = (m for m in self.memories if m is not self.far)
        return tuple(m for m in shared if "shared" in kinds[m.name] and "local" not in kinds[m.name])

    def caches_of(self, engine: str, memory: str) -> tuple[Cache, ...]:
        """Returns the cache levels between an engine and a memory, the nearest to the engine first."""
        return tuple(c for c in self.caches if c.memory == memory and engine in c.engines)

    @property
    def shared_cache(self) -> Cache | None:
        """The cache that all cores share; None if the machine is one core, whose caches are its own."""
        return next(iter(self.caches), None) if self.levels else None

    @property
    def before_caches(self) -> Machine:
        """This machine as its cores see it: the memory behind a shared cache has the rates and the latency of the cache."""
        cache = self.shared_cache
        if cache is None:
            return self
        rates = {"read_bytes_per_cycle": cache.bytes_per_cycle, "write_bytes_per_cycle": cache.bytes_per_cycle}
        seen = replace_fields(self.memory(cache.memory), ports="separate", latency_cycles=cache.latency_cycles, **rates)
        return replace_fields(
            self, memories=tuple(seen if m.name == seen.name else m for m in self.memories), caches=()
        )

    def buses_of(self, engine: str) -> tuple[Bus, ...]:
        """Returns the buses that an engine's transfers occupy."""
        return tuple(b for b in self.buses if engine in b.engines)

    def links_between(self, origin: str, target: str) -> tuple[Link, ...]:
        """Returns the links that copies from one memory to another occupy."""
        return tuple(link for link in self.links if (link.origin, link.target) == (origin, target))

    @property
    def units(self) -> tuple[int, ...]:
        """The unit number of each engine; an engine without a unit forms a unit alone."""
        names = [e.unit or (e.name,) for e in self.engines]
        numbers = {name: n for n, name in enumerate(dict.fromkeys(names))}
        return tuple(numbers[name] for name in names)

    @property
    def queues(self) -> tuple[int, ...]:
        """The queue capacity of each unit, in tasks."""
        return tuple({n: e.queue_tasks for n, e in zip(self.units, self.engines, strict=True)}.values())

    @property
    def by_channel(self) -> Machine:
        """This machine with an engine for each channel, and a bus for the rate that the channels of an engine share."""
        shared = [e for e in self.engines if isinstance(e, DmaEngine) and e.channels > 1]
        if not shared:
            return self
        split = {e.name: channels_of(e) for e in self.engines}
        return replace_fields(
            self,
            engines=tuple(channel for e in self.engines for channel in split[e.name]),
            caches=tuple(_by_channel(cache, split) for cache in self.caches),
            buses=(*(_by_channel(bus, split) for bus in self.buses), *(_rate(e, split, self.memories) for e in shared)),
        )

    @property
    def longest_preload(self) -> int:
        """The largest number of cycles by which an operand has to be ready before a task starts."""
        return max((e.preload_cycles for e in self.engines if isinstance(e, SystolicEngine)), default=0)

    @property
    def unit_names(self) -> tuple[str, ...]:
        return tuple({n: e.unit or e.name for n, e in zip(self.units, self.engines, strict=True)}.values())

    def replace(self, path: str, value: object) -> Machine:
        """Returns this machine with one parameter changed: "memories.vtcm.banks", "local.vtcm.banks" by scope, "engines.dma.setup_cycles",
        "clock_hz". A new `queue_tasks` applies to all engines of a unit.

        Raises MachineError for an unknown path or a value that a machine file could not have either.
        """
        owner, _, field = path.rpartition(".")
        if not owner:
            return _checked(_with_field(self, path, value, path))
        group, part = self._part(owner, path)
        changed = {part.name: _with_field(part, field, value, path)}
        if field == "queue_tasks":
            mates = (e for e in self.engines if e.unit and e.unit == self.engine(part.name).unit)
            changed |= {e.name: _with_field(e, field, value, path) for e in mates}
        parts = tuple(changed.get(p.name, p) for p in self.parts(group))
        return _checked(replace_fields(self, **{group: parts}))

    def full_path(self, path: str) -> str:
        """Returns a parameter's path with its group: "memories.vtcm.banks" for "local.vtcm.banks". Raises MachineError if unknown."""
        owner, _, field = path.rpartition(".")
        if not owner:
            return path
        group, part = self._part(owner, path)
        return f"{group}.{part.name}.{field}"

    def figure(self, path: str) -> Any:
        """Returns the parameter at a path of `replace`. Raises MachineError for an unknown one."""
        owner, _, field = path.rpartition(".")
        part = self._part(owner, path)[1] if owner else self
        if field not in part.__struct_fields__:
            raise refuse("unknown-figure", f"there is no parameter {field!r}", found=path)
        return getattr(part, field)

    def parts(self, group: str) -> tuple[Part, ...]:
        """Returns the memories, engines, caches, buses, levels or links."""
        return cast("tuple[Part, ...]", getattr(self, group))

    def _part(self, owner: str, path: str) -> tuple[str, Part]:
        """Returns the part that the front of a path names, and its group: "memories.vtcm", "engines.dma", a scope, or only the name."""
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


def channels_of(engine: Engine) -> tuple[Engine, ...]:
    """Returns an engine for each channel of a DMA, called "dma[0]", "dma[1]"; other engines as they are."""
    if not isinstance(engine, DmaEngine) or engine.channels == 1:
        return (engine,)
    return tuple(replace_fields(engine, name=f"{engine.name}[{n}]", channels=1) for n in range(engine.channels))


def engine_of_channel(name: str) -> str:
    """Returns the name of the engine that a channel belongs to: "dma" for "dma[1]"."""
    return name.partition("[")[0]


P = TypeVar("P", Bus, Cache)
Split = Mapping[str, tuple[Engine, ...]]
"""The channels of each engine."""


def _by_channel(part: P, split: Split) -> P:
    return replace_fields(part, engines=tuple(channel.name for name in part.engines for channel in split[name]))


def _rate(engine: DmaEngine, split: Split, memories: Sequence[Memory]) -> Bus:
    """Returns the copy rate of an engine as a bus: its channels are granted the largest burst of the memories that they reach."""
    burst = max(m.burst_bytes for m in memories if m.name in (*engine.reads, *engine.writes))
    channels = tuple(c.name for c in split[engine.name])
    return Bus(f"{engine.name} channels", channels, engine.bytes_per_cycle, burst, engine.level)


N = TypeVar("N", Memory, Engine)
S = TypeVar("S", bound=Machine | Part)


def _named(parts: tuple[N, ...], name: str) -> N:
    for part in parts:
        if part.name == name:
            return part
    raise KeyError(name)


CHANGED = "changed by Machine.replace"
"""The source of a parameter that `replace` has changed."""


def _with_field(part: S, field: str, value: object, path: str) -> S:
    """Returns `part` with one parameter changed and checked."""
    table = cast("dict[str, Any]", msgspec.to_builtins(part))
    fixed = ("kind", "name", "source", *(GROUPS if isinstance(part, Machine) else ()))
    if field not in table or field in fixed:
        figures = [f for f in table if f not in fixed]
        raise refuse(
            "unknown-figure", f"there is no parameter {field!r} to change", found=path, expected=", ".join(figures)
        )
    table[field] = value
    table["source"] = [(key, text) for key, text in part.source if key != field] + [(field, CHANGED)]
    try:
        return msgspec.convert(listed_tables(table), type(part))
    except msgspec.ValidationError as error:
        raise refuse("bad-figure", f"{path} cannot be {value!r}", found=repr(value),
                     expected=str(error).partition(" - at ")[0]) from None  # fmt: skip


def _checked(machine: Machine) -> Machine:
    require_consistent(machine)
    return machine


# Each scope belongs to one memory, engines name memories that exist, blocks divide the capacity.
def require_consistent(machine: Machine) -> None:
    violation = find_violation(machine)
    if violation is not None:
        raise violation_error(violation)
