"""Legal targets of a block: the verdict on each loop of a function, by the code that moves the block."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace as replace_fields

from ....cancellation import checkpoint
from ....ir import BlockRealize, For, PrimFunc, Refusal, Var
from ...context import BlockRV, Context
from ...errors import ScheduleError
from ...rules.finalize import finalize
from ...rules.while_loops import require_no_while
from .compute_at import Direction, call_line, moved, refusal_of, require_direction, require_movable, require_place


class Target(msgspec.Struct, frozen=True, eq=False):
    """A loop as a target of a block: `primitive` is the call that moves the block there, or the refused call of `refusal`; `after` is
    the function with the moved block."""

    loop: Var
    legal: bool
    primitive: Direction
    refusal: Refusal | None = None
    after: PrimFunc | None = None


def legal_targets(ctx: Context, block: BlockRV) -> tuple[Target, ...]:
    """The verdict on each loop of the function, in text order. A target is legal if and only if the call succeeds."""
    realize = ctx.realize(block)
    always = (
        refusal_of(ctx.require_known)
        or refusal_of(lambda: require_no_while(ctx, "compute_at", {"block": block}))
        or refusal_of(lambda: require_movable(ctx, realize))
    )
    refused: dict[Direction, ScheduleError | None] = {
        d: refusal_of(lambda d=d: require_direction(ctx, realize, d)) or always for d in _DIRECTIONS
    }
    verdicts = [_target(ctx, realize, loop, refused) for loop in ctx.index.loops]
    legal: dict[Var, Direction] = {t.loop: t.primitive for t in verdicts if t.legal}
    return tuple(t if t.legal else _with_fix(ctx, t, block, legal) for t in verdicts)


_DIRECTIONS: tuple[Direction, Direction] = ("compute_at", "reverse_compute_at")


def _target(
    ctx: Context, realize: BlockRealize, loop: For, refused: Mapping[Direction, ScheduleError | None]
) -> Target:
    checkpoint()
    errors: dict[Direction, ScheduleError] = {}
    for direction in _DIRECTIONS:
        error = refusal_of(lambda: require_place(ctx, realize, loop)) or refused[direction]
        if error is None:
            try:
                after = finalize(ctx, direction, moved(ctx, direction, realize, loop))
            except ScheduleError as refusal:
                error = refusal
            else:
                return Target(loop.loop_var, True, direction, after=after)
        errors[direction] = error
    natural: Direction = "compute_at" if _follows(ctx, loop, realize) else "reverse_compute_at"
    return Target(loop.loop_var, False, natural, errors[natural].refusal)


def _follows(ctx: Context, loop: For, realize: BlockRealize) -> bool:
    first = next(iter(ctx.index.child_blocks(loop)), None)
    return first is None or ctx.index.position(first.block.name) > ctx.index.position(realize.block.name)


def _with_fix(ctx: Context, target: Target, block: BlockRV, legal: Mapping[Var, Direction]) -> Target:
    """The refusal with the nearest outer loop that is legal as its fix, if it has no other fix."""
    assert target.refusal is not None
    if target.refusal.fix:
        return target
    for outer in reversed(ctx.index.loops_above(ctx.index.loop(target.loop))):
        if legal.get(outer.loop_var) == target.primitive:
            fix = (call_line(target.primitive, block, outer.loop_var),)
            return replace_fields(target, refusal=replace_fields(target.refusal, fix=fix))
    return target
