"""The arguments of a call in the form that primitives take: tuples for lists, and handles for names of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from ..ir import LISTED
from .context import Context
from .errors import refuse


def canonical(ctx: Context, arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments by keyword in the form that primitives take. Refuses "bad-names", "unknown-loop", "ambiguous-loop"."""
    loop = arguments.get("loop")
    if isinstance(loop, str) and "=>" in loop and "names" in arguments:
        arguments = {**arguments, **_loop_and_names(loop, arguments["names"])}
    return {key: _canonical(ctx, key, value) for key, value in arguments.items()}


def _loop_and_names(pattern: str, names: object) -> dict[str, object]:
    """The loop and the names of "i => io, ii"; commas are optional."""
    loop, _, new = pattern.partition("=>")
    found = new.replace(",", " ").split()
    if names is not None or not found or not loop.strip().isidentifier():
        raise refuse("bad-names", f"{pattern!r} does not name a loop and its parts", expected='"i => io, ii"')
    return {"loop": loop.strip(), "names": found}


def _canonical(ctx: Context, key: str, value: object) -> object:
    if isinstance(value, list | tuple):
        item = "loop" if key in LISTED else ""
        return tuple(_canonical(ctx, item, v) for v in cast("Sequence[object]", value))
    if not isinstance(value, str):
        return value
    if key in ("loop", "target") or (key == "block_or_loop" and not ctx.index.has_block(value)):
        return ctx.loop(value).loop_var
    return value
