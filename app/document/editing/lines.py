"""Schedule calls as readable lines: the text that a drag or a menu writes into the schedule cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....engine.adopt import TriedCall, make_call
from ....engine.export import assignment, call_text, loop_position, quoted, unique_name
from ....engine.ir import Refusal, ScheduleCall, Var
from ....engine.schedule import Schedule
from ..evaluate import evaluate
from ..files.read_write import DocumentError
from ..notebook import Handle, Notebook, State
from ..workload import program_names
from .apply import append_call

RESERVED = ("sch", "machine", "report", "tilewright", "T", "I", "AXIS_SEPARATOR", "print", "np")
"""Names that are never used for the variable of a loop or a block."""


def variable_of(names: Mapping[str, Any], handle: Handle) -> str | None:
    """The expression for `handle`: a variable, or an element of a variable with several handles. The newest variable wins."""
    for name, value in reversed(list(names.items())):
        if _is(value, handle):
            return name
        if isinstance(value, list | tuple):
            for position, item in enumerate(value):
                if _is(item, handle):
                    return f"{name}[{position}]"
    return None


def _is(value: object, handle: Handle) -> bool:
    return value is handle or (isinstance(handle, str) and isinstance(value, str) and value == handle)


class HandleTexts:
    """The texts of handles in a line: variables, names of blocks, and new variables for loops without one.

    `lookups` are the lines that set these new variables: `ko = sch.get_loops("C")[2]`, by the position in `schedule`, the state before the
    line.
    """

    def __init__(
        self, names: Mapping[str, Any], schedule: Schedule | None, receiver: str, reserved: Sequence[str] = ()
    ) -> None:
        self.lookups: list[str] = []
        self._names = dict(names)
        self._schedule = schedule
        self._receiver = receiver
        self._taken = {*names, *RESERVED, *reserved, receiver}

    def new_name(self, name: str) -> str:
        """A variable name that is still free, similar to `name`."""
        made = unique_name(name, self._taken)
        self._taken.add(made)
        return made

    def text_of(self, handle: Handle) -> str:
        """The expression for a handle. Raises DocumentError "nameless-loop" for a loop that is not in the schedule."""
        found = variable_of(self._names, handle)
        if found is not None:
            return found
        if isinstance(handle, str):
            return quoted(handle)
        position = loop_position(self._schedule.func, handle) if self._schedule is not None else None
        if position is None:
            raise DocumentError(
                Refusal("nameless-loop", f"loop {handle.name!r} has no variable", expected="a loop of the schedule")
            )
        name = self.new_name(handle.name)
        self._names[name] = handle
        self.lookups.append(f"{name} = {self._receiver}.get_loops({self.text_of(position[0])})[{position[1]}]")
        return name


def line_for(
    names: Mapping[str, Any],
    call: ScheduleCall,
    results: Handle | Sequence[Handle] | None = (),
    *,
    schedule: Schedule | None = None,
    receiver: str = "sch",
    reserved: Sequence[str] = (),
) -> str:
    """The text of a call that sets variables for its `results`: `ko, ki = sch.split(k, factors=[None, 64])`.

    New variables get the names of their loops and blocks. A block without a variable is
    written by its name. A loop without a variable gets one on a preceding line, found by its position in `schedule` (the state before
    the call), so the text may have several lines. Raises DocumentError "nameless-loop" for a loop that is not in `schedule`.
    """
    handles = HandleTexts(names, schedule, receiver, reserved)
    text = call_text(call, handles.text_of, receiver=receiver)
    is_one = isinstance(results, Var | str)
    made = [results] if is_one else list(results or ())
    targets = [handles.new_name(handle.name if isinstance(handle, Var) else handle) for handle in made]
    return "\n".join([*handles.lookups, assignment(targets, text, unpacks=not is_one)])


def call_line(
    notebook: Notebook, state: State, call: ScheduleCall, results: Handle | Sequence[Handle] | None = ()
) -> str:
    """The text of a call that follows `state` in a notebook; see `line_for`."""
    return line_for(
        state.names,
        call,
        results,
        schedule=state.schedule,
        receiver=notebook.schedule_name,
        reserved=program_names(notebook.document),
    )


def require_applied(notebook: Notebook) -> None:
    """Raises DocumentError "no-workload" or "broken-schedule" if calls cannot follow the lines of the notebook."""
    if not notebook.states:
        raise DocumentError(Refusal("no-workload", "there is no program to schedule"))
    if any(step.status != "applied" for step in notebook.steps):
        raise DocumentError(
            Refusal(
                "broken-schedule",
                "a line of the schedule fails; new calls would follow it",
                expected="a correct line, or none",
            )
        )


def apply_call(notebook: Notebook, call: ScheduleCall) -> Notebook:
    """The notebook after one more call, appended to its last schedule cell; a drag uses it.

    Its handles are those of `notebook.schedule`. A refused call raises its ScheduleError and changes nothing. A notebook whose schedule
    has a failing line is not extended: DocumentError "broken-schedule".
    """
    require_applied(notebook)
    state = notebook.states[-1]
    schedule = state.schedule.copy()
    results = make_call(schedule, call)
    # A layout given as a function has no text; the trace has the resulting index map.
    traced = schedule.trace.steps[-1]
    written = {name: traced.argument(name) for name, value in call.arguments if callable(value)}
    line = call_line(notebook, state, call.with_arguments(written), results)
    trial = TriedCall(state, call, schedule, results)
    return evaluate(append_call(notebook.document, line), notebook, trial)
