"""What a notebook file means, found without running it: the program, the machine, and the schedule after each line.

The cells are read over a closed subset of Python (`engine.script`); a call reaches only what the tables here name. `python file.py` does
the same with Python itself, so the two must agree: a line that fails stops both, and what stood before it stays.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace as replace_fields

from ...engine.hwsim import Machine, load_machine
from ...engine.ir import IndexMap, IRModule, Place, PrimFunc, Refusal, TilewrightError, Var
from ...engine.schedule import PRIMITIVES, Schedule
from ...engine.script import CallStep, Ref, parse, read_calls
from .cells import Cell, Document
from .files import DocumentError

Handle = Var | str
"""A loop or a block."""

QUERIES = frozenset(
    {
        "get_block",
        "get_sblock",
        "get_loops",
        "get_child_blocks",
        "get_producers",
        "get_consumers",
        "get_output_blocks",
        "work_on",
    }
)
"""Schedule methods a notebook may call besides the primitives."""

MAX_STEPS = 2_000
"""More schedule lines than this are refused."""


class NotebookStep(msgspec.Struct, frozen=True, eq=False):
    """One schedule line after `sch = tilewright.Schedule(...)`.

    `first_trace_step` is where its trace steps begin (`schedule.trace.steps`), None when it was not applied. The first line that
    fails has `error`; the lines after it are "skipped".
    """

    index: int
    text: str
    place: Place
    call: CallStep
    status: Literal["applied", "failed", "skipped"]
    first_trace_step: int | None = None
    error: TilewrightError | None = None


class State(msgspec.Struct, frozen=True, eq=False):
    """A moment of the schedule: the schedule (never changed again) and the variables that hold handles."""

    schedule: Schedule
    names: Mapping[str, Any]


class Notebook(msgspec.Struct, frozen=True, eq=False):
    """An evaluated document. What could not be had is None, and `error` says why (the first one in the file's order).

    `states[n]` is the moment before step `n`; the last one is now. `schedule_name` is the schedule's variable in the file.
    """

    document: Document
    program: IRModule | PrimFunc | None = None
    machine: Machine | None = None
    steps: tuple[NotebookStep, ...] = ()
    states: tuple[State, ...] = ()
    error: TilewrightError | None = None
    schedule_name: str = "sch"

    @property
    def schedule(self) -> Schedule | None:
        """The schedule after the last line that applied."""
        return self.states[-1].schedule if self.states else None

    @property
    def names(self) -> Mapping[str, Any]:
        """Variable -> handle (loop `Var` or block name) or tuple of handles."""
        return self.states[-1].names if self.states else {}


def evaluate(document: Document, previous: Notebook | None = None) -> Notebook:
    """The notebook that `document` describes. Never raises for its content: errors are in the result, with the file's line.

    With `previous`, an unchanged program and the unchanged first lines of the schedule are taken from there, handles included.
    """
    errors: list[TilewrightError] = []
    machine = _caught(errors, lambda: _read_machine(document))
    program = _caught(errors, lambda: _read_program(document, previous))
    notebook = Notebook(document, program, machine, error=errors[0] if errors else None)
    if program is None:
        return notebook
    calls = _caught(errors, lambda: schedule_calls(document))
    if calls is None:
        return replace_fields(notebook, states=(State(Schedule(program), {}),), error=errors[0])
    return _with_steps(notebook, calls, previous)


def _caught(errors: list[TilewrightError], read: Callable[[], Any]) -> Any:
    try:
        return read()
    except TilewrightError as error:
        errors.append(error)
        return None


# The workload.


def workload_cell(document: Document) -> Cell | None:
    """The cell with the program: the workload cell, or in a file without one the text before the first marker."""
    cells = document.of_kind("workload")
    if len(cells) > 1:
        raise DocumentError(
            Refusal(
                "two-workloads",
                "the notebook has more than one workload cell",
                expected="one workload cell with a function or a module",
                place=_marker_place(cells[1], document),
            )
        )
    candidates = cells or document.of_kind("preamble")
    return candidates[0] if candidates else None


def _read_program(document: Document, previous: Notebook | None) -> IRModule | PrimFunc:
    cell = workload_cell(document)
    if cell is None:
        raise DocumentError(Refusal("no-workload", "the notebook has no program", expected="a cell `# %% workload`"))
    if previous is not None and previous.program is not None:
        before = workload_cell(previous.document)
        if before is not None and before.text == cell.text:
            return previous.program
    # Empty lines in front make the parser's lines the file's.
    padding = "\n" * (cell.body_line - 1)
    return parse(padding + cell.body.lstrip("\ufeff"), document.path or "").program


def program_names(document: Document) -> tuple[str, ...]:
    """The names that the workload cell gives to its function or module."""
    cell = workload_cell(document)
    return tuple(re.findall(r"^(?:def|class)[ \t]+(\w+)", cell.body, re.MULTILINE)) if cell else ()


# The machine.


def _read_machine(document: Document) -> Machine | None:
    machine: Machine | None = None
    name = ""
    for cell in document.of_kind("machine"):
        for call in read_calls(cell.body, document.path or "", cell.body_line):
            machine = _at(
                call.place, lambda call=call, machine=machine, name=name: _machine_after(call, machine, name, document)
            )
            name = call.targets[0] if len(call.targets) == 1 else ""
    return machine


def _machine_after(call: CallStep, machine: Machine | None, name: str, document: Document) -> Machine:
    """`machine = tilewright.machine("name or path")`, then any number of `machine = machine.replace("path", value)`."""
    args = call.args
    match call.receiver, call.method, args:
        case ("tilewright", "machine", [str(source)]) if not call.kwargs:
            return load_machine(_beside(source, document))
        case (receiver, "replace", [str(path), value]) if machine is not None and receiver == name and not call.kwargs:
            return machine.replace(path, value)
        case _:
            raise DocumentError(
                Refusal(
                    "not-a-machine-line",
                    "the machine cell cannot hold this line",
                    found=call.text,
                    expected='machine = tilewright.machine("dual-bank-npu") or machine = machine.replace("memories.vtcm.banks", 4)',
                )
            )


def _beside(source: str, document: Document) -> str:
    """A machine file that lies beside the notebook is found from anywhere."""
    if source.endswith(".toml") and document.path and not Path(source).is_absolute():
        beside = Path(document.path).parent / source
        if beside.is_file():
            return str(beside)
    return source


# The schedule.


def schedule_calls(document: Document) -> tuple[CallStep, ...]:
    """Every statement of the schedule cells in order, `sch = tilewright.Schedule(...)` first. Raises ParseError with the file's place."""
    calls = tuple(
        call
        for cell in document.of_kind("schedule")
        for call in read_calls(cell.body, document.path or "", cell.body_line)
    )
    if len(calls) > MAX_STEPS:
        raise DocumentError(
            Refusal(
                "too-many-steps",
                f"the schedule has {len(calls)} lines",
                expected=f"at most {MAX_STEPS}",
                place=calls[MAX_STEPS].place,
            )
        )
    return calls


def _with_steps(notebook: Notebook, calls: tuple[CallStep, ...], previous: Notebook | None) -> Notebook:
    document, program = notebook.document, notebook.program
    assert program is not None
    if not calls:
        return replace_fields(notebook, states=(State(Schedule(program), {}),))
    errors = [notebook.error] if notebook.error else []
    name = _caught(errors, lambda: _at(calls[0].place, lambda: _schedule_variable(calls[0], document)))
    if name is None:
        return replace_fields(notebook, states=(State(Schedule(program), {}),), error=errors[0])
    states, steps = _reused(calls[1:], notebook, name, previous)
    failed: TilewrightError | None = None
    for index, call in enumerate(calls[1:]):
        if index < len(steps):
            continue
        if failed is not None:
            steps.append(NotebookStep(index, call.text, call.place, call, "skipped"))
            continue
        try:
            state = _at(call.place, lambda call=call: _after(states[-1], call, name))
        except TilewrightError as error:
            failed = error
            steps.append(NotebookStep(index, call.text, call.place, call, "failed", error=error))
        else:
            steps.append(
                NotebookStep(index, call.text, call.place, call, "applied", len(states[-1].schedule.trace.steps))
            )
            states.append(state)
    return replace_fields(
        notebook, steps=tuple(steps), states=tuple(states), error=(errors[0] if errors else failed), schedule_name=name
    )


def _schedule_variable(call: CallStep, document: Document) -> str:
    """The schedule's variable, from the first line."""
    match call.receiver, call.method, call.args:
        case ("tilewright", "Schedule", [Ref(name=program)]) if len(call.targets) == 1 and program in program_names(
            document
        ):
            return call.targets[0]
        case _:
            names = " or ".join(f"sch = tilewright.Schedule({n})" for n in program_names(document))
            raise DocumentError(
                Refusal(
                    "no-schedule-line",
                    "the schedule cell must start by making the schedule",
                    found=call.text,
                    expected=names,
                )
            )


def _reused(
    calls: tuple[CallStep, ...], notebook: Notebook, name: str, previous: Notebook | None
) -> tuple[list[State], list[NotebookStep]]:
    """The states and steps of `previous` as far as program and lines are the same."""
    if (
        previous is None
        or previous.program is not notebook.program
        or previous.schedule_name != name
        or not previous.states
    ):
        assert notebook.program is not None
        return [State(Schedule(notebook.program), {})], []
    same: list[NotebookStep] = []
    for index, (old, call) in enumerate(zip(previous.steps, calls, strict=False)):
        if old.status != "applied" or old.text != call.text:
            break
        same.append(NotebookStep(index, call.text, call.place, call, "applied", old.first_trace_step))
    return list(previous.states[: len(same) + 1]), same


def _after(state: State, call: CallStep, schedule_name: str) -> State:
    """The state after one line; raises what the line does wrong, with `state` as it was."""
    if call.receiver != schedule_name:
        raise DocumentError(
            Refusal(
                "unknown-name",
                f"the schedule is {schedule_name!r}",
                found=call.text,
                expected=f"{schedule_name}.method(...)",
            )
        )
    schedule = state.schedule.copy()
    result = call_method(
        schedule,
        call.method,
        tuple(_value(a, state) for a in call.args),
        {k: _value(v, state) for k, v in _items(call.kwargs)},
    )
    if call.index is not None:
        result = _indexed(result, call)
    return State(schedule, {**state.names, **_assigned(call, result)})


def _items(kwargs: Any) -> list[tuple[str, Any]]:
    return list(kwargs.items()) if isinstance(kwargs, Mapping) else list(kwargs)


def call_method(schedule: Schedule, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`schedule.method(*args, **kwargs)` for primitives and queries only. Anything that goes wrong is a TilewrightError."""
    if method not in PRIMITIVES and method not in QUERIES:
        known = sorted({*PRIMITIVES, *QUERIES})
        raise DocumentError(
            Refusal("unknown-method", f"a schedule has no method {method!r}", expected="one of " + ", ".join(known))
        )
    function = getattr(schedule, method)
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise DocumentError(
            Refusal("bad-arguments", f"{method}: {error}", expected=f"{method}({', '.join(signature.parameters)})")
        ) from error
    try:
        return function(*args, **kwargs)
    except TilewrightError:
        raise
    except (
        Exception
    ) as error:  # a value of a kind that the method does not take: the page must survive what a user typed
        raise DocumentError(Refusal("bad-arguments", f"{method}: {type(error).__name__}: {error}")) from error


def _value(value: Any, state: State) -> Any:
    match value:
        case Ref(name=name):
            if name not in state.names:
                known = ", ".join(state.names) or "none yet"
                raise DocumentError(
                    Refusal("unknown-name", f"the name {name!r} has no value here", expected=f"one of {known}")
                )
            return state.names[name]
        case list() | tuple():
            return type(value)(_value(v, state) for v in value)
        case IndexMap() | _:
            return value


def _indexed(result: Any, call: CallStep) -> Any:
    if not isinstance(result, list | tuple) or not -len(result) <= call.index < len(result):
        count = len(result) if isinstance(result, list | tuple) else "one, without a number"
        raise DocumentError(
            Refusal("bad-index", f"{call.method} has no result [{call.index}]", found=f"results: {count}")
        )
    return result[call.index]


def _assigned(call: CallStep, result: Any) -> dict[str, Any]:
    """The variables that the line sets."""
    if not call.targets:
        return {}
    if len(call.targets) == 1 and not call.unpacks:
        return {call.targets[0]: tuple(result) if isinstance(result, list) else result}
    count = len(result) if isinstance(result, list | tuple) else 1
    if count != len(call.targets) or not isinstance(result, list | tuple):
        raise DocumentError(
            Refusal(
                "wrong-number-of-names",
                f"{call.method} gives {count} values",
                found=f"{len(call.targets)} names",
                expected=f"{count} names",
            )
        )
    return dict(zip(call.targets, result, strict=True))


def _marker_place(cell: Cell, document: Document) -> Place:
    return Place(cell.first_line, 1, cell.first_line, len(cell.marker.rstrip("\r\n")) + 1, document.path or "")


def _at(place: Place, work: Callable[[], Any]) -> Any:
    """`work()`; an error that has no place in the file gets this one."""
    try:
        return work()
    except TilewrightError as error:
        if error.refusal.place is not None and error.refusal.place.file == place.file:
            raise
        raise type(error)(replace_fields(error.refusal, place=place)) from error
