"""Rules for programs with `while` loops, whose iterations depend on memory and are not known to the analyses.

The iterations of a `while` never change their order: calls transform what one of them runs, or what runs before or after all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from ...ir import BlockRealize, For, Node, Var, while_loop
from ...lower import PIPELINE_KEYS
from ..context import Context
from ..errors import ScheduleError, refuse

_OF_LOOPS = (
    "split", "fuse", "reorder", "tile", "parallel", "vectorize", "unroll", "bind", "merge", "loop_partition", "decompose_reduction",
)  # fmt: skip
"""Calls that change only the order of the iterations of the loops that they name, or the init of a block below such a loop."""
_OF_BUFFERS = ("transform_layout", "set_layout", "set_scope", "storage_align", "set_axis_separator")
"""Calls that change how all accesses to a buffer are written, wherever they are."""
_OF_NOTES = ("annotate", "unannotate", "add_unit_loop")
"""Calls that change no order."""
_LOWERED_KEYS = (*PIPELINE_KEYS, "double_buffer_scope")
"""Annotations whose meaning is a pass of the lowering, which needs the number of iterations."""


# A call may change the order of iterations only if each runs a known number of statements: no `while` is below its loops. A call that
# moves, adds or removes statements of a scope needs a scope without a `while`.
def require_no_while(ctx: Context, method: str, arguments: Mapping[str, object]) -> None:
    """Check the loops and blocks that a call names. Refuses "while-loop"."""
    if not ctx.has_while:
        return
    piped = next((f for f in ctx.index.loops if any(key in PIPELINE_KEYS for key, _ in f.annotations)), None)
    if piped is not None:
        raise _refused(f"loop {piped.loop_var.name!r} is a pipeline in a program with a while loop", piped)
    if method in _OF_NOTES:
        _require_plain_note(ctx, method, arguments)
        return
    if method in _OF_BUFFERS:
        if arguments.get("pad_value") is not None:
            raise _refused(f"cannot {method} with a pad_value: when the padding is filled is unknown", ctx.func)
        return
    for target in _targets(ctx, arguments.values()):
        if method not in _OF_LOOPS:
            require_scope_without_while(ctx, target)
        elif isinstance(target, For) and (loop := ctx.index.fact(while_loop, target)) is not None:
            name = target.loop_var.name
            raise _refused(
                f"cannot {method} loop {name!r}: the iterations of a while loop in it are unknown", target, loop
            )


def require_scope_without_while(ctx: Context, target: For | BlockRealize) -> None:
    """Check the scope of a loop or a block that a call changes as a whole; for the root, the program."""
    root = ctx.index.root
    scope = root.block if target is root else ctx.index.scope_of(target)
    loop = ctx.index.fact(while_loop, scope)
    if loop is not None:
        raise _refused(
            f"block {scope.name!r} has a while loop, so what its statements pass to each other is unknown", scope, loop
        )


def _require_plain_note(ctx: Context, method: str, arguments: Mapping[str, object]) -> None:
    key = arguments.get("ann_key")
    if key in _LOWERED_KEYS:
        raise _refused(f"cannot {method} {key!r}: a program with a while loop is not lowered", ctx.func)


def _targets(ctx: Context, values: Iterable[object]) -> Iterator[For | BlockRealize]:
    """The loops and blocks among the arguments of a call."""
    for value in values:
        if isinstance(value, tuple):
            yield from _targets(ctx, cast("tuple[object, ...]", value))
        elif isinstance(value, Var) and ctx.index.has_loop(value):
            yield ctx.index.loop(value)
        elif isinstance(value, str) and ctx.index.has_block(value):
            yield ctx.index.realize(value)


def _refused(message: str, *nodes: Node) -> ScheduleError:
    return refuse(
        "while-loop", message, *nodes,
        expected="a split, fuse, reorder, vectorize, bind or decompose_reduction of loops without a while loop, a layout, "
        "or a block whose scope has none",
    )  # fmt: skip
