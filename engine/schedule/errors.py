"""Refusals of schedule calls. A refused call leaves the schedule unchanged."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Node, Refusal, TilewrightError


class ScheduleError(TilewrightError):
    """A refused schedule call. `.refusal` has the code, the nodes concerned, and calls that would help, if known. The search for these
    (`helped`) runs on first access."""

    def __init__(self, refusal: Refusal, helped: Callable[[Refusal], Refusal] | None = None) -> None:
        super().__init__(refusal)
        self._helped = helped

    @property
    def refusal(self) -> Refusal:
        if self._helped is not None:
            self._refusal, self._helped = self._helped(self._refusal), None
        return self._refusal


class ArgumentError(ScheduleError, TypeError):
    """Arguments that do not fit the signature of a call."""


def refuse(
    code: str, message: str, *nodes: Node, found: str = "", expected: str = "", fix: tuple[str, ...] = ()
) -> ScheduleError:
    """The error to raise: `raise refuse("not-a-producer", "…", block)`."""
    return ScheduleError(Refusal(code, message, found, expected, fix, nodes))
