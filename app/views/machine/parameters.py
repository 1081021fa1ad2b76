"""Machine parameters in the UI: editable text, and the next smaller and larger value."""

from __future__ import annotations

from typing import Any

from ...actions.machine_parameters import meaning_of
from ..labels.numbers import THIN_SPACE, grouped


def figure_text(field: str, value: Any) -> str:
    """A parameter's value as editable text; `figure_value` is the inverse."""
    scale = meaning_of(field).scale
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(f"{name} {number}" for name, number in value)
    if not isinstance(value, int):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if scale == "plain":
        return str(value)
    units = (
        (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)) if scale == "bytes" else (("GHz", 10**9), ("MHz", 10**6))
    )
    for unit, size in units:
        if value >= size and value * 1000 % size == 0:
            return f"{value / size:.12g} {unit}"
    return f"{value} {'B' if scale == 'bytes' else 'Hz'}"


def spoken(field: str, value: Any) -> str:
    """A parameter's value with its unit, for sentences: "52 B/cycle", "4 MiB"."""
    unit = meaning_of(field).unit
    text = (
        grouped(value) if isinstance(value, int) and meaning_of(field).scale == "plain" else figure_text(field, value)
    )
    return f"{text}{THIN_SPACE}{unit}" if unit else text


def steps(field: str, value: Any) -> tuple[Any, Any]:
    """The next smaller and the next larger value: half and double, or one less and one more; None without such a value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, None
    if meaning_of(field).by_one:
        return value - 1, value + 1
    if isinstance(value, float):
        return value / 2, value * 2 or 1.0
    return (None if value == 0 else value // 2), (2 * value or 1)
