"""Ports and buses for the bytes of tasks: the cycles of each that a task needs, and those that several engines share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product

import msgspec

from ...cancellation import checkpoint
from ...ir import Buffer
from ..machine.links import attached_nodes, is_routed, outer_memory
from ..machine.model import Machine
from ..machine.parts import Bus, DmaEngine, Engine, Link, Memory
from ..replay.clocks import Variant


class PortSpec(msgspec.Struct, frozen=True):
    """A port of a memory, a bus, or a segment of a link. It is granted for `burst_cycles` at a time, the duration of a whole burst. Each
    instance of `level` has one, and as many segments as the `link` with this name has. A transfer goes over one of its segments at least
    for the part `ways` of its cycles; one of all segments is busy at least for the part `spread` of the cycles of all transfers. With
    `elements` each element of a buffer that tasks update atomically has one.
    """

    name: str
    bytes_per_cycle: int
    burst_cycles: int
    level: str = ""
    link: str = ""
    ways: int = 1
    spread: int = 1
    elements: bool = False


class PortUser(msgspec.Struct, frozen=True, eq=False):
    """Tasks of one kind from the view of ports: their unit, the ports they may use, the cells that each provably reads and writes."""

    unit: int
    ports: tuple[PortSpec, ...]
    reads: frozenset[int]
    writes: frozenset[int]

    def excludes(self, other: PortUser) -> bool:
        """Returns whether the two never run at the same time: they share a unit, or one waits for cells that the other holds."""
        return (
            self.unit == other.unit
            or not self.writes.isdisjoint(other.writes)
            or not self.writes.isdisjoint(other.reads)
            or not self.reads.isdisjoint(other.writes)
        )

    def has_rival(self, others: Iterable[PortUser]) -> bool:
        """Returns whether one of the others may run at the same time."""
        checkpoint()
        return not all(map(self.excludes, others))


def contended(tasks: Sequence[PortUser], shared: Collection[str] = ()) -> dict[PortSpec, tuple[int, ...]]:
    """Returns the ports that tasks may request concurrently, with the numbers of all tasks that use them: each grant counts for turns.
    Ports of the levels `shared` belong to several cores, which run the same tasks; so do links.
    """
    users: dict[PortSpec, list[int]] = {}
    for number, port_user in enumerate(tasks):
        for port in port_user.ports:
            users.setdefault(port, []).append(number)
    found: dict[PortSpec, tuple[int, ...]] = {}
    for port, numbers in users.items():
        if port.level in shared or port.link or any(tasks[n].has_rival(tasks[m] for m in numbers) for n in numbers):
            found[port] = tuple(numbers)
    return found


def holding_up(
    kinds: Sequence[Variant],
    bursts: Sequence[int],
    crowds: Mapping[int, int] | None = None,
    routed: Collection[int] = (),
) -> dict[int, frozenset[int]]:
    """Returns the ports that can delay tasks of these kinds, each with the engines that request it. `crowds` has the ports that several
    cores share, with their number; `routed` are those of which tasks use different instances: links and ports of elements.

    Before each burst of a task every other engine has at most one burst; if cores share a port, each core has one for each of its engines.
    A port is left out if each task's requests still complete within its duration. Of several ports with equal requests only the last is
    kept.
    """
    found: dict[tuple[object, ...], tuple[int, frozenset[int]]] = {}
    for port, burst in enumerate(bursts):
        asked = [dict(kind.demands).get(port, 0) for kind in kinds]
        longest: dict[int, int] = {}
        for kind, cycles in zip(kinds, asked, strict=True):
            if cycles:
                longest[kind.engine] = max(longest.get(kind.engine, 0), min(cycles, burst))
        cores = (crowds or {}).get(port, 1)
        everyone = sum(longest.values()) if cores == 1 else cores * len(longest) * max(longest.values(), default=0)
        if any(
            kind.setup + cycles + -(-cycles // burst) * (everyone - longest[kind.engine]) > kind.duration
            for kind, cycles in zip(kinds, asked, strict=True)
            if cycles
        ):
            room = tuple(spare[1:] for kind in kinds for spare in kind.spare if spare[0] == port)
            found[port if port in routed else -1, burst, cores, tuple(asked), room] = port, frozenset(longest)
    return dict(found.values())


def memory_port(memory: Memory, *, written: bool) -> PortSpec:
    """Returns the port for reads or writes of a memory."""
    return _port(memory, memory.scope, 1, written=written)


def block_port(memory: Memory, block: int, *, written: bool) -> PortSpec:
    """Returns the port for reads or writes of a physical block or an interleaved bank that has its own. A bank is granted for a row."""
    return _port(memory, f"{memory.scope}[{block}]", memory.banks, written=written)


def _port(memory: Memory, name: str, parts: int, *, written: bool) -> PortSpec:
    shared = memory.ports == "shared"
    width = (memory.write_bytes_per_cycle if written and not shared else memory.read_bytes_per_cycle) // parts
    side = "port" if shared else "write port" if written else "read port"
    burst = memory.interleave_bytes if parts > 1 and memory.has_bank_ports else memory.burst_bytes
    return PortSpec(f"{name} {side}", width, over(burst, width), memory.level)


def atomic_ports(memory: Memory, buffer: Buffer) -> tuple[PortSpec, ...]:
    """Returns the port for atomic updates of a memory, and that of the updated element of a buffer."""
    rate = memory.atomic_bytes_per_cycle
    every = PortSpec(f"{memory.scope} atomics", rate, over(memory.burst_bytes, rate), memory.level)
    if not memory.atomic_cycles:
        return (every,)
    return every, PortSpec(f"elements of {buffer.name}", 1, memory.atomic_cycles, memory.level, elements=True)


def bus_port(bus: Bus) -> PortSpec:
    """Returns a bus as a port."""
    return PortSpec(bus.name, bus.bytes_per_cycle, over(bus.burst_bytes, bus.bytes_per_cycle), bus.level)


def link_port(link: Link, machine: Machine) -> PortSpec:
    """Returns the segments of a link as a port."""
    level = machine.memory(outer_memory(link, machine)).level
    burst = over(link.burst_bytes, link.bytes_per_cycle)
    if not is_routed(link):
        return PortSpec(link.name, link.bytes_per_cycle, burst, level)
    attached = len(attached_nodes(link, machine))
    ways = attached if link.access == "interleaved" else 1
    return PortSpec(link.name, link.bytes_per_cycle, burst, level, link.name, ways, attached)


def link_latency(memories: Sequence[str], machine: Machine) -> int:
    """Returns the delay of copies from the first of these memories to the last, beside that of hops that differ by core."""
    links = machine.links_between(memories[0], memories[-1])
    return max((link.latency_cycles + (0 if is_routed(link) else link.hop_cycles) for link in links), default=0)


def _links(engine: Engine, machine: Machine, moved: Iterable[tuple[Memory, bool]]) -> tuple[Link, ...]:
    """Returns the links of a copy."""
    if not machine.links or not isinstance(engine, DmaEngine):
        return ()
    sides = [(memory.name, written) for memory, written in moved]
    pairs = product([name for name, written in sides if not written], [name for name, written in sides if written])
    return tuple(dict.fromkeys(link for pair in pairs for link in machine.links_between(*pair)))


def ports_of(
    engine: Engine, machine: Machine, sides: Sequence[tuple[Memory, Sequence[int], bool]]
) -> tuple[PortSpec, ...]:
    """Returns all ports that an engine uses for its accesses to memories, in these physical blocks or all interleaved banks, each read or
    written.
    """
    found: dict[PortSpec, None] = {}
    for memory, blocks, written in sides:
        if memory.has_own_ports:
            parts = range(memory.banks) if memory.has_bank_ports else blocks
            found.update(dict.fromkeys(block_port(memory, part, written=written) for part in parts))
        else:
            found[memory_port(memory, written=written)] = None
    links = _links(engine, machine, [(memory, written) for memory, _, written in sides])
    return (*found, *map(bus_port, machine.buses_of(engine.name)), *(link_port(link, machine) for link in links))


def demands(engine: Engine, machine: Machine, moved: Sequence[tuple[Memory, bool, int]]) -> dict[PortSpec, int]:
    """Returns the cycles of each port for a task, as `port_bytes` has its bytes."""
    return cycles_of_ports(port_bytes(engine, machine, moved))


def port_bytes(engine: Engine, machine: Machine, moved: Sequence[tuple[Memory, bool, int]]) -> dict[PortSpec, int]:
    """Returns the bytes at each port of a task that moves these bytes (memory, whether written, bytes), without ports of physical blocks.
    A copy occupies a bus or a link once; reads and writes of other engines occupy a bus both ways.
    """
    sizes: dict[PortSpec, int] = {}
    total = 0
    for memory, written, size in moved:
        if not memory.has_own_ports:
            port = memory_port(memory, written=written)
            sizes[port] = sizes.get(port, 0) + size
        total += size if written or not isinstance(engine, DmaEngine) else 0
    for bus in machine.buses_of(engine.name):
        sizes[bus_port(bus)] = total
    for link in _links(engine, machine, [(memory, written) for memory, written, _ in moved]):
        # Zeros of a padded copy are made behind it, functions of a copy before it.
        sent = sum(size for memory, written, size in moved if memory.name == link.origin and not written)
        sizes[link_port(link, machine)] = min(sent, total)
    return {port: size for port, size in sizes.items() if size}


def cycles_of_ports(sizes: Mapping[PortSpec, int]) -> dict[PortSpec, int]:
    """Returns the whole cycles that ports need for these bytes."""
    return {port: over(size, port.bytes_per_cycle) for port, size in sizes.items() if size}


def least_cycles(needed: Mapping[PortSpec, int]) -> int:
    """Returns the cycles that a task takes at least at ports for which it needs these cycles."""
    return max((over(cycles, port.ways) for port, cycles in needed.items()), default=0)


def total_cycles(tasks: Iterable[tuple[PortSpec, int, int, int]]) -> dict[PortSpec, int]:
    """Returns the cycles of ports for tasks: of each its port, its cycles, the bytes that the last of them has room for, and its count.
    Tasks use the room that others leave.
    """
    cycles: Counter[PortSpec] = Counter()
    spare: Counter[PortSpec] = Counter()
    for port, each, left, count in tasks:
        cycles[port] += each * count
        spare[port] += left * count
    return {port: busy - spare[port] // port.bytes_per_cycle for port, busy in cycles.items()}


def block_demands(moved: Iterable[tuple[Memory, bool, int, Sequence[int]]]) -> dict[PortSpec, int]:
    """Returns the cycles of the ports of blocks or banks for these bytes (memory, whether written, bytes, and the blocks of the cells, or
    the banks of the rows, over which they are spread evenly).
    """
    sizes: dict[PortSpec, int] = {}
    for memory, written, size, blocks in moved:
        for block, cells in Counter(blocks).items():
            port = block_port(memory, block, written=written)
            sizes[port] = sizes.get(port, 0) + over(size * cells, len(blocks))
    return cycles_of_ports(sizes)


def over(amount: int, per: int) -> int:
    """Returns `amount / per`, rounded up."""
    return -(-amount // per)
