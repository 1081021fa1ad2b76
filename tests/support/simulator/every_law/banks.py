"""Interleaved banks: the cycles that an access loses, and the rows of each bank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tilewright.engine.hwsim import Memory

from .contiguous import Operations
from .elements import Operand


class Lost(NamedTuple):
    """Accesses (a phase counts as one) and the cycles that they lose."""

    accesses: int
    cycles: int


def is_interleaved(memory: Memory) -> bool:
    return memory.mapping == "interleave" and memory.banks > 1


def rows_of(operand: Operand, index: int) -> range:
    """The rows of all banks that hold bytes of an element."""
    first, row = int(operand.address[index]), operand.placement.memory.interleave_bytes
    return range(first // row, (first + operand.size - 1) // row + 1)


def lost(memory: Memory, group: Sequence[Operand], operations: Operations, thread_lanes: int = 0) -> Lost:
    """The loss of operations that access the operands of a group at once. Each thread has so many consecutive lanes if vectors of threads
    are longer than a row of a bank, else 0."""
    widest = max(o.size for o in group)
    lanes = max(1, memory.phase_bytes // widest) if memory.phase_bytes else 1 << 30
    each = list(zip(operations.number.tolist(), operations.lane.tolist(), strict=True))
    pairs = _in_pairs(each, group[0], thread_lanes) if memory.joined_phases and thread_lanes and len(group) == 1 else ()
    accesses: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, (number, lane) in enumerate(each):
        accesses[number, lane // lanes // (2 if number in pairs else 1)].append(index)
    return Lost(len(accesses), sum(_loss(memory, group, members) for members in accesses.values()))


def _in_pairs(each: Sequence[tuple[int, int]], operand: Operand, thread_lanes: int) -> set[int]:
    """The operations in which threads i and i xor 1, or threads i and i xor 2, access the same address."""
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for index, (number, lane) in enumerate(each):
        found[number][lane] = int(operand.address[index])
    return {
        number
        for number, address in found.items()
        if any(
            all(address.get(lane ^ apart * thread_lanes, here) == here for lane, here in address.items())
            for apart in (1, 2)
        )
    }


def _loss(memory: Memory, group: Sequence[Operand], members: Sequence[int]) -> int:
    """Cycles of the busiest bank beyond those of an even spread. Directions have separate ports unless they share them; a bank of a
    group serves one row in a cycle, whatever the direction."""
    rows: list[tuple[bool, int]] = []
    for operand in group:
        touched = [row for index in members for row in rows_of(operand, index)]
        rows += [(operand.written, row) for row in (set(touched) if memory.broadcast else touched)]
    groups, ports = memory.bank_groups or memory.banks, memory.bank_ports
    sides = [rows] if memory.ports == "shared" else [[r for r in rows if r[0] is side] for side in (False, True)]
    used = ideal = 0
    for side in sides:
        busiest = max(Counter(row % groups for _, row in side).values(), default=0)
        used = max(used, -(-busiest // ports))
        ideal = max(ideal, -(-len(side) // (ports * groups)))
    if memory.bank_groups:
        region = memory.capacity_bytes * groups // memory.banks
        regions = memory.banks // groups
        banks = Counter((row % groups, row * memory.interleave_bytes // region % regions) for _, row in rows)
        used = max(used, *banks.values())
        ideal = max(ideal, -(-len(rows) // memory.banks))
    return used - ideal


def shares(memory: Memory, operands: Sequence[Operand]) -> Counter[int]:
    """The rows of each bank that accesses to a buffer touch, each row once."""
    rows = {row for o in operands for index in range(len(o.address)) for row in rows_of(o, index)}
    return Counter(row % memory.banks for row in rows)
