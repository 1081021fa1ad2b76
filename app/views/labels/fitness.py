"""The effect of a change on a program, where fitting into the memories counts before cycles: a program that does not fit has none."""

from __future__ import annotations

from ....engine.hwsim import Report
from .numbers import change_of, grouped, size_text
from .values import Trend

DOES_NOT_FIT = "does not fit"
UNKNOWN = "unknown"


def cycle_count(report: Report) -> str:
    """`12 345`, "does not fit", or `12 345 without cache misses`."""
    if report.overflow_bytes:
        return DOES_NOT_FIT
    return grouped(report.cycles) if report.unknown is None else f"{grouped(report.cycles)} {report.unknown.words}"


def cycles_text(report: Report) -> str:
    """`12 345 cycles`, "does not fit", or `12 345 cycles without cache misses`."""
    about = "" if report.unknown is None else f" {report.unknown.words}"
    return DOES_NOT_FIT if report.overflow_bytes else f"{grouped(report.cycles)} cycles{about}"


def effect_of(before: Report, after: Report) -> tuple[str, Trend]:
    """The effect as text, and its trend: "better", "worse" or "same".

    Cycles are compared only if both programs fit, and those of both are known.
    Of two that do not, the one with fewer bytes above the capacities is better.
    """
    excess, now = before.overflow_bytes, after.overflow_bytes
    if not excess and not now:
        if before.unknown is not None or after.unknown is not None:
            return UNKNOWN, "same"
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
