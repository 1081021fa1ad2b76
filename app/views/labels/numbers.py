"""Number formatting: grouped digits, binary sizes, and changes in per cent with a word for better or worse."""

from __future__ import annotations

from .values import Trend

THIN_SPACE = "\u202f"


def grouped(number: int) -> str:
    """A count such as `41 216`, with non-breaking thin spaces. Counts of 16 digits or more use scientific notation."""
    if abs(number) >= 10**15:
        return f"{number:.3e}"
    return f"{number:,}".replace(",", THIN_SPACE)


def size_text(size_bytes: int | None) -> str:
    """A size such as `96 KiB` or `1.125 MiB`; in bytes below 1 KiB; "" for an unknown size."""
    if size_bytes is None:
        return ""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= scale:
            whole = size_bytes % scale == 0
            return f"{size_bytes // scale if whole else format(size_bytes / scale, '.4g')}{THIN_SPACE}{unit}"
    return f"{size_bytes}{THIN_SPACE}B"


def use_text(used: int, fragmented: int, free: int) -> str:
    """The bytes of a memory: live at the fullest point of the program, lost below the highest address, and free above it."""
    return f"{size_text(used)} used, {size_text(fragmented)} fragmented, {size_text(free)} free"


def change_of(before: int, after: int) -> tuple[str, Trend]:
    """A change as text (`−32 %`; `×12` or `1/12` from tenfold on; `new` from 0) and its trend: "better" (a decrease), "worse" or "same"."""
    if before == after:
        return f"±0{THIN_SPACE}%", "same"
    trend = "better" if after < before else "worse"
    if before == 0:
        return "new", trend
    if after >= 10 * before:
        return f"×{grouped(after // before)}", trend
    if after and before >= 10 * after:
        return f"1/{grouped(before // after)}", trend
    percent = 100 * (after - before) / before
    size = abs(percent)
    text = f"{size:.0f}" if size >= 9.5 else f"{size:.1f}" if size >= 0.05 else "<0.1"
    return f"{'−' if percent < 0 else '+'}{text}{THIN_SPACE}%", trend


def reach_text(cycles: int, floor: int) -> str:
    """How near the cycles of a schedule are to those that every schedule needs: `within 6 % of what any schedule can reach`."""
    if cycles <= floor:
        return "no schedule is faster"
    if cycles >= 2 * floor:
        return f"{cycles / floor:.1f} times what any schedule needs at least"
    return f"within {-(-100 * (cycles - floor) // floor)}{THIN_SPACE}% of what any schedule can reach"


def percent_text(fraction: float) -> str:
    """A fraction as a percentage: `87 %`; `< 1 %` for a part that is less than a hundredth, but not nothing."""
    if 0 < fraction < 0.01:
        return f"<{THIN_SPACE}1{THIN_SPACE}%"
    return f"{100 * float(fraction):.0f}{THIN_SPACE}%"
