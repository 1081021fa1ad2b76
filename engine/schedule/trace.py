"""The calls of a schedule, as data that can be shown, replayed and exported."""

from __future__ import annotations

import msgspec

from ..ir import ScheduleCall, Var, called_with
from .value_text import BLOCK_PARAMETERS, Handle, quoted, unique_name, value_text


class Trace(msgspec.Struct, frozen=True, eq=False):
    """Calls in order."""

    steps: tuple[ScheduleCall, ...] = ()

    def __len__(self) -> int:
        return len(self.steps)

    def as_python(self) -> list[str]:
        """Return the calls as lines of Python on `sch`, with all arguments by keyword, as in TVM."""
        names: dict[Handle, str] = {}
        return [_line(step, names) for step in self.steps]

    def show(self) -> None:
        """Print the calls as lines of Python."""
        print("\n".join(self.as_python()))


def _line(step: ScheduleCall, names: dict[Handle, str]) -> str:
    """The text of a call; `names` are the variables of the handles so far, and receives those of the results."""

    def text(handle: Handle) -> str:
        return names.get(handle) or quoted(handle.name if isinstance(handle, Var) else handle)

    listed, keywords = called_with(dict(step.arguments))
    parts = [value_text(value, text) for value in listed]
    parts += [f"{key}={value_text(value, text, blocks=key in BLOCK_PARAMETERS)}" for key, value in keywords.items()]
    call = f"sch.{step.method}({', '.join(parts)})"
    for handle in step.results:
        if handle not in names:
            names[handle] = unique_name(handle.name if isinstance(handle, Var) else handle, {"sch", *names.values()})
    made = ", ".join(names[handle] for handle in step.results)
    if step.method in _LISTS and len(step.results) == 1:
        made = f"({made},)"
    return f"{made} = {call}" if made else call


_LISTS = frozenset({"split", "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks"})
"""Methods that return a list, even of one element."""
