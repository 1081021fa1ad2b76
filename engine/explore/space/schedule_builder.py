"""Writing a schedule with holes: each line is tried, with the holes at their first values, before it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...adopt import LineState, after_line
from ...ir import IRModule, PrimFunc, TilewrightError
from ...schedule import Intrinsics, Schedule
from ...script import CallStep, read_calls

CHOOSE = "tilewright.choose"


class ScheduleBuilder:
    """The lines so far, and the schedule that they make."""

    def __init__(self, program: IRModule | PrimFunc, name: str, intrinsics: Intrinsics | None) -> None:
        self.name = name
        self.lines: list[str] = []
        self.calls: list[CallStep] = []
        self.state = LineState(Schedule(program, intrinsics=intrinsics), {})

    @property
    def schedule(self) -> Schedule:
        return self.state.schedule

    def value(self, variable: str) -> Any:
        """What a variable of the lines holds."""
        return self.state.names[variable]

    def write(self, *lines: str) -> bool:
        """Whether all of these lines can be made, one after the other; if not, none of them stands."""
        before = len(self.lines), len(self.calls), self.state
        try:
            for line in lines:
                for call in read_calls(line):
                    self.state = after_line(self.state, call, self.name)
                    self.calls.append(call)
                self.lines.append(line)
        except TilewrightError:
            del self.lines[before[0] :], self.calls[before[1] :]
            self.state = before[2]
            return False
        return True

    def would(self, line: str) -> bool:
        """Whether the line could be made, which is not written."""
        before = self.state
        legal = self.write(line)
        if legal:
            self.lines.pop()
            self.calls.pop()
            self.state = before
        return legal

    def remark(self, text: str) -> None:
        """A comment for whoever reads the schedule."""
        self.lines.append(f"# {text}")

    def hole(self, variable: str, name: str, values: Sequence[str], first: int = 0) -> None:
        """A choice among values as text, the one at `first` in front; a single one is no choice and is just named."""
        chosen = values[first]
        rest = [value for n, value in enumerate(values) if n != first]
        self.write(
            f'{variable} = {CHOOSE}("{name}", [{", ".join([chosen, *rest])}])' if rest else f"{variable} = {chosen}"
        )

    def fresh(self, wanted: str) -> str:
        """A variable that no line has set yet."""
        taken = {*self.state.names, self.name, "tilewright", "machine", "report"}
        return next(n for n in (wanted, *(f"{wanted}_{k}" for k in range(1, 100))) if n not in taken)


def listed(items: Iterable[str]) -> str:
    """`["io", "jo"]`."""
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"


__all__ = ["CHOOSE", "ScheduleBuilder", "listed"]
