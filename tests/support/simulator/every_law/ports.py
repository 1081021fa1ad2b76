"""The ports of a machine, and the cycles of each that the bytes of a task need."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tilewright.engine.hwsim import DmaEngine, Engine, Machine, Memory

from .banks import shares
from .work import Moved, over


class Port(NamedTuple):
    """A port of a memory, a physical block or a bank, or a bus: its rate, and the cycles of a grant."""

    name: str
    bytes_per_cycle: int
    grant: int


def demands_of(engine: Engine, machine: Machine, moved: Iterable[Moved]) -> Counter[Port]:
    """Cycles of each port."""
    sizes: Counter[Port] = Counter()
    carried = 0
    own: dict[tuple[str, bool], list[Moved]] = defaultdict(list)
    for m in moved:
        memory = m.placement.memory
        if machine.caches_of(engine.name, memory.name):
            continue
        carried += m.bytes if m.written or not isinstance(engine, DmaEngine) else 0
        if memory.block_ports == "own" and memory.banks > 1:
            own[m.placement.buffer.name, m.written].append(m)
        else:
            sizes[_port(memory, "", 1, m.written)] += m.bytes
    for bus in machine.buses:
        if engine.name in bus.engines:
            sizes[Port(bus.name, bus.bytes_per_cycle, over(bus.burst_bytes, bus.bytes_per_cycle))] += carried
    for pieces in own.values():
        _spread(pieces, sizes)
    return Counter({port: over(size, port.bytes_per_cycle) for port, size in sizes.items() if size})


def _spread(pieces: list[Moved], sizes: Counter[Port]) -> None:
    """The bytes of a buffer are distributed evenly over the ports of the cells' blocks, or of the rows' banks."""
    first = pieces[0]
    memory, operands = first.placement.memory, [o for m in pieces for o in m.operands]
    if memory.mapping == "interleave":
        parts = shares(memory, operands)
    else:
        cells = {c for o in operands for c in o.cells}
        parts = Counter(first.placement.bank_of(c) for c in range(min(cells), max(cells) + 1))
    for m in pieces:
        for part, count in parts.items():
            sizes[_port(memory, f"[{part}]", memory.banks, m.written)] += over(m.bytes * count, parts.total())


def _port(memory: Memory, part: str, parts: int, written: bool) -> Port:
    shared = memory.ports == "shared"
    width = memory.write_bytes_per_cycle if written and not shared else memory.read_bytes_per_cycle
    burst = memory.interleave_bytes if part and memory.mapping == "interleave" else memory.burst_bytes
    side = "" if shared else " writes" if written else " reads"
    return Port(f"{memory.name}{part}{side}", width // parts, over(burst, width // parts))
