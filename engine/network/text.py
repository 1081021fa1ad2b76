"""The report of a network as text: a headline, and a table of its kernels."""

from __future__ import annotations

from ..export.report_text import table
from ..ir import Graph
from .onchip import plan_text
from .report import KernelCost, NetworkReport

MOST_KERNELS = 40
"""Kernels with fewer cycles than these are summed up in a last line."""


def network_text(report: NetworkReport, most: int = MOST_KERNELS, graph: Graph | None = None) -> str:
    """Return the cycles of an inference and the kernels, those with most cycles first; with the `graph`, the plan of tensors on chip
    too."""
    calls = sum(cost.runs for cost in report.kernels)
    head = f"{report.cycles:,} cycles on {report.machine.name}: {calls} calls of {_running(report)} kernels, one after another"
    blocks = [head, _table(report, most)]
    if report.preparation_cycles:
        count = sum(cost.prepared for cost in report.kernels)
        cycles = f"{report.preparation_cycles:,} cycles"
        blocks.append(f"{_counted(count)} on weights alone and run once, before the first inference: {cycles}")
    blocks += [
        f"{cost.kernel.name} is not in the sum: {cost.refusal.message}" for cost in report.refused if cost.refusal
    ]
    blocks += [
        f"{cost.kernel.name}: {cost.report.unknown.reason}"
        for cost in report.unknown
        if cost.report and cost.report.unknown
    ]
    if report.plan.wait_cycles:
        blocks.append(f"{report.plan.wait_cycles:,} cycles are waits for tensors that are copied on chip")
    if report.plan.tensors and graph is not None:
        blocks.append(plan_text(report.plan, graph))
    return "\n\n".join(blocks)


def _running(report: NetworkReport) -> int:
    return len({(cost.kernel.name, *cost.kernel.sizes.values()) for cost in report.kernels if cost.runs})


def _table(report: NetworkReport, most: int) -> str:
    ranked = [cost for cost in report.ranked() if cost.runs and cost.report is not None]
    rows: list[tuple[str, ...]] = [("kernel", "calls", "cycles each", "cycles", "share", "bound by")]
    rows += [_row(report, cost) for cost in ranked[:most]]
    rest = ranked[most:]
    if rest:
        cycles, runs = sum(c.cycles for c in rest), sum(c.runs for c in rest)
        rows.append((f"{len(rest)} more", str(runs), "", f"{cycles:,}", f"{cycles / report.cycles:.1%}", ""))
    return table(rows, right=(1, 2, 3, 4))


def _row(report: NetworkReport, cost: KernelCost) -> tuple[str, ...]:
    assert cost.report is not None
    over = cost.report.overflow_bytes
    busiest = cost.report.bounds[0].name if cost.report.bounds else ""
    words = f"does not fit: {over:,} B over" if over else busiest
    each = f"{cost.report.cycles:,}"
    names = ", ".join(name for name, _ in cost.on_chip)
    kernel = f"{cost.kernel.name} ({names} on chip)" if names else cost.kernel.name
    return (kernel, str(cost.runs), each, f"{cost.cycles:,}", f"{report.share(cost):.1%}", words)


def _counted(count: int) -> str:
    return "1 call depends" if count == 1 else f"{count} calls depend"
