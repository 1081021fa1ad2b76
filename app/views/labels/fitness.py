"""The effect of a change on a program, where fitting into the memories counts before cycles: a program that does not fit has none."""

from __future__ import annotations

from ....engine.hwsim import Report
from .numbers import change_of, grouped, size_text

DOES_NOT_FIT = "does not fit"


def cycle_count(report: Report) -> str:
    """`12 345`, or "does not fit"."""
    return DOES_NOT_FIT if report.overflow_bytes else grouped(report.cycles)


def cycles_text(report: Report) -> str:
    """`12 345 cycles`, or "does not fit"."""
    count = cycle_count(report)
    return count if count == DOES_NOT_FIT else f"{count} cycles"


def effect_of(before: Report, after: Report) -> tuple[str, str]:
    """The effect as text, and its trend: "better", "worse" or "same".

    Cycles are compared only if both programs fit. Of two that do not, the one with fewer bytes above the capacities is better.
    """
    excess, now = before.overflow_bytes, after.overflow_bytes
    if not excess and not now:
        return change_of(before.cycles, after.cycles)
    if not now:
        return "fits", "better"
    if not excess:
        return "no longer fits", "worse"
    if now == excess:
        return f"still {DOES_NOT_FIT}", "same"
    return _peak_change(before, after), "better" if now < excess else "worse"


def _peak_change(before: Report, after: Report) -> str:
    """The change of the memory whose bytes above its capacity change most: `512 KiB → 264 KiB of 128 KiB`."""
    was = {row: m.overflow_bytes for row, m in before.memory.items()}
    row, m = max(after.memory.items(), key=lambda item: abs(item[1].overflow_bytes - was.get(item[0], 0)))
    old = before.memory[row].peak_bytes if row in before.memory else 0
    return f"{size_text(old)} → {size_text(m.peak_bytes)} of {size_text(m.capacity_bytes)}"
