"""The memory summary for an empty selection: peak use of each memory, and its buffers as links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ....engine.hwsim import Machine, Report
from ....engine.ir import Buffer, PrimFunc
from ....engine.lower import Allocation
from ..labels.buffer_ids import buffer_ids
from ..labels.numbers import grouped, percent_text, size_text, use_text
from ..labels.palette import OTHER
from ..labels.sizes import buffer_bytes
from ..labels.values import Value


class MemoryBlock(Value, frozen=True):
    """A physical block of a memory: its peak and its capacity, and the `share` of the capacity from 0 to 1."""

    name: str
    peak: str
    capacity: str
    share: float
    percent: str
    use: str
    over: bool


class HeldBuffer(Value, frozen=True):
    """A buffer in a memory."""

    id: str
    name: str
    colour: int
    size: str
    note: str
    tone: Literal["", "warn"]
    tip: str


class MemorySummary(Value, frozen=True):
    """A memory with its physical blocks and its buffers."""

    name: str
    scope: str
    blocks: list[MemoryBlock]
    buffers: list[HeldBuffer]


def memory_summary(
    func: PrimFunc,
    held: Mapping[Buffer, Allocation],
    colours: Mapping[Buffer, int],
    machine: Machine | None,
    report: Report | None,
) -> list[MemorySummary]:
    """The memories that have buffers. The last entry has the buffers without a known memory."""
    groups: dict[str, list[HeldBuffer]] = {}
    for name, buffer in buffer_ids(func).items():
        memory = machine.find_memory(buffer.scope) if machine is not None else None
        groups.setdefault(memory.name if memory is not None else "", []).append(
            _buffer(name, buffer, held.get(buffer), colours, report)
        )
    found: list[MemorySummary] = []
    for memory in sorted(machine.memories if machine is not None else (), key=lambda m: m.capacity_bytes):
        if memory.name in groups:
            blocks = _blocks(memory.scope, report)
            found.append(MemorySummary(memory.name, memory.scope, blocks, groups[memory.name]))
    if "" in groups:
        found.append(MemorySummary("not on this machine" if machine is not None else "", "", [], groups[""]))
    return found


def _blocks(scope: str, report: Report | None) -> list[MemoryBlock]:
    if report is None:
        return []
    rows = [(name, m) for name, m in report.memory.items() if m.scope == scope]
    return [
        MemoryBlock(
            name.removeprefix(scope),
            size_text(m.peak_bytes),
            size_text(m.capacity_bytes),
            min(1.0, round(m.peak_bytes / m.capacity_bytes, 4)),
            percent_text(m.peak_bytes / m.capacity_bytes),
            use_text(m.used_bytes, m.fragmented_bytes, m.free_bytes),
            m.overflow_bytes > 0,
        )
        for name, m in rows
    ]


def _buffer(
    name: str, buffer: Buffer, allocation: Allocation | None, colours: Mapping[Buffer, int], report: Report | None
) -> HeldBuffer:
    size = buffer_bytes(buffer if allocation is None else allocation.lowered)
    notes: list[str] = []
    if allocation is not None and allocation.slots > 1:
        notes.append(f"×{allocation.slots}")
    lost = [row for row in report.conflicts if buffer.name in row.buffers] if report is not None else []
    if lost:
        notes.append(f"conflicts ×{max(row.degree for row in lost)}")
    return HeldBuffer(
        name,
        buffer.name,
        colours.get(buffer, OTHER),
        size_text(size),
        ", ".join(notes),
        "warn" if lost else "",
        f"{grouped(sum(row.cycles for row in lost))} cycles lost to bank conflicts" if lost else "",
    )
