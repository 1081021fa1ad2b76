"""Schedule lines: read as data, and applied to a schedule that the tables here protect from what they do not name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import msgspec

from ...engine.export import named_arguments
from ...engine.ir import Refusal, TilewrightError
from ...engine.schedule import PRIMITIVES, Schedule
from ...engine.script import CallStep, Ref, read_calls
from ..limits import LIMITS
from .cells import Document
from .files import DocumentError
from .notebook import State
from .sizes import calls_text
from .workload import program_names

QUERIES = frozenset(
    {
        "get_block",
        "get_sblock",
        "get_loop",
        "get_loops",
        "get_child_blocks",
        "get_producers",
        "get_consumers",
        "get_output_blocks",
        "work_on",
    }
)
"""Schedule methods a notebook may call besides the primitives."""

MAX_STEPS = LIMITS.steps
"""More schedule lines than this are refused."""


def schedule_calls(document: Document) -> tuple[CallStep, ...]:
    """Every statement of the schedule cells in order, `sch = tilewright.Schedule(...)` first. Raises ParseError with the file's place."""
    calls = tuple(
        call
        for cell in document.of_kind("schedule")
        for call in read_calls(calls_text(cell), document.path or "", cell.body_line)
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


def schedule_variable(call: CallStep, document: Document) -> str:
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


class Trial(msgspec.Struct, frozen=True, eq=False):
    """A call that was made on a copy before its line was written; the line that says the same need not make it again."""

    before: State
    method: str
    arguments: Mapping[str, Any]
    schedule: Schedule
    results: Any

    def is_of(self, state: State, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether the call is this one: on the same state, with the same handles and values."""
        if state is not self.before or method != self.method:
            return False
        return named_arguments(method, args, kwargs) == self.arguments


def after_line(state: State, call: CallStep, schedule_name: str, trial: Trial | None = None) -> State:
    """The state after one line; raises what the line does wrong, with `state` as it was."""
    if (call.receiver, call.method) == ("tilewright", "Schedule"):
        raise DocumentError(
            Refusal(
                "two-schedules",
                f"the notebook has its schedule already, {schedule_name!r}",
                found=call.text,
                expected="one schedule; further schedule cells go on with it",
            )
        )
    if call.receiver != schedule_name:
        raise DocumentError(
            Refusal(
                "unknown-name",
                f"the schedule is {schedule_name!r}",
                found=call.text,
                expected=f"{schedule_name}.method(...)",
            )
        )
    args = tuple(_value(a, state) for a in call.args)
    kwargs = {k: _value(v, state) for k, v in call.kwargs.items()}
    if trial is not None and trial.is_of(state, call.method, args, kwargs):
        schedule, result = trial.schedule, trial.results
    else:
        schedule = state.schedule.copy()
        result = call_method(schedule, call.method, args, kwargs)
    if call.index is not None:
        result = _item(result, call.index, call.method)
    return State(schedule, {**state.names, **_assigned(call, result)})


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
    except Exception as error:
        # A value of a kind that the method does not take: the page must survive what a user typed.
        raise DocumentError(Refusal("bad-arguments", f"{method}: {type(error).__name__}: {error}")) from error


def _value(value: Any, state: State) -> Any:
    match value:
        case Ref(name=name, index=index):
            if name not in state.names:
                known = ", ".join(state.names) or "none yet"
                raise DocumentError(
                    Refusal("unknown-name", f"the name {name!r} has no value here", expected=f"one of {known}")
                )
            return state.names[name] if index is None else _item(state.names[name], index, name)
        case list() | tuple():
            return type(value)(_value(v, state) for v in value)
        case dict():
            return {key: _value(v, state) for key, v in value.items()}
        case _:
            return value


def _item(values: Any, index: int, source: str) -> Any:
    """`values[index]` of the handles that `source` gave."""
    if not isinstance(values, list | tuple):
        raise DocumentError(Refusal("bad-index", f"{source} gives one value, not several", found=f"[{index}]"))
    if not -len(values) <= index < len(values):
        raise DocumentError(
            Refusal(
                "bad-index",
                f"{source} gives {len(values)} values",
                found=f"[{index}]",
                expected=f"0 to {len(values) - 1}",
            )
        )
    return values[index]


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
