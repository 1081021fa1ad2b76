"""How often a block runs: the product of the extents of the loops around it."""

from __future__ import annotations

from collections.abc import Iterable

from ....engine.analysis import ProgramIndex
from ....engine.ir import For, Stmt, build
from ..labels.numbers import grouped

TIMES = "\u00d7"


def iterations(index: ProgramIndex, block: str) -> int | None:
    """The iteration count of `block`: the product of the extents of all loops around it; None if one is symbolic."""
    return iterations_of(index.path(index.realize(block)))


def iterations_of(around: Iterable[Stmt]) -> int | None:
    """The product of the extents of all loops among the statements; None if one is symbolic."""
    count = 1
    for outer in around:
        if isinstance(outer, For):
            extent = build.int_value(outer.extent)
            if extent is None:
                return None
            count *= extent
    return count


def ratio_text(a: int, b: int) -> str:
    """The ratio as "2.91", "4", "2 048": three digits, or all digits before the point."""
    return grouped(round(a / b)) if a >= 100 * b else f"{a / b:.3g}"
