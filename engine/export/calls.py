"""Schedule calls as readable Python text: variables for handles, keywords where a bare value would be unclear, defaults left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

from ..analysis import ProgramIndex
from ..ir import PrimFunc, ScheduleCall, Var
from ..schedule import Handle, Schedule, assignment, is_same, quoted, traced_line
from ..schedule import call_text as text_of_call

SEPARATOR = "tilewright.AXIS_SEPARATOR"
"""The text of an axis separator."""


def call_text(
    call: ScheduleCall,
    handle_text: Callable[[Handle], str],
    *,
    receiver: str = "sch",
    separator: str | None = SEPARATOR,
) -> str:
    """Return the call with required arguments by position, and without defaults; see `schedule.call_text`."""
    parameters = signature_of(call.method).parameters
    return text_of_call(call, handle_text, receiver=receiver, separator=separator, parameters=parameters)


def step_text(step: ScheduleCall) -> str:
    """Return a traced call as a line of Python: `ko, ki = sch.split(k, factors=[None, 64])`, with the names of loops and blocks."""

    def text(handle: Handle) -> str:
        return handle.name if isinstance(handle, Var) else quoted(handle)

    made = [handle.name if isinstance(handle, Var) else handle for handle in step.results]
    return assignment(made if all(name.isidentifier() for name in made) else (), call_text(step, text))


def trace_line(step: ScheduleCall, names: dict[Handle, str], reserved: Collection[str] = ()) -> str:
    """Return a traced call as a line of a notebook; results without a variable in `names` get one there that is not `reserved`."""
    parameters = signature_of(step.method).parameters
    return traced_line(step, names, reserved, separator=SEPARATOR, parameters=parameters)


@cache
def signature_of(method: str) -> inspect.Signature:
    """Return the signature of a Schedule method, including `self`."""
    return inspect.signature(getattr(Schedule, method))


def is_default(method: str, name: str, value: object) -> bool:
    """Whether `value` is the default of the parameter `name` of a Schedule method."""
    return is_same(value, signature_of(method).parameters[name].default)


def named_arguments(method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Map positional and keyword arguments of a Schedule method to parameter names. Raises TypeError if they do not fit."""
    bound = signature_of(method).bind(None, *args, **kwargs).arguments
    return {name: value for index, (name, value) in enumerate(bound.items()) if index > 0}


def loop_position(func: PrimFunc, loop: Var) -> tuple[str, int] | None:
    """Return a block below `loop` and the loop's position in `get_loops(block)`; None when the loop is not in `func`."""
    index = ProgramIndex(func)
    for name in index.block_names[1:]:
        for position, outer in enumerate(index.loops_of(name)):
            if outer.loop_var is loop:
                return name, position
    return None
