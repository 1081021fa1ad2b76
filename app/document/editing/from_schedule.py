"""Conversion of an existing schedule to a notebook with the same handles, so that edits of one apply to the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....engine.export import trace_line
from ....engine.hwsim import Machine
from ....engine.ir import IRModule, PrimFunc, TilewrightError, Var
from ....engine.schedule import Schedule
from ....engine.script import CallStep
from ..calls import schedule_calls
from ..cells import Document, read_document
from ..notebook import Notebook, NotebookStep, State
from ..pasted import OURS, program_name, workload_text


def notebook_of_schedule(
    schedule: Schedule, machine: Machine | None = None, sizes: Mapping[str, int] | None = None
) -> Notebook:
    """The notebook of a schedule, with the schedule's loops and blocks: each traced call is a line, each line a state.

    The text names `machine`, which evaluation finds only if it is a preset or a file. If a call has no text (an intrinsic that is no
    module's variable) or the calls exceed the limit of a notebook, the notebook has no lines, only the final state of the schedule.
    """
    program = _program(schedule)
    head = _head(program, machine, sizes or {})
    variables: dict[Var | str, str] = {}
    try:
        lines = [trace_line(step, variables, OURS) for step in schedule.trace.steps]
        document = read_document(head + "".join(f"{line}\n" for line in lines))
        calls = schedule_calls(document)[1:]
    except TilewrightError:
        calls = ()
    if len(calls) != len(schedule.trace):
        bare = State(schedule.copy(), {})
        return Notebook(read_document(head), program, machine, states=(bare,), sizes=sizes or {})
    return Notebook(document, program, machine, _steps(calls), _moments(schedule, calls), sizes=sizes or {})  # pyright: ignore[reportPossiblyUnboundVariable]


def _program(schedule: Schedule) -> IRModule | PrimFunc:
    functions = schedule.original.functions
    return functions[0] if len(functions) == 1 else schedule.original


def _head(program: IRModule | PrimFunc, machine: Machine | None, sizes: Mapping[str, int]) -> str:
    """The machine and workload cells, and the line that constructs the schedule."""
    said = f'machine = tilewright.machine("{machine.name}")\n' if machine is not None else ""
    numbers = ", ".join(f'"{name}": {size}' for name, size in sizes.items())
    said += f"sizes = {{{numbers}}}\n" if sizes else ""
    return (
        f"# %% machine\nimport tilewright\n\n{said}\n# %% workload\n{workload_text(program)}\n\n\n"
        f"# %% schedule\nsch = tilewright.Schedule({program_name(program)})\n"
    )


def _steps(calls: tuple[CallStep, ...]) -> tuple[NotebookStep, ...]:
    return tuple(NotebookStep(n, call.text, call.place, call, "applied", n) for n, call in enumerate(calls))


def _moments(schedule: Schedule, calls: tuple[CallStep, ...]) -> tuple[State, ...]:
    """The states before, between and after the lines: schedule and variable values."""
    names: dict[str, Any] = {}
    moments = [State(schedule.at(0), {})]
    for count, (step, call) in enumerate(zip(schedule.trace.steps, calls, strict=True), 1):
        names = {**names, **dict(zip(call.targets, step.results, strict=True))}
        moments.append(State(schedule.at(count), names))
    return tuple(moments)


__all__ = ["Document", "notebook_of_schedule"]
