"""Schedule calls of TVM's older generations, as calls of the current one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_NAMES = {"get_axes": "get_loops", "get_axis": "get_loop"}
"""Method names of 2021 and their current names."""
_KEYWORDS: Mapping[str, Mapping[str, str]] = {"blockize": {"loop": "target"}}
"""Renamed parameters."""
_INDEXED = ("transform_layout", "reindex", "set_axis_separator")
"""Methods whose buffer was two parameters, its position and its side, in TVM up to 0.9."""
_SIDES: Mapping[object, str] = {"read": "read", "write": "write", True: "write", False: "read"}
"""`buffer_index_type`, or `is_write_index` before it."""


def current_name(method: str) -> str:
    return _NAMES.get(method, method)


def current_arguments(
    method: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments in today's order and with today's names; those of a call of today stay."""
    names = _KEYWORDS.get(method, {})
    named = {names.get(key, key): value for key, value in kwargs.items()}
    if method in _INDEXED:
        return _with_buffer(tuple(args), named)
    if method == "split" and not named.keys().isdisjoint(("factor", "nparts")):
        return tuple(args), _with_factors(named)
    return tuple(args), named


def _with_buffer(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`(block, 0, "write", …)`, or the same by keyword, as `(block, ("write", 0), …)`."""
    match args:
        case (block, int() as index, ("read" | "write" | bool()) as side, *rest) if not isinstance(index, bool):
            return (block, (_SIDES[side], index), *rest), named
        case (block, int() as index, *rest) if (side := _taken_side(named)) is not None:
            return (block, (side, index), *rest), named
        case _:
            pass
    if "buffer_index" in named and (side := _taken_side(named)) is not None:
        named["buffer"] = (side, named.pop("buffer_index"))
    return args, named


def _taken_side(named: dict[str, Any]) -> str | None:
    """Remove the side from the keywords; None if there is none."""
    key = next((k for k in ("buffer_index_type", "is_write_index") if k in named), None)
    side = None if key is None else _SIDES.get(named[key])
    if key is not None and side is not None:
        del named[key]
    return side


def _with_factors(named: dict[str, Any]) -> dict[str, Any]:
    """`factor=8` as `factors=[None, 8]`, `nparts=8` as `factors=[8, None]`."""
    if len(named.keys() & {"factors", "factor", "nparts"}) > 1:
        return named  # the error of the call names them
    outer, inner = named.pop("nparts", None), named.pop("factor", None)
    return {**named, "factors": [outer, inner]}
