"""Smaller tiles: a loop of a consumer in parts, and its copies made for each part."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Var, build
from ..schedule import Schedule


def in_parts(sch: Schedule, copies: Sequence[str], loop: Var, top: Var, parts: int) -> Var:
    """`loop` split into `parts` parts, the outer loop of the two put outside of `top`, and the copies made there. Returns that loop: `loop`
    itself where it has no more steps than parts."""
    outer = loop if build.is_const(sch.index.loop(loop).extent, parts) else sch.split(loop, factors=[parts, None])[0]
    if loop is not top:
        sch.reorder(outer, top)
    for block in copies:
        sch.compute_at(block, outer)
    return outer
