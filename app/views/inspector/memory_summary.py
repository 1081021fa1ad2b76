"""The memory summary for an empty selection: peak use of each memory, and its buffers as links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....engine.hwsim import Machine, Report
from ....engine.ir import Buffer, PrimFunc
from ....engine.lower import Allocation
from ..labels.buffer_ids import buffer_ids
from ..labels.numbers import grouped, percent_text, size_text, use_text
from ..labels.sizes import buffer_bytes


def memory_summary(
    func: PrimFunc,
    held: Mapping[Buffer, Allocation],
    colours: Mapping[Buffer, int],
    machine: Machine | None,
    report: Report | None,
) -> list[dict[str, Any]]:
    """Memories {name, scope, blocks: [{name, peak, capacity, share, over}], buffers: [{id, name, colour, size, note, tone}]}. The last
    entry has the buffers without a known memory."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, buffer in buffer_ids(func).items():
        memory = machine.find_memory(buffer.scope) if machine is not None else None
        groups.setdefault(memory.name if memory is not None else "", []).append(
            _buffer(name, buffer, held.get(buffer), colours, report)
        )
    found: list[dict[str, Any]] = []
    for memory in sorted(machine.memories if machine is not None else (), key=lambda m: m.capacity_bytes):
        if memory.name in groups:
            blocks = _blocks(memory.scope, report)
            found.append({"name": memory.name, "scope": memory.scope, "blocks": blocks, "buffers": groups[memory.name]})
    if "" in groups:
        found.append(
            {
                "name": "not on this machine" if machine is not None else "",
                "scope": "",
                "blocks": [],
                "buffers": groups[""],
            }
        )
    return found


def _blocks(scope: str, report: Report | None) -> list[dict[str, Any]]:
    if report is None:
        return []
    rows = [(name, m) for name, m in report.memory.items() if m.scope == scope]
    return [
        {
            "name": name.removeprefix(scope),
            "peak": size_text(m.peak_bytes),
            "capacity": size_text(m.capacity_bytes),
            "share": min(1.0, round(m.peak_bytes / m.capacity_bytes, 4)),
            "percent": percent_text(m.peak_bytes / m.capacity_bytes),
            "use": use_text(m.used_bytes, m.fragmented_bytes, m.free_bytes),
            "over": m.overflow_bytes > 0,
        }
        for name, m in rows
    ]


def _buffer(
    name: str, buffer: Buffer, allocation: Allocation | None, colours: Mapping[Buffer, int], report: Report | None
) -> dict[str, Any]:
    size = buffer_bytes(buffer if allocation is None else allocation.lowered)
    notes: list[str] = []
    tone = ""
    if allocation is not None and allocation.slots > 1:
        notes.append(f"×{allocation.slots}")
    lost = [row for row in report.conflicts if buffer.name in row.buffers] if report is not None else []
    if lost:
        tone = "warn"
        notes.append(f"conflicts ×{max(row.degree for row in lost)}")
    return {
        "id": name,
        "name": buffer.name,
        "colour": colours.get(buffer, 9),
        "size": "" if size is None else size_text(size),
        "note": ", ".join(notes),
        "tone": tone,
        "tip": f"{grouped(sum(row.cycles for row in lost))} cycles lost to bank conflicts" if lost else "",
    }
