"""Line-by-line evaluation of schedule code as data: each line is a schedule call, a hole with a list of values, or a plain value.

Nothing is executed: a call can only name a method in `PRIMITIVES` or `QUERIES`, and a name can only refer to an earlier line's variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ..ir import IndexMap, Refusal, ScheduleCall
from ..schedule import Schedule
from ..script import CallStep, Ref, is_value
from .holes import hole_of, is_hole
from .methods import LineError, call_of, make_call, with_numbers


class LineState(msgspec.Struct, frozen=True, eq=False):
    """The state after a line: the schedule (never modified afterwards) and the variables with their handles and values."""

    schedule: Schedule
    names: Mapping[str, Any]


class TriedCall(msgspec.Struct, frozen=True, eq=False):
    """A call that was made on a copy before its line was written; an equal line reuses the result."""

    before: LineState
    call: ScheduleCall
    schedule: Schedule
    results: Any

    def is_of(self, state: LineState, call: ScheduleCall) -> bool:
        """Whether this trial has the same state, handles and values as the call."""
        if state is not self.before or call.method != self.call.method:
            return False
        return dict(call.arguments) == dict(self.call.arguments)


def after_line(
    state: LineState,
    call: CallStep,
    schedule_name: str,
    trial: TriedCall | None = None,
    chosen: Mapping[str, int] | None = None,
) -> LineState:
    """Return the state after one line. Raises the line's error and leaves `state` unchanged.

    `chosen` maps hole names to positions in their value lists; a hole that is not in `chosen` has its first value.
    """
    if is_hole(call):
        hole = hole_of(call)
        value = hole.values[(chosen or {}).get(hole.name, 0)]
        return LineState(state.schedule, {**state.names, hole.target: value})
    if is_value(call):
        return LineState(state.schedule, {**state.names, **_assigned(call, _value(call.args[0], state.names))})
    if (call.receiver, call.method) == ("tilewright", "Schedule"):
        raise LineError(
            Refusal(
                "two-schedules",
                f"the notebook already has a schedule, {schedule_name!r}",
                found=call.text,
                expected="a single schedule, which later schedule cells continue",
            )
        )
    if call.receiver != schedule_name:
        raise LineError(
            Refusal(
                "unknown-name",
                f"the schedule is {schedule_name!r}",
                found=call.text,
                expected=f"{schedule_name}.method(...)",
            )
        )
    made = call_of(call.method, *arguments_of(call.args, call.kwargs, state.names))
    if trial is not None and trial.is_of(state, made):
        schedule, result = trial.schedule, trial.results
    else:
        schedule = state.schedule.copy()
        result = make_call(schedule, made)
    if call.index is not None:
        result = item_of(result, call.index, call.method)
    return LineState(schedule, {**state.names, **_assigned(call, result)})


def arguments_of(
    args: Sequence[Any], kwargs: Mapping[str, Any], names: Mapping[str, Any], *, unquoted: bool = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Evaluate the arguments of a line: positional arguments, then keyword arguments. With `unquoted`, unknown names inside of lists and
    dicts are strings, as TVM prints them in annotations. Raises LineError."""
    found = tuple(argument for a in args for argument in _arguments(a, names, unquoted))
    return found, {k: _value(v, names, unquoted) for k, v in kwargs.items()}


def _arguments(value: Any, names: Mapping[str, Any], unquoted: bool) -> tuple[Any, ...]:
    """Evaluate an argument; `*order` yields several values."""
    found = _value(value, names, unquoted)
    if not (isinstance(value, Ref) and value.spread):
        return (found,)
    if not isinstance(found, list | tuple):
        raise LineError(Refusal("bad-arguments", f"{value.name} is a single value", found=f"*{value.name}"))
    return tuple(cast("Sequence[Any]", found))


def _value(value: Any, names: Mapping[str, Any], unquoted: bool = False, nested: bool = False) -> Any:
    def visit(item: Any) -> Any:
        return _value(item, names, unquoted, nested=True)

    match value:
        case Ref(name=name, index=index):
            if name not in names and unquoted and nested:
                return name
            if name not in names:
                known = ", ".join(names) or "none yet"
                raise LineError(
                    Refusal("unknown-name", f"the name {name!r} is not defined here", expected=f"one of {known}")
                )
            return names[name] if index is None else item_of(names[name], index, name)
        case list():
            return [visit(v) for v in cast("list[Any]", value)]
        case tuple():
            return tuple(visit(v) for v in cast("tuple[Any, ...]", value))
        case Mapping():
            return {key: visit(v) for key, v in cast("Mapping[str, Any]", value).items()}
        case IndexMap():
            return with_numbers(value, names)
        case _:
            return value


def item_of(values: Any, index: int, source: str) -> Any:
    """Return `values[index]`, where `values` is the result of `source`."""
    if not isinstance(values, list | tuple):
        raise LineError(Refusal("bad-index", f"{source} returns a single value", found=f"[{index}]"))
    several = cast("Sequence[Any]", values)
    if not -len(several) <= index < len(several):
        raise LineError(
            Refusal(
                "bad-index",
                f"{source} has {len(several)} values",
                found=f"[{index}]",
                expected=f"0 to {len(several) - 1}",
            )
        )
    return several[index]


def _assigned(call: CallStep, result: Any) -> dict[str, Any]:
    """Return the variables that the line sets."""
    if isinstance(result, list) and not is_value(call):
        result = tuple(cast("Sequence[Any]", result))
    return assigned(call.targets, result, call.method, unpacks=call.unpacks)


def assigned(targets: Sequence[str], result: Any, method: str, *, unpacks: bool) -> dict[str, Any]:
    """Return the variables that an assignment of the result of a method sets. Raises LineError."""
    if not targets:
        return {}
    if len(targets) == 1 and not unpacks:
        return {targets[0]: result}
    several = cast("Sequence[Any]", result) if isinstance(result, list | tuple) else None
    count = 1 if several is None else len(several)
    if several is None or count != len(targets):
        raise LineError(
            Refusal(
                "wrong-number-of-names",
                f"{method} returns {count} values",
                found=f"{len(targets)} names",
                expected=f"{count} names",
            )
        )
    return dict(zip(targets, several, strict=True))
