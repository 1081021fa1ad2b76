"""The plan of tensors on chip as text and as JSON values."""

from __future__ import annotations

from typing import Any

from ...export.report_text import table
from ...ir import Graph
from .plan import OnChipPlan, PlannedCall, PlannedTensor


def plan_text(plan: OnChipPlan, graph: Graph) -> str:
    """Return three tables: the tensors with their addresses and lifetimes, the copies, and the memory of each call beside them."""
    blocks = [_tensors(plan, graph)]
    if plan.transfers:
        blocks.append(_transfers(plan, graph))
    blocks.append(_calls(plan, graph))
    return "\n\n".join(blocks)


def plan_json(plan: OnChipPlan) -> dict[str, Any]:
    """Return the plan as JSON values. Calls are positions in the graph."""
    return {
        "tensors": [
            {
                "tensor": t.tensor.name, "scope": t.scope, "memory": t.row, "address": t.address, "bytes": t.bytes,
                "first_call": t.first, "last_call": t.last, "copied": t.copied,
            }
            for t in plan.tensors
        ],
        "transfers": [
            {
                "tensor": t.tensor, "scope": t.scope, "bytes": t.bytes, "during_call": None if t.during < 0 else t.during,
                "descriptors": t.descriptors, "hidden": t.hidden, "ready_after_call": t.ready,
            }
            for t in plan.transfers
        ],
        "calls": [
            {
                "call": c.call, "memory": c.row, "own_bytes": c.own_bytes, "tensor_bytes": c.tensor_bytes,
                "peak_bytes": c.peak_bytes, "capacity_bytes": c.capacity_bytes,
            }
            for c in plan.calls
        ],
        "waits": {str(at): cycles for at, cycles in plan.waits.items()},
    }  # fmt: skip


def _tensors(plan: OnChipPlan, graph: Graph) -> str:
    rows: list[tuple[str, ...]] = [("on chip", "memory", "address", "bytes", "from call", "to call", "")]
    for t in plan.tensors:
        calls = (_call(graph, t.first), _call(graph, t.last))
        rows.append((t.tensor.name, t.row, f"{t.address:,}", f"{t.bytes:,}", *calls, _origin(t)))
    return table(rows, right=(2, 3))


def _origin(tensor: PlannedTensor) -> str:
    return "copied" if tensor.copied else "produced"


def _transfers(plan: OnChipPlan, graph: Graph) -> str:
    rows: list[tuple[str, ...]] = [("copied", "bytes", "during call", "descriptors", "hidden", "wait after it")]
    for t in plan.transfers:
        during = "before the first" if t.during < 0 else _call(graph, t.during)
        rows.append((t.tensor, f"{t.bytes:,}", during, f"{t.descriptors:,}", f"{t.hidden:,}", f"{t.ready:,}"))
    return table(rows, right=(1, 3, 4, 5))


def _calls(plan: OnChipPlan, graph: Graph) -> str:
    rows: list[tuple[str, ...]] = [("call", "memory", "its own", "on chip", "peak", "capacity")]
    shown: list[PlannedCall] = [c for c in plan.calls if c.tensor_bytes]
    for c in shown:
        sizes = (c.own_bytes, c.tensor_bytes, c.peak_bytes, c.capacity_bytes)
        rows.append((_call(graph, c.call), c.row, *(f"{size:,}" for size in sizes)))
    return table(rows, right=(2, 3, 4, 5))


def _call(graph: Graph, at: int) -> str:
    return f"{at} {graph.calls[at].kernel}"


__all__ = ["plan_json", "plan_text"]
