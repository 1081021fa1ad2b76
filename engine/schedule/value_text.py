"""Schedule calls and their arguments as Python text."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter as MethodParameter
from typing import Any

from ..arith import prove_equal
from ..ir import LISTED, Buffer, Expr, IndexMap, Parameter, ParameterItem, RegionMap, ScheduleCall, Var, build
from ..script import expr_text
from .intrin import TensorIntrin

Handle = Var | str

BLOCK_PARAMETERS = frozenset(
    {"block", "block_or_loop", "consumer_blocks", "scope_block", "target", "reduction_block", "epilogue_block"}
)
"""Parameters whose strings name blocks; elsewhere a string is a plain string."""


LISTS = frozenset({"split", "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks"})
"""Methods that return a list, even of one element."""

_BY_KEYWORD = frozenset({"factors", "names"})
"""Required parameters that are still written with their name."""


def call_text(
    call: ScheduleCall,
    handle_text: Callable[[Handle], str],
    *,
    receiver: str = "sch",
    separator: str | None = "AXIS_SEPARATOR",
    parameters: Mapping[str, MethodParameter] | None = None,
) -> str:
    """Return `receiver.method(...)`. `handle_text` returns the text of a loop or block; `separator` is the spelling of an axis separator,
    None drops it. With the `parameters` of the method, in their order, required arguments are positional and defaults are left out;
    without them all arguments are by keyword, as in TVM's traces."""
    arguments = dict(call.arguments)
    parts: list[str] = []
    for name in arguments if parameters is None else parameters:
        if name not in arguments:
            continue
        value, parameter = arguments[name], None if parameters is None else parameters[name]
        if name in LISTED:
            parts.extend(value_text(one, handle_text, separator=separator) for one in value)
        elif parameter is None or not is_same(value, parameter.default):
            text = value_text(value, handle_text, blocks=name in BLOCK_PARAMETERS, separator=separator)
            required = parameter is not None and parameter.default is parameter.empty and name not in _BY_KEYWORD
            parts.append(text if required else f"{name}={text}")
    return f"{receiver}.{call.method}({', '.join(parts)})"


def assignment(targets: Sequence[str], text: str, *, unpacks: bool = False) -> str:
    """Return `ko, ki = text`; `(ko,) = text` if the only target is the item of a list."""
    listed = ", ".join(targets)
    return f"{f'({listed},)' if unpacks and len(targets) == 1 else listed} = {text}" if targets else text


def traced_line(
    call: ScheduleCall,
    names: dict[Handle, str],
    reserved: Collection[str] = ("sch",),
    *,
    separator: str = "AXIS_SEPARATOR",
    parameters: Mapping[str, MethodParameter] | None = None,
) -> str:
    """Return the line of a traced call. `names` are the variables of the handles so far, and receives those of the results."""

    def text(handle: Handle) -> str:
        return names.get(handle) or quoted(name_of(handle))

    made = call_text(call, text, separator=separator, parameters=parameters)
    for handle in call.results:
        if handle not in names:
            names[handle] = unique_name(name_of(handle), {*reserved, *names.values()})
    return assignment([names[handle] for handle in call.results], made, unpacks=call.method in LISTS)


def name_of(handle: Handle) -> str:
    return handle.name if isinstance(handle, Var) else handle


def is_same(value: object, default: object) -> bool:
    """Whether an argument is the default of its parameter."""
    return value is default or (
        type(value) is type(default) and isinstance(value, int | float | str) and value == default
    )


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
            case Parameter() | ParameterItem():
                return str(item)
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
