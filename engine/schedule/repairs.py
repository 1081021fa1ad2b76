"""Repairs of refused calls: chains of calls that make the call legal, each tested together with the call on the current program.

A table gives the candidate chains for each refusal code, the shortest first. Where none helps, a second table has chains that have the
effect of the call in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace as replace_fields

from ..ir import BlockRealize, For, Refusal, ScheduleCall, Stmt, Var, called_with
from ..lower import PIPELINE_KEYS
from .context import Context
from .errors import ScheduleError
from .primitives import PRIMITIVES
from .primitives.loops.transforms import sibling_blocks
from .rules.block_motion import drives_reduction


class RefusedCall(msgspec.Struct, frozen=True, eq=False):
    """A refused call and its refusal."""

    ctx: Context
    call: ScheduleCall
    refusal: Refusal

    @property
    def arguments(self) -> Mapping[str, object]:
        return dict(self.call.arguments)

    @property
    def block(self) -> str:
        found = self.arguments.get("block", "")
        return found if isinstance(found, str) else ""

    @property
    def loops(self) -> list[For]:
        """The loops that the call names."""
        listed, keywords = called_with(self.arguments)
        named = (*listed, *(keywords.get(k) for k in ("loop", "block_or_loop")))
        return [self.ctx.loop(v) for v in named if isinstance(v, Var) and self.ctx.index.has_loop(v)]

    @property
    def blocks(self) -> list[str]:
        """The blocks that the refusal points at, without the block of the call itself."""
        found = [n.block.name for n in self.refusal.nodes if isinstance(n, BlockRealize)]
        return [name for name in dict.fromkeys(found) if name != self.block]


class RepairTrial:
    """A trial program with the calls applied so far."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.calls: tuple[ScheduleCall, ...] = ()

    def call(self, method: str, /, **arguments: object) -> tuple[Var | str, ...]:
        """Apply a call; raises ScheduleError if it is refused."""
        result = PRIMITIVES[method].call(self.ctx, arguments)
        self.ctx = self.ctx.after(result.func)
        self.calls = (*self.calls, ScheduleCall(method, tuple(arguments.items())))
        return result.handles


Chain = Callable[[RepairTrial], object]


def with_repair(ctx: Context, call: ScheduleCall, refusal: Refusal) -> Refusal:
    """The refusal with the calls that make the call legal, or those that have its effect; unchanged if no chain helps."""
    refused = RefusedCall(ctx, call, refusal)
    repair = _repair(refused)
    if not repair:
        return replace_fields(refusal, instead=_instead(refused))
    fix = tuple(call for call in refusal.fix if call not in map(str, repair))
    return replace_fields(refusal, fix=fix, repair=repair)


def _repair(refused: RefusedCall) -> tuple[ScheduleCall, ...]:
    for chain in CHAINS.get(refused.refusal.code, _no_chains)(refused):
        trial = RepairTrial(refused.ctx)
        try:
            chain(trial)
            PRIMITIVES[refused.call.method].call(trial.ctx, refused.arguments)
        except (ScheduleError, RecursionError):
            continue
        return trial.calls
    return ()


def _instead(refused: RefusedCall) -> tuple[ScheduleCall, ...]:
    for chain in INSTEAD.get(refused.refusal.code, _no_chains)(refused):
        trial = RepairTrial(refused.ctx)
        with suppress(ScheduleError):
            chain(trial)
            return trial.calls
    return ()


def _no_chains(_: RefusedCall) -> Iterable[Chain]:
    return ()


# Annotations.


def _without_marks(refused: RefusedCall) -> Iterator[Chain]:
    """Remove the annotations of the call's loops."""
    marks = [(f.loop_var, key) for f in refused.loops for key, _ in f.annotations]
    yield lambda t: [t.call("unannotate", block_or_loop=loop, ann_key=key) for loop, key in marks]


def _without_pipelines(refused: RefusedCall) -> Iterator[Chain]:
    """Remove the pipeline of the refused loops, so that the user can add one for the new body."""
    loops = [n for n in refused.refusal.nodes if isinstance(n, For)]
    marks = [(f.loop_var, key) for f in loops for key, _ in f.annotations if key in PIPELINE_KEYS]
    yield lambda t: [t.call("unannotate", block_or_loop=loop, ann_key=key) for loop, key in marks]


def _without_this_mark(refused: RefusedCall) -> Iterator[Chain]:
    where = {key: refused.arguments[key] for key in ("block_or_loop", "ann_key") if key in refused.arguments}
    if len(where) == 2:
        yield lambda t: t.call("unannotate", **where)


# Loop nests.


