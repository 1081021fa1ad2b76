"""The exit codes of commands. A command that a signal ends has 128 + the signal's number (`app/signals.py`)."""

from __future__ import annotations

from ...engine.ir import TilewrightError

EXIT_OK, REFUSED, BAD_INPUT = 0, 1, 2


class RefusedError(Exception):
    """The schedule is refused, or the machine cannot run it: exit code REFUSED. `cause` has the reason."""

    def __init__(self, cause: TilewrightError) -> None:
        super().__init__(str(cause))
        self.cause = cause
