"""Smaller tiles: splits a loop of a consumer, and moves its copies to each part."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Var, build
from ..schedule import Schedule


def in_parts(sch: Schedule, copies: Sequence[str], loop: Var, top: Var, parts: int) -> Var:
    """Splits `loop` into `parts` parts, moves the outer loop outside of `top`, and moves the copies there. Returns the outer loop: `loop`
    itself if its extent is `parts`."""
    outer = loop if build.is_const(sch.index.loop(loop).extent, parts) else sch.split(loop, factors=[parts, None])[0]
    if loop is not top:
        sch.reorder(outer, top)
    for block in copies:
        sch.compute_at(block, outer)
    return outer