def _in_one_chain(refused: RefusedCall) -> Iterator[Chain]:
    """Make the loops adjacent, or move the blocks between them into the innermost loop."""
    loops = [f.loop_var for f in refused.loops]
    if len(loops) < 2:
        return
    yield lambda t: t.call("reorder", ordered_loops=tuple(loops))
    deepest = max(refused.loops, key=lambda f: len(refused.ctx.index.loops_above(f)))
    chain = (*refused.ctx.index.loops_above(deepest), deepest)
    named = [f for f in chain if f.loop_var in loops]
    between = [f.loop_var for f in chain[chain.index(named[0]) :] if f.loop_var not in loops]
    if between:
        yield lambda t: t.call("reorder", ordered_loops=(*loops, *between))
        yield lambda t: t.call("reorder", ordered_loops=(*between, *loops))
    beside = _sibling_blocks(refused.ctx, named[0], deepest)
    for method in MOVES:
        yield lambda t, method=method: [t.call(method, block=b, loop=deepest.loop_var) for b in _order(beside, method)]
    yield lambda t: [t.call("compute_inline", block=b) for b in beside]


def _sibling_blocks(ctx: Context, top: For, deepest: For) -> list[str]:
    """The blocks beside the chain of loops from `top` to `deepest`."""
    found: list[str] = []
    below: Stmt = deepest
    for outer in ctx.index.path(deepest):
        found += [r.block.name for r in sibling_blocks(ctx, below)]
        if outer is top:
            return found
        below = outer
    return []


def _order(blocks: Sequence[str], method: str) -> Sequence[str]:
    """The blocks in the order of moves: consumers before producers for compute_at, producers before consumers otherwise."""
    return list(reversed(blocks)) if method == "compute_at" else blocks


MOVES = ("compute_at", "reverse_compute_at")


# Reductions.


def _with_init_apart(refused: RefusedCall) -> Iterator[Chain]:
    for block in refused.blocks:
        for loop in _reduction_loops(refused.ctx, block)[:1]:
            yield lambda t, block=block, loop=loop: t.call("decompose_reduction", block=block, loop=loop.loop_var)


def _with_partial_sums(refused: RefusedCall) -> Iterator[Chain]:
    """Split the sum into partial sums, so that the loop runs over separate sums."""
    for loop in refused.loops:
        yield lambda t, loop=loop: t.call("rfactor", loop=loop.loop_var, factor_axis=0)


def _with_reduction_inside(refused: RefusedCall) -> Iterator[Chain]:
    """Move reduction loops inside of the requested loop."""
    for loop in refused.loops:
        chain = (*refused.ctx.index.loops_above(loop), loop)
        below = refused.ctx.index.child_blocks(loop)
        inner = [f for f in chain if any(drives_reduction(r, f) for r in below)]
        if not inner or inner == [loop]:
            continue
        part = chain[chain.index(inner[0]) :]
        outer = [f for f in part if f not in inner] or [loop]
        wanted = tuple(f.loop_var for f in (*outer, *(f for f in inner if f not in outer)))
        yield lambda t, wanted=wanted: t.call("reorder", ordered_loops=wanted)


def _reduction_loops(ctx: Context, block: str) -> list[For]:
    realize = ctx.realize(block)
    return [f for f in ctx.index.loops_above(realize) if drives_reduction(realize, f)]


# Producers and consumers.


def _without_the_others(refused: RefusedCall) -> Iterator[Chain]:
    """Inline the conflicting blocks or move them to the same loop; the same for all blocks between the block and those in the loop."""
    yield from _removed(refused, refused.blocks)
    between = _between(refused)
    if between and between != refused.blocks:
        yield from _removed(refused, between)


def _between(refused: RefusedCall) -> list[str]:
    """The blocks outside of the loop that pass values between the block of the call and blocks in the loop, in text order."""
    index = refused.ctx.index
    if not refused.block or not refused.loops:
        return []
    inside = {r.block.name for r in index.child_blocks(refused.loops[0])}
    into, out_of = (_reached(inside, step) for step in (index.producers, index.consumers))
    after, before = (_reached({refused.block}, step) for step in (index.consumers, index.producers))
    found = (into & after or out_of & before) - inside - {refused.block}
    return sorted(found, key=index.position)


def _reached(blocks: Iterable[str], step: Callable[[str], Iterable[str]]) -> set[str]:
    """The blocks reached from some blocks in one step or more."""
    found: set[str] = set()
    todo = [*blocks]
    while todo:
        fresh = [b for b in step(todo.pop()) if b not in found]
        found.update(fresh)
        todo += fresh
    return found


