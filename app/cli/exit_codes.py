"""The exit codes of commands. A command that a signal ends has 128 + the signal's number (`app/signals.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...engine.ir import TilewrightError

EXIT_OK, REFUSED, BAD_INPUT = 0, 1, 2


class AtUnknown(NamedTuple):
    """The exit codes of a command if the verdict, or a figure of the report, is unknown, and why; None if it has none."""

    verdict: int | None
    figure: int | None
    why: str

    def text(self) -> str:
        """Returns the codes as a sentence for `--help`."""
        parts = (("the verdict", self.verdict), ("a figure", self.figure))
        codes = ", ".join(f"{code} if {what} is unknown" for what, code in parts if code is not None)
        return f"exit code {codes}: {self.why}"


AT_UNKNOWN: Mapping[str, AtUnknown] = {
    "run": AtUnknown(EXIT_OK, EXIT_OK, "it shows both"),
    "check": AtUnknown(REFUSED, REFUSED, "what is not known does not pass, so a budget on the figure fails"),
    "lint": AtUnknown(None, REFUSED, "the finding that says so is a warning"),
    "next": AtUnknown(None, EXIT_OK, "it shows calls, and offers none whose effect is unknown"),
    "explore": AtUnknown(EXIT_OK, REFUSED, "candidates show their verdict, and one without figures is no candidate"),
    "diff": AtUnknown(None, EXIT_OK, "only a difference of the programs counts"),
    "network": AtUnknown(None, EXIT_OK, "it shows the figure as unknown"),
}
"""Commands that show results exit with 0 if they could show them; commands that guard exit with 1 unless all is known to be good."""


class RefusedError(Exception):
    """The schedule is refused, or the machine cannot run it: exit code REFUSED. `cause` has the reason."""

    def __init__(self, cause: TilewrightError) -> None:
        super().__init__(str(cause))
        self.cause = cause
