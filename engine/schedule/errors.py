"""Refusals of schedule calls. The schedule that was asked is untouched."""

from __future__ import annotations

from ..ir import Node, Refusal, TilewrightError


class ScheduleError(TilewrightError):
    """A schedule call that was refused; `.refusal` has the code, what it points at, and calls that would help where known."""


def refuse(
    code: str, message: str, *nodes: Node, found: str = "", expected: str = "", fix: tuple[str, ...] = ()
) -> ScheduleError:
    """The error to raise: `raise refuse("not-a-producer", "…", block)`."""
    return ScheduleError(Refusal(code, message, found, expected, fix, nodes))
