"""Builds a schedule with holes: each line is tried, with the holes at their first values, before it is added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...adopt import LineState, after_line, hole_of, is_hole
from ...ir import IRModule, PrimFunc, TilewrightError
from ...schedule import Intrinsics, Schedule
from ...script import CallStep, read_calls

CHOOSE = "tilewright.choose"


class ScheduleBuilder:
    """The lines so far, and the schedule that they build."""

    def __init__(self, program: IRModule | PrimFunc, name: str, intrinsics: Intrinsics | None) -> None:
        self.name = name
        self._program, self._intrinsics = program, intrinsics
        self.lines: list[str] = []
        self.calls: list[CallStep] = []
        self.state = LineState(Schedule(program, intrinsics=intrinsics), {})

    @property
    def schedule(self) -> Schedule:
        return self.state.schedule

    def value(self, variable: str) -> Any:
        """The value of a variable of the lines."""
        return self.state.names[variable]

    def write(self, *lines: str) -> bool:
        """Adds all of these lines, or none if one is refused; returns whether they were added."""
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
        """Whether the line would be accepted; adds nothing."""
        before = self.state
        legal = self.write(line)
        if legal:
            self.lines.pop()
            self.calls.pop()
            self.state = before
        return legal

    def drop(self) -> None:
        """Removes the last line, a hole that no call uses."""
        self.lines.pop()
        self.calls.pop()

    def remark(self, text: str) -> None:
        """Adds a comment for readers of the schedule."""
        self.lines.append(f"# {text}")

    def hole(self, variable: str, name: str, values: Sequence[str], first: int = 0) -> None:
        """Adds a choice among values as text, the one at `first` in front; a single value is assigned directly."""
        chosen = values[first]
        rest = [value for n, value in enumerate(values) if n != first]
        if any(f'{CHOOSE}("{name}"' in line for line in self.lines):
            name = f"{name} ({variable})"
        self.write(
            f'{variable} = {CHOOSE}("{name}", [{", ".join([chosen, *rest])}])' if rest else f"{variable} = {chosen}"
        )

    def reordered(self, chosen: Mapping[str, int]) -> ScheduleBuilder:
        """The same lines with other defaults: `chosen` is the position of the value to put in front, by variable of the hole."""
        other = ScheduleBuilder(self._program, self.name, self._intrinsics)
        holes = {call.targets[0]: hole_of(call) for call in self.calls if is_hole(call)}
        for line in self.lines:
            variable = line.partition(" = ")[0]
            if variable in holes and CHOOSE in line:
                other.hole(variable, holes[variable].name, holes[variable].texts, chosen.get(variable, 0))
            elif line.startswith("#"):
                other.lines.append(line)
            else:
                other.lines.append(line)
                other.calls += read_calls(line)
        return other

    def fresh(self, wanted: str) -> str:
        """A variable name that no line has set yet."""
        used = {*self.state.names, self.name, "tilewright", "machine", "report"}
        return next(n for n in (wanted, *(f"{wanted}_{k}" for k in range(1, 100))) if n not in used)


def listed(items: Iterable[str]) -> str:
    """`["io", "jo"]`."""
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"


__all__ = ["CHOOSE", "ScheduleBuilder", "listed"]
