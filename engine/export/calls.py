"""Schedule calls as readable Python text: variables for handles, keywords where a bare value would be unclear, defaults left out."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

from ..analysis import ProgramIndex
from ..arith import prove_equal
from ..ir import Buffer, Expr, IndexMap, PrimFunc, RegionMap, Var, build
from ..schedule import Schedule, Step, TensorIntrin
from ..script import expr_text

Handle = Var | str

BLOCK_PARAMETERS = frozenset(
    {"block", "block_or_loop", "consumer_blocks", "scope_block", "target", "reduction_block", "epilogue_block"}
)
"""Parameters whose strings name blocks; elsewhere a string is a plain string."""

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
    """Return the text `receiver.method(...)` for arguments by parameter name, as in a `Step`.

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


def step_text(step: Step) -> str:
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


def value_text(
    value: Any, handle_text: Callable[[Handle], str], *, blocks: bool = False, separator: str | None = "AXIS_SEPARATOR"
) -> str:
    """Return one argument as Python text; with `blocks`, its strings are blocks."""

    def visit(item: Any) -> str:
        match item:
            case Var():
                return handle_text(item)
            case str():
                return handle_text(item) if blocks else quoted(item)
            case IndexMap():
                return index_map_text(item, separator=separator)
            case RegionMap():
                return region_map_text(item)
            case Buffer() | TensorIntrin():
                return quoted(item.name)
            case Expr():
                return expr_text(item)
            case list():
                return f"[{', '.join(map(visit, item))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            case tuple() if _is_pair(item):  # pyright: ignore[reportUnknownArgumentType]
                return f"({visit(item[0])}, {visit(item[1])})"
            case tuple():
                return f"[{', '.join(map(visit, item))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            case _:
                return repr(item)

    return visit(value)


def _is_pair(item: tuple[Any, ...]) -> bool:
    """Whether the item is a pair such as `("write", 0)`, which TVM requires as a tuple; every other sequence is a list there."""
    return len(item) == 2 and item[0] in ("read", "write") and isinstance(item[1], int)


def index_map_text(index_map: IndexMap, *, separator: str | None = "AXIS_SEPARATOR") -> str:
    """Return `lambda m, k: [k // 64, AXIS_SEPARATOR, m, k % 64]`."""
    names, given = _named_params(index_map.params)
    items = [expr_text(index) for index in index_map.apply(given)]
    if separator is not None:
        for position in reversed(index_map.separators):
            items.insert(position, separator)
    return f"lambda {', '.join(names)}: [{', '.join(items)}]"


def region_map_text(region_map: RegionMap) -> str:
    """Return `lambda i, j: [(i - 1, i + 2), j]`."""
    names, given = _named_params(region_map.params)
    items = [
        expr_text(begin) if prove_equal(end, build.add(begin, 1)) else f"({expr_text(begin)}, {expr_text(end)})"
        for begin, end in region_map.apply(given)
    ]
    return f"lambda {', '.join(names)}: [{', '.join(items)}]"


def _named_params(params: Sequence[Var]) -> tuple[list[str], list[Var]]:
    """Return the parameters' names as unique Python variables, and Vars with these names."""
    names: list[str] = []
    for param in params:
        names.append(unique_name(param.name, names))
    return names, [Var(name, param.dtype) for name, param in zip(names, params, strict=True)]


def quoted(text: str) -> str:
    """Return a Python string literal, in double quotes if possible."""
    plain = repr(text)
    return plain if '"' in plain or "\\" in plain else f'"{plain[1:-1]}"'


def unique_name(name: str, used: Collection[str]) -> str:
    """Turn `name` into a Python variable that is not in `used`: invalid characters become `_`, and a number is appended if necessary."""
    base = re.sub(r"\W", "_", name, flags=re.ASCII) or "x"
    if base[0].isdigit():
        base = f"_{base}"
    if keyword.iskeyword(base):
        base += "_"
    found, number = base, 1
    while found in used:
        found, number = f"{base}_{number}", number + 1
    return found


def loop_position(func: PrimFunc, loop: Var) -> tuple[str, int] | None:
    """Return a block below `loop` and the loop's position in `get_loops(block)`; None when the loop is not in `func`."""
    index = ProgramIndex(func)
    for name in index.block_names[1:]:
        for position, outer in enumerate(index.loops_of(name)):
            if outer.loop_var is loop:
                return name, position
    return None
