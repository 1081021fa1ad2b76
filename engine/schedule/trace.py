"""The calls of a schedule, as data that can be shown, replayed and exported."""

from __future__ import annotations

import msgspec

from ..ir import ScheduleCall
from .value_text import Handle, traced_line


class Trace(msgspec.Struct, frozen=True, eq=False):
    """Calls in order."""

    steps: tuple[ScheduleCall, ...] = ()

    def __repr__(self) -> str:
        """The calls as lines of Python."""
        return "\n".join(self.as_python())

    def __len__(self) -> int:
        return len(self.steps)

    def as_python(self) -> list[str]:
        """Return the calls as lines of Python on `sch`, with all arguments by keyword, as in TVM."""
        names: dict[Handle, str] = {}
        return [traced_line(step, names) for step in self.steps]

    def show(self) -> None:
        """Print the calls as lines of Python."""
        print("\n".join(self.as_python()))
