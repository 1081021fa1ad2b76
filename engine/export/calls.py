"""Schedule calls as readable Python text: variables for handles, keywords where a bare value would be unclear, defaults left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from ..analysis import ProgramIndex
from ..ir import PrimFunc, ScheduleCall, Var
from ..schedule import BLOCK_PARAMETERS, Handle, Schedule, quoted, value_text

_BY_KEYWORD = frozenset({"factors", "names"})
"""Required parameters that are still written with their name."""


def call_text(
    receiver: str,
    method: str,
    arguments: Mapping[str, Any],
    handle_text: Callable[[Handle], str],
    *,
    separator: str | None = "AXIS_SEPARATOR",
) -> str:
    """Return the text `receiver.method(...)` for arguments by parameter name, as in a `ScheduleCall`.

    `handle_text` returns the text of a loop or block; `separator` is the spelling of an axis separator, None drops it.
    """
    parts: list[str] = []
    for name, value, parameter in _bound(method, arguments):
        text = value_text(value, handle_text, blocks=name in BLOCK_PARAMETERS, separator=separator)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            parts.extend(value_text(v, handle_text, separator=separator) for v in value)
        elif parameter.default is inspect.Parameter.empty and name not in _BY_KEYWORD:
            parts.append(text)
        elif not _same(value, parameter.default):
            parts.append(f"{name}={text}")
    return f"{receiver}.{method}({', '.join(parts)})"


def step_text(step: ScheduleCall) -> str:
    """Return a traced call as a line of Python: `ko, ki = sch.split(k, factors=[None, 64])`, with the names of loops and blocks."""

    def text(handle: Handle) -> str:
        return handle.name if isinstance(handle, Var) else quoted(handle)

    call = call_text("sch", step.method, dict(step.arguments), text, separator="tilewright.AXIS_SEPARATOR")
    made = ", ".join(handle.name if isinstance(handle, Var) else handle for handle in step.results)
    return f"{made} = {call}" if made.replace(", ", "").isidentifier() else call


@cache
def signature_of(method: str) -> inspect.Signature:
    """Return the signature of a Schedule method, including `self`."""
    return inspect.signature(getattr(Schedule, method))


def _bound(method: str, arguments: Mapping[str, Any]) -> list[tuple[str, Any, inspect.Parameter]]:
    parameters = signature_of(method).parameters
    return [(name, arguments[name], parameter) for name, parameter in parameters.items() if name in arguments]


def is_default(method: str, name: str, value: object) -> bool:
    """Whether `value` is the default of the parameter `name` of a Schedule method."""
    return _same(value, signature_of(method).parameters[name].default)


def _same(value: object, default: object) -> bool:
    return value is default or (
        type(value) is type(default) and isinstance(value, int | float | str) and value == default
    )


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
