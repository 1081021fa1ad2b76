"""Two reports of networks compared: which kernels explain the difference of their totals.

The reports may be of two machines, of two versions of a network, or of two sets of schedules. Kernels are matched by name and sizes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..export.report_text import table
from .report import KernelCost, NetworkReport


class KernelDifference(msgspec.Struct, frozen=True):
    """A kernel in both networks: its calls and cycles of an inference there, 0 where it does not occur. `refused` says that one of the
    machines cannot run it, so the cycles are incomplete; `unknown` that the cycles of a report are not known (`Report.unknown`)."""

    kernel: str
    sizes: tuple[tuple[str, int], ...]
    calls: tuple[int, int]
    cycles: tuple[int, int]
    bound_by: tuple[str, str]
    refused: bool = False
    unknown: bool = False

    @property
    def change(self) -> int:
        """Cycles of the second report minus those of the first."""
        return self.cycles[1] - self.cycles[0]


class NetworkDifference(msgspec.Struct, frozen=True):
    """Two networks: their cycles, and the kernels, those that contribute most to the difference first. `waits` are the cycles in which
    calls wait for tensors that are copied on chip. The changes of all kernels and of the waits sum to the difference."""

    machines: tuple[str, str]
    cycles: tuple[int, int]
    waits: tuple[int, int]
    kernels: tuple[KernelDifference, ...]

    @property
    def change(self) -> int:
        return self.cycles[1] - self.cycles[0]


def network_difference(first: NetworkReport, second: NetworkReport) -> NetworkDifference:
    """Return the difference of two reports, sorted by the absolute change of each kernel."""
    sides = [_by_kernel(first), _by_kernel(second)]
    found = [
        _difference(key, sides[0].get(key, []), sides[1].get(key, [])) for key in dict.fromkeys([*sides[0], *sides[1]])
    ]
    found.sort(key=lambda d: -abs(d.change))
    return NetworkDifference(
        (first.machine.name, second.machine.name),
        (first.cycles, second.cycles),
        (first.plan.wait_cycles, second.plan.wait_cycles),
        tuple(found),
    )


Key = tuple[str, tuple[tuple[str, int], ...]]


def _by_kernel(report: NetworkReport) -> dict[Key, list[KernelCost]]:
    """The costs of the kernels that an inference runs; one with tensors on chip has several."""
    found: dict[Key, list[KernelCost]] = {}
    for cost in report.kernels:
        if cost.runs:
            found.setdefault((cost.kernel.name, tuple(cost.kernel.sizes.items())), []).append(cost)
    return found


def _difference(key: Key, first: list[KernelCost], second: list[KernelCost]) -> KernelDifference:
    name, sizes = key
    return KernelDifference(
        name,
        sizes,
        (sum(c.runs for c in first), sum(c.runs for c in second)),
        (sum(c.cycles for c in first), sum(c.cycles for c in second)),
        (_bound_by(first), _bound_by(second)),
        any(c.report is None for c in (*first, *second)),
        any(c.report is not None and c.report.unknown is not None for c in (*first, *second)),
    )


def _bound_by(costs: list[KernelCost]) -> str:
    worst = max((c for c in costs if c.report is not None), key=lambda c: c.cycles, default=None)
    return worst.report.bounds[0].name if worst is not None and worst.report and worst.report.bounds else ""


def difference_text(found: NetworkDifference, names: tuple[str, str], most: int = 40) -> str:
    """Return both totals, and the kernels that changed with their shares of the difference. `names` are those of the networks."""
    ratio = f", {found.cycles[1] / found.cycles[0]:.2f} times" if found.cycles[0] else ""
    lines = [
        f"{found.cycles[0]:,} cycles: {names[0]} on {found.machines[0]}",
        f"{found.cycles[1]:,} cycles: {names[1]} on {found.machines[1]} ({found.change:+,}{ratio})",
    ]
    changed = [k for k in found.kernels if k.change or k.refused or k.unknown]
    rows: list[tuple[str, ...]] = [("kernel", "calls", "first", "second", "change", "of the difference", "bound by")]
    rows += [_row(k, found.change) for k in changed[:most]]
    if len(changed) > most:
        rest = sum(k.change for k in changed[most:])
        rows.append((f"{len(changed) - most} more", "", "", "", f"{rest:+,}", _share(rest, found.change), ""))
    if found.waits[0] != found.waits[1]:
        change = found.waits[1] - found.waits[0]
        waits = (f"{found.waits[0]:,}", f"{found.waits[1]:,}", f"{change:+,}", _share(change, found.change))
        rows.append(("waits for copies on chip", "", *waits, ""))
    lines += ["", table(rows, right=(2, 3, 4, 5))] if len(rows) > 1 else []
    same = len(found.kernels) - len(changed)
    return "\n".join([*lines, *([f"{same} kernels have equal cycles"] if same else [])])


def difference_json(found: NetworkDifference) -> dict[str, Any]:
    """Return the difference as JSON values."""
    return {
        "machines": list(found.machines),
        "cycles": list(found.cycles),
        "change": found.change,
        "waits": list(found.waits),
        "kernels": [
            {
                "kernel": k.kernel, "sizes": dict(k.sizes), "calls": list(k.calls), "cycles": list(k.cycles), "change": k.change,
                "share": k.change / found.change if found.change else 0.0, "bound_by": list(k.bound_by), "refused": k.refused,
                "unknown": k.unknown,
            }
            for k in found.kernels
        ],
    }  # fmt: skip


def _row(kernel: KernelDifference, change: int) -> tuple[str, ...]:
    sizes = ", ".join(f"{name}={size}" for name, size in kernel.sizes)
    calls = str(kernel.calls[0]) if kernel.calls[0] == kernel.calls[1] else f"{kernel.calls[0]} -> {kernel.calls[1]}"
    about = "refused by a machine" if kernel.refused else "cycles are not known" if kernel.unknown else ""
    bounds = " -> ".join(dict.fromkeys(kernel.bound_by)) if all(kernel.bound_by) else "".join(kernel.bound_by)
    return (
        f"{kernel.kernel} ({sizes})" if sizes else kernel.kernel, calls, f"{kernel.cycles[0]:,}", f"{kernel.cycles[1]:,}",
        f"{kernel.change:+,}", _share(kernel.change, change), about or bounds,
    )  # fmt: skip


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


__all__ = ["KernelDifference", "NetworkDifference", "difference_json", "difference_text", "network_difference"]
