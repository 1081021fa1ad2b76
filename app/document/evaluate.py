"""Evaluation of a notebook file without running it: the program, the machine, and the schedule after each line.

The cells are read in a closed subset of Python (`engine.script`); calls are limited to a fixed set of functions.
`python file.py` runs the same lines in Python, so the two must agree: a failing line stops both, and the lines before it stay applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from msgspec.structs import replace as replace_fields

from ...engine.adopt import TriedCall, after_line
from ...engine.data import DataValue
from ...engine.ir import IRModule, PrimFunc, TilewrightError
from ...engine.processes import Allowance, remaining_seconds
from ...engine.schedule import Schedule
from ...engine.script import CallStep, Note, Parsed
from .calls import schedule_calls, schedule_variable
from .cells import Document
from .intrinsics import intrinsic_text, read_intrinsics
from .machine import read_machine
from .notebook import Notebook, NotebookStep, State
from .places import at_place
from .settings import program_with_data, read_data, read_sizes
from .workload import read_workload, workload_cell

T = TypeVar("T")

SHARE = 0.75
"""The part of a budget that the evaluation of a notebook may use: the page shows the line at which it ends."""


def evaluate(
    document: Document,
    previous: Notebook | None = None,
    trial: TriedCall | None = None,
    parsed: Parsed | None = None,
    given: Mapping[str, DataValue] | None = None,
) -> Notebook:
    """The notebook that `document` describes. Never raises for its content: errors are in the result, with the file's line.

    With `previous`, an unchanged program and the unchanged first lines of the schedule are reused, handles included.
    A line that makes the call of `trial` reuses the result of the trial. `parsed` is the parsed program of the workload cell, if known.
    `given` is data that precedes that of the file; by default that of `previous`.
    """
    allowance = Allowance(SHARE * remaining_seconds())
    errors: list[TilewrightError] = []
    machine = _caught(errors, lambda: read_machine(document))
    read = _caught(errors, lambda: _read_within(allowance, document, previous, parsed))
    program, notes = (None, ()) if read is None else read
    sizes = _caught(errors, lambda: read_sizes(document, program)) or {}
    given = given if given is not None else {} if previous is None else previous.given
    data = {**(_caught(errors, lambda: read_data(document)) or {}), **given}
    if program is not None and (previous is None or program is not previous.program or data != previous.data):
        read_text = program
        program = _caught(errors, lambda: program_with_data(read_text, document, data)) or program
    notebook = Notebook(document, program, machine, error=errors[0] if errors else None, sizes=sizes, data=data, given=given,
                        notes=notes)  # fmt: skip
    if program is None:
        return notebook
    start = _caught(errors, lambda: State(Schedule(program, intrinsics=read_intrinsics(document)), {}))
    if start is None:
        return replace_fields(notebook, error=errors[0])
    calls = _caught(errors, lambda: schedule_calls(document))
    if not calls:
        return replace_fields(notebook, states=(start,), error=errors[0] if errors else None, unread=calls is None)
    name = _caught(errors, lambda: at_place(calls[0].place, lambda: schedule_variable(calls[0], document)))
    if name is None:
        return replace_fields(notebook, states=(start,), error=errors[0], unread=True)
    return _with_steps(
        replace_fields(notebook, states=(start,), schedule_name=name), calls[1:], previous, trial, allowance
    )


def _caught(errors: list[TilewrightError], read: Callable[[], T]) -> T | None:
    try:
        return read()
    except TilewrightError as error:
        errors.append(error)
        return None


def _read_within(
    allowance: Allowance, document: Document, previous: Notebook | None, parsed: Parsed | None
) -> tuple[IRModule | PrimFunc, tuple[Note, ...]]:
    with allowance.within("the program"):
        return _workload(document, previous, parsed)


def read_program(document: Document, before: Notebook | None = None) -> IRModule | PrimFunc:
    """The program of a notebook; that of `before` if its text is the same. Raises the errors of `read_workload`."""
    return _workload(document, before)[0]


def _workload(
    document: Document, previous: Notebook | None, parsed: Parsed | None = None
) -> tuple[IRModule | PrimFunc, tuple[Note, ...]]:
    if previous is not None and previous.program is not None:
        before, now = workload_cell(previous.document), workload_cell(document)
        if before is not None and now is not None and before.text.rstrip() == now.text.rstrip():
            return previous.program, previous.notes
    parsed = parsed or read_workload(document)
    return parsed.program, parsed.notes


def _with_steps(
    notebook: Notebook,
    calls: tuple[CallStep, ...],
    previous: Notebook | None,
    trial: TriedCall | None,
    allowance: Allowance,
) -> Notebook:
    """The notebook, which has no steps yet, with the step and the state of each of `calls`."""
    states, steps = _reused(notebook, calls, previous)
    failed: TilewrightError | None = None
    for index in range(len(steps), len(calls)):
        call = calls[index]
        if failed is not None:
            steps.append(NotebookStep(index, call.text, call.place, call, "skipped"))
            continue
        try:
            state = at_place(
                call.place, lambda call=call: _after(states[-1], call, notebook.schedule_name, trial, allowance)
            )
        except TilewrightError as error:
            failed = error
            steps.append(NotebookStep(index, call.text, call.place, call, "failed", error=error))
        else:
            first = len(states[-1].schedule.trace.steps)
            steps.append(NotebookStep(index, call.text, call.place, call, "applied", first))
            states.append(state)
    return replace_fields(notebook, steps=tuple(steps), states=tuple(states), error=notebook.error or failed)


def _after(before: State, call: CallStep, name: str, trial: TriedCall | None, allowance: Allowance) -> State:
    with allowance.within("the schedule"):
        return after_line(before, call, name, trial)


def _reused(
    notebook: Notebook, calls: tuple[CallStep, ...], previous: Notebook | None
) -> tuple[list[State], list[NotebookStep]]:
    """The states and steps of `previous` up to the first difference in program or lines."""
    if (
        previous is None
        or not previous.states
        or previous.program is not notebook.program
        or previous.schedule_name != notebook.schedule_name
        or intrinsic_text(previous.document) != intrinsic_text(notebook.document)
    ):
        return list(notebook.states), []
    same: list[NotebookStep] = []
    for index, (old, call) in enumerate(zip(previous.steps, calls, strict=False)):
        if old.status != "applied" or old.text != call.text:
            break
        same.append(NotebookStep(index, call.text, call.place, call, "applied", old.first_trace_step))
    return list(previous.states[: len(same) + 1]), same