def _removed(refused: RefusedCall, others: Sequence[str]) -> Iterator[Chain]:
    """Inline some blocks, or move them to the loop of the call."""
    yield lambda t: [t.call("compute_inline", block=b) for b in others]
    yield lambda t: [t.call("reverse_compute_inline", block=b) for b in reversed(others)]
    for loop in refused.loops[:1]:
        for method in MOVES:
            yield lambda t, method=method, loop=loop: [
                t.call(method, block=b, loop=loop.loop_var) for b in _order(others, method)
            ]


def _one_input_left(refused: RefusedCall) -> Iterator[Chain]:
    """Inline all producers except one."""
    producers = refused.ctx.index.producers(refused.block) if refused.block else ()
    for kept in reversed(producers):
        others = [p for p in producers if p != kept]
        yield lambda t, others=others: [t.call("compute_inline", block=b) for b in others]


def _through_a_cache(refused: RefusedCall) -> Iterator[Chain]:
    """Compute the output in an intermediate buffer, which the consumers read, and copy it out."""
    ctx, block = refused.ctx, refused.block
    consumers = ctx.index.consumers(block) if block else ()
    if not consumers:
        return
    for position, write in enumerate(ctx.block(block).writes):
        if not ctx.index.is_param(write.buffer):
            continue
        cache = {
            "block": block, "write_buffer_index": position, "storage_scope": write.buffer.scope, "consumer_blocks": consumers,
        }  # fmt: skip
        yield lambda t, cache=cache: t.call("cache_write", **cache)
        for loop in refused.loops[:1]:
            yield lambda t, cache=cache, loop=loop: t.call(
                "reverse_compute_at", block=t.call("cache_write", **cache)[0], loop=loop.loop_var
            )


def _copied_buffer(refused: RefusedCall) -> Iterator[Chain]:
    """Copy a parameter buffer to an intermediate buffer first."""
    ctx, block = refused.ctx, refused.block
    if not block:
        return
    for position, write in enumerate(ctx.block(block).writes):
        if ctx.index.is_param(write.buffer):
            yield lambda t, position=position, scope=write.buffer.scope: t.call(
                "cache_write", block=block, write_buffer_index=position, storage_scope=scope
            )
    for position, read in enumerate(ctx.block(block).reads):
        if ctx.index.is_param(read.buffer):
            yield lambda t, position=position, scope=read.buffer.scope: t.call(
                "cache_read", block=block, read_buffer_index=position, storage_scope=scope
            )


def _merged(refused: RefusedCall) -> Iterator[Chain]:
    """Of a block that is to move to a loop of another nest: merge the loops of both nests, down to this loop."""
    index = refused.ctx.index
    if not refused.block or refused.call.method not in MOVES:
        return
    for loop in refused.loops[:1]:
        own, other = index.loops_above(refused.ctx.realize(refused.block)), (*index.loops_above(loop), loop)
        if len(own) < len(other) or own[len(other) - 1] is loop:
            continue
        inside = index.child_blocks(loop)[0].block.name
        pair = [own[len(other) - 1].loop_var, loop.loop_var]
        if index.position(inside) < index.position(refused.block):
            pair.reverse()
        yield lambda t, pair=tuple(pair): t.call("merge", loops=pair)


def _under_a_loop(refused: RefusedCall) -> Iterator[Chain]:
    """Move the block under the innermost loop of its consumer that accepts it."""
    for consumer in refused.ctx.index.consumers(refused.block)[:1] if refused.block else ():
        for loop in reversed(refused.ctx.index.loops_of(consumer)):
            yield lambda t, loop=loop: t.call("compute_at", block=refused.block, loop=loop.loop_var)


CHAINS: Mapping[str, Callable[[RefusedCall], Iterable[Chain]]] = {
    "annotation-exists": _without_this_mark,
    "loop-annotated": _without_marks,
    "no-loop-to-overlap": _under_a_loop,
    "not-all-consumers": _without_the_others,
    "not-all-producers": _without_the_others,
    "not-nested": _in_one_chain,
    "not-one-chain": _in_one_chain,
    "not-one-input": _one_input_left,
    "output-block": _through_a_cache,
    "parameter-buffer": _copied_buffer,
    "partial-sum": _with_reduction_inside,
    "reduction-in-parallel": _with_partial_sums,
    "reduction-outside": _with_reduction_inside,
    "reduction-partitioned": _with_init_apart,
    "stale-pipeline": _without_pipelines,
}
"""The candidate chains for each refusal code."""

INSTEAD: Mapping[str, Callable[[RefusedCall], Iterable[Chain]]] = {
    "not-complete": _merged,
    "output-block": _merged,
}
"""The candidate chains that take the place of a refused call."""
