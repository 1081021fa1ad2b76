"""Rules for loops with concurrent iterations, checked when a loop becomes concurrent and after every call that changes its body."""

from __future__ import annotations

from ...analysis import is_once, is_update, iterations_apart, stores_once
from ...ir import For, ForKind, PrimFunc, Range, uses_var
from ..context import Context
from ..errors import ScheduleError, refuse
from .checks import require_order_free, shares_elements

CONCURRENT_KINDS: tuple[ForKind, ...] = ("parallel", "vectorized", "thread_binding")
_MOVES_NOTHING = ("parallel", "vectorize", "bind", "unroll", "annotate", "unannotate")


def require_concurrent(ctx: Context, loop: For, kind: ForKind, thread_tag: str | None) -> None:
    """Check that the iterations of a sequential loop may run concurrently."""
    require_nothing_reduced(ctx, loop, kind, thread_tag)
    require_order_free(ctx, [loop], [loop.loop_var], kind)
    require_updates_apart(ctx, loop, kind, thread_tag)


# A concurrent loop shares a sum that moves below it or gets a reader outside of it. (Other values need no check: every call proves that a
# block reads a value written in its own iteration, or before the loop.)
def require_still_concurrent(ctx: Context, method: str, func: PrimFunc) -> None:
    """Check `func`, the call's result for the context's function. Loops that shared sums before the call are accepted as intended."""
    if func is ctx.func or method in _MOVES_NOTHING or not _concurrent(ctx):
        return
    after = ctx.after(func)
    for loop in _concurrent(after):
        old = ctx.index.loop(loop.loop_var) if ctx.index.has_loop(loop.loop_var) else None
        if old is loop or (fault := _fault(after, loop)) is None:
            continue
        if old is None or _fault(ctx, old) is None:
            raise refuse(
                fault.code, f"after {method} loop {loop.loop_var.name!r} could no longer be {loop.kind}: {fault.refusal.message}",
                loop, *fault.refusal.nodes, found=fault.refusal.found, expected=fault.refusal.expected,
            )  # fmt: skip


def _concurrent(ctx: Context) -> list[For]:
    return [f for f in ctx.index.loops if f.kind in CONCURRENT_KINDS]


def _fault(ctx: Context, loop: For) -> ScheduleError | None:
    try:
        require_nothing_reduced(ctx, loop, loop.kind, loop.thread_tag)
        require_updates_apart(ctx, loop, loop.kind, loop.thread_tag)
    except ScheduleError as error:
        return error
    return None


# Concurrent iterations must not reduce into one element, unless they are threads of one block.
def require_nothing_reduced(ctx: Context, loop: For, kind: str, thread_tag: str | None) -> None:
    allowed = ("spatial", "reduce") if _is_in_block(thread_tag) else ("spatial",)
    driven = [
        (iter_var, realize)
        for realize in ctx.index.child_blocks(loop)
        for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if iter_var.iter_type not in allowed and uses_var(value, loop.loop_var)
    ]
    if driven:
        iterators = [f"the {iv.iter_type} iterator {iv.var.name!r} of block {r.block.name!r}" for iv, r in driven]
        raise refuse(
            "reduction-in-parallel",
            f"loop {loop.loop_var.name!r} drives {' and '.join(iterators)}: its iterations cannot run concurrently ({kind})",
            loop, *dict.fromkeys(r for _, r in driven),
            expected="a loop that drives only spatial iterators",
        )  # fmt: skip


# Concurrent iterations must not update one element, unless each has a private buffer for it.
def require_updates_apart(ctx: Context, loop: For, what: str, thread_tag: str | None) -> None:
    for realize in () if _is_in_block(thread_tag) else ctx.index.child_blocks(loop):
        if not ctx.index.fact(is_update, realize.block) and ctx.index.fact(stores_once, realize.block):
            continue
        above = ctx.index.loops_above(realize)
        ranges = {f.loop_var: Range(f.min, f.extent) for f in above}
        outer = {f.loop_var: ranges.pop(f.loop_var) for f in above[: above.index(loop)]}
        if is_once(realize, ranges, outer):
            continue
        for buffer in (w.buffer for w in realize.block.writes if shares_elements(ctx, loop, realize, w.buffer)):
            apart = iterations_apart(ctx.index, loop, realize, buffer)
            if not apart:
                raise refuse(
                    "order-dependent",
                    f"cannot {what}: several iterations of {loop.loop_var.name!r} may update the same element of {buffer.name!r}",
                    loop, realize, found=apart.detail, expected="iterations that update distinct elements",
                )  # fmt: skip


def _is_in_block(thread_tag: str | None) -> bool:
    """Whether the iterations are threads of one block, which may reduce together (a cross-thread reduction)."""
    return thread_tag is not None and thread_tag.startswith("threadIdx")
