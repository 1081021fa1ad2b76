"""A finding of the simulator."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ...ir import Node


class Finding(msgspec.Struct, frozen=True, eq=False):
    """An observation of the replay about the schedule on this machine. `memory` is its memory row, if any; `cycles` is its cost on the
    engine of its block, `saved` are the cycles that the program takes less without its cause, if a replay was done.

    `fix` are schedule calls worth trying, as Python text; `engine.lint` tries them, and others.
    """

    code: str
    severity: str  # "error" (would not run), "warning" (runs, wastes), "info"
    message: str
    blocks: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    memory: str = ""
    cycles: int = 0
    saved: int = 0


def by_severity(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sorts findings, the worst first."""
    return tuple(sorted(found, key=lambda f: ("error", "warning", "info").index(f.severity)))
