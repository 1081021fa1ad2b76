"""Refusals of schedule calls. The schedule that was asked is untouched."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Node, Refusal, TilewrightError


class ScheduleError(TilewrightError):
    """A schedule call that was refused; `.refusal` has the code, what it points at, and calls that would help where known. These are
    looked for (`helped`) when somebody asks."""

    def __init__(self, refusal: Refusal, helped: Callable[[Refusal], Refusal] | None = None) -> None:
        super().__init__(refusal)
        self._helped = helped

    @property
    def refusal(self) -> Refusal:
        if self._helped is not None:
            self._refusal, self._helped = self._helped(self._refusal), None
        return self._refusal


def refuse(
    code: str, message: str, *nodes: Node, found: str = "", expected: str = "", fix: tuple[str, ...] = ()
) -> ScheduleError:
    """The error to raise: `raise refuse("not-a-producer", "…", block)`."""
    return ScheduleError(Refusal(code, message, found, expected, fix, nodes))
