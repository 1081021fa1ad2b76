"""Overlap of loads and computation: slots of a buffer (double_buffer), and parts of a loop on different iterations (pipeline)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace as replace_fields

from ....ir import Block, Buffer, For, Node, TilewrightError, build, walk_stmts
from ....lower import (
    BANKS_KEY,
    DOUBLE_BUFFER_KEY,
    DOUBLE_BUFFER_KEYS,
    MAX_SLOTS,
    PIPELINE_KEYS,
    SLOTS_KEY,
    LowerError,
    slot_loops,
)
from ...context import BlockRV, Context, LoopRV, Result, with_block
from ...errors import ScheduleError, refuse
from .kinds import annotation_value, require_no_annotation

BankLike = int | str
"""A physical block of a memory: its number, or its name on the timeline ("local.vtcm[0]")."""

_BANK = re.compile(r"(?P<scope>.+)\[(?P<number>\d+)\]$")


def double_buffer(
    ctx: Context, block: BlockRV, *, banks: Sequence[BankLike] | None = None, slots: int = 2
) -> Result[None]:
    """Double-buffer the output of a block: one slot is filled with the next tile while the other one is in use.

    Rewrite:    T.block("A_vtcm")   =>   T.block("A_vtcm"), T.block_attr({"double_buffer_scope": 0})
    Lowering adds an axis of two slots to the buffer: `[2][4096]` if its layout has axis separators.
    With banks=("local.vtcm[0]", "local.vtcm[1]"), slot i is in the i-th of these physical blocks of the buffer's memory
    (`"double_buffer_banks": [0, 1]`), and the slots are `[2][4096]` in every layout.
    With slots=3 the slots are `[3][4096]` (`"double_buffer_slots": 3`): two tiles load while the third one is in use, which hides the
    latency of a copy that is longer than the computation. Each slot needs the memory of a tile.
    With slots=1 nothing changes, for schedules whose number of slots is a search parameter.
    Requires: the block writes one intermediate buffer and is below a loop, whose iterations use the slots in turn. A buffer that the block
    updates, or that other blocks write too (an accumulator with its init block), is filled anew in each iteration of that loop. One of its
    writers has the annotation. Banks belong to the memory of the buffer.
    Returns: nothing.
    Errors: not-an-intermediate, not-filled-anew, no-loop-to-overlap, annotation-exists, bad-bank, bad-slots.
    Source: TVM's `double_buffer_scope` annotation; TVM's pass supports 1-D buffers only, `lower` supports all. Banks are
    Tilewright's.
    """
    realize = ctx.realize(block)
    body = realize.block
    buffer = require_intermediate(ctx, block)
    slots = require_slots(slots, body)
    if slots == 1:
        return Result(ctx.func, None)
    require_loop_to_overlap(ctx, block, buffer)
    require_filled_anew(ctx, block, buffer)
    for writer in ctx.index.writers(buffer):
        require_no_annotation(ctx.block(writer), DOUBLE_BUFFER_KEY)
    notes = [(DOUBLE_BUFFER_KEY, annotation_value(0))]
    if slots != 2:
        notes.append((SLOTS_KEY, annotation_value(slots)))
    if banks is not None:
        notes.append((BANKS_KEY, annotation_value(tuple(bank_number(bank, buffer, body) for bank in banks))))
        require_bank_for_each(banks, slots, body)
    others = (note for note in body.annotations if note[0] not in DOUBLE_BUFFER_KEYS)  # of a double buffer before
    return Result(ctx.replaced({realize: with_block(realize, annotations=(*others, *notes))}), None)


def pipeline(
    ctx: Context,
    loop: LoopRV,
    stages: Sequence[int],
    order: Sequence[int] | None = None,
    async_stages: Sequence[int] = (),
) -> Result[None]:
    """Pipeline a loop: an earlier stage of its body loads the next tile while a later stage uses the current one.

    Rewrite:
        for i in range(n):          B[0] = load(0)                      # prologue
            B = load(i)      =>     for i in range(n - 1):
            C[i] = use(B)               B[(i + 1) % 2] = load(i + 1)    # stage 0
                                        C[i] = use(B[i % 2])            # stage 1
                                    C[n - 1] = use(B[(n - 1) % 2])      # epilogue
    The drawing shows the lowered loop. The call adds TVM's annotations `software_pipeline_stage`, `_order` and `_async_stages`.
    Requires: a serial loop with two or more statements; a stage for each statement (or for each part that TVM counts: the init and the
    update of a block; the prologue, body and epilogue of an inner pipeline), and positions 0, 1, … in `order`. No part may run before
    another one whose values or memory it uses, in the same iteration or in an earlier one.
    Returns: nothing; the loop stays valid.
    Errors: broken-dependence, pipeline-size, pipeline-order, pipeline-stage, pipeline-body, pipeline-loop, opaque-access,
    annotation-exists.
    Source: Tilewright's. The annotations are those of TVM's InjectSoftwarePipeline, which checks less: see
    `engine/lower/pipelining/hazards.py`.
    """
    old = ctx.loop(loop)
    for key in PIPELINE_KEYS:
        require_no_annotation(old, key)
    groups = _parts(ctx, old)
    values = [*_expanded(old, groups, stages, order), *([tuple(async_stages)] if async_stages else [])]
    notes = [(key, annotation_value(value)) for key, value in zip(PIPELINE_KEYS, values, strict=False)]
    func = ctx.replaced({old: replace_fields(old, annotations=(*old.annotations, *notes))})
    require_sound_pipeline(ctx, old, ctx.noted(func, old.loop_var), stages)
    return Result(func, None)


# Slots are for one buffer inside of the program.
def require_intermediate(ctx: Context, block: BlockRV) -> Buffer:
    body = ctx.block(block)
    if len(body.writes) != 1 or ctx.index.is_param(body.writes[0].buffer):
        raise refuse("not-an-intermediate", f"block {block!r} does not write one intermediate buffer", body,
                     fix=('sch.cache_read(consumer, 0, "local")',))  # fmt: skip
    return body.writes[0].buffer


# One slot, or several that iterations use in turn.
def require_slots(slots: int, block: Block) -> int:
    if slots not in range(1, MAX_SLOTS + 1):
        raise refuse("bad-slots", f"block {block.name!r} can have 1 to {MAX_SLOTS} slots", block, found=str(slots),
                     expected=f"1 to {MAX_SLOTS}")  # fmt: skip
    return int(slots)


# A common loop must surround all blocks that use the buffer.
def require_loop_to_overlap(ctx: Context, block: BlockRV, buffer: Buffer) -> None:
    loops = set(ctx.index.loops_of(block))
    for user in (*ctx.index.writers(buffer), *ctx.index.consumers(block)):
        loops &= set(ctx.index.loops_of(user))
    if all(build.is_const(f.extent, 1) for f in loops):
        raise refuse(
            "no-loop-to-overlap", f"block {block!r} fills {buffer.name!r} once, so no loop iterations could overlap",
            ctx.block(block), expected="the block under a loop of its consumer", fix=(f"sch.compute_at({block!r}, loop)",),
        )  # fmt: skip


# No iteration of the loop over which slots rotate uses values of an earlier one. A single writer that only stores fills its tile.
def require_filled_anew(ctx: Context, block: BlockRV, buffer: Buffer) -> None:
    body, writers = ctx.block(block), ctx.index.writers(buffer)
    if writers == (block,) and not ctx.index.updates_in_place(block) and body.init is None:
        return
    try:
        plan = ctx.plan
    except LowerError as error:
        raise _as_refusal(ctx, error, ctx.index.loops_of(block)[0], ()) from error
    if plan.buffers.get(buffer, buffer) not in slot_loops(plan.func):
        raise refuse("not-filled-anew", f"iterations of the loops around block {block!r} use values of {buffer.name!r} from earlier ones",
                     *map(ctx.block, writers), found=", ".join(writers),
                     expected=f"a loop of which each iteration fills {buffer.name!r} before it reads it")  # fmt: skip


# Slots are in the memory of their buffer.
def bank_number(bank: BankLike, buffer: Buffer, block: Block) -> int:
    """The number of a bank, given by number or name."""
    named = _BANK.match(bank) if isinstance(bank, str) else None
    if isinstance(bank, int) and not isinstance(bank, bool) and bank >= 0:
        return bank
    if named is None or named["scope"] != buffer.scope:
        raise refuse("bad-bank", f"{bank!r} is not a bank of the memory of {buffer.name!r}", block, found=repr(bank),
                     expected=f'"{buffer.scope}[0]", "{buffer.scope}[1]", …, or their numbers',
                     fix=(f'sch.set_scope("{block.name}", 0, "{named["scope"]}")',) if named else ())  # fmt: skip
    return int(named["number"])


def require_bank_for_each(banks: Sequence[BankLike], slots: int, block: Block) -> None:
    if len(banks) < slots:
        raise refuse("bad-bank", f"block {block.name!r} has {slots} slots", block, found=f"{len(banks)} banks",
                     expected="a bank for each slot")  # fmt: skip


# The stages must break no dependence, in this pipeline and in the surrounding ones.
def require_sound_pipeline(ctx: Context, loop: For, noted: Context, stages: Sequence[int]) -> None:
    try:
        _ = noted.plan.piped
    except LowerError as error:
        raise _as_refusal(ctx, error, loop, _advice(ctx, loop, stages, error)) from error


def _parts(ctx: Context, loop: For) -> tuple[tuple[str, ...], ...]:
    """For each statement of the body, the names of the parts that it has when lowered."""
    try:
        return ctx.plan.parts(loop.loop_var)
    except LowerError as error:
        raise _as_refusal(ctx, error, loop, ()) from error


def _expanded(
    loop: For, groups: Sequence[Sequence[str]], stages: Sequence[int], order: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Stages and positions for each part, also if they are given for each statement only."""
    count = sum(map(len, groups))
    places = list(range(len(stages))) if order is None else list(order)
    if len(stages) == count == len(places):
        return tuple(stages), tuple(places)
    if len(stages) != len(groups) or sorted(places) != list(range(len(groups))):
        statements = ", ".join(group[0] for group in groups)
        raise refuse("pipeline-size" if len(stages) != len(groups) else "pipeline-order",
                     f"the pipeline over {loop.loop_var.name!r} needs a stage and a position for each statement", loop,
                     found=f"stages {list(stages)}, order {places}", expected=f"{len(groups)} of each, for {statements}")  # fmt: skip
    whole = tuple(stage for stage, group in zip(stages, groups, strict=True) for _ in group)
    starts: dict[int, int] = {}
    for number in sorted(range(len(groups)), key=lambda n: places[n]):
        starts[number] = sum(len(groups[done]) for done in starts)
    return whole, tuple(starts[n] + k for n, group in enumerate(groups) for k in range(len(group)))


def _advice(ctx: Context, loop: For, stages: Sequence[int], error: LowerError) -> tuple[str, ...]:
    """The call in program order with increasing stages, if it is legal."""
    if error.code != "broken-dependence":
        return ()
    rising = [max(stages[: n + 1]) for n in range(len(stages))]
    if rising == list(stages) or len(set(rising)) == 1:
        return ()
    try:
        pipeline(ctx, loop.loop_var, rising)
    except ScheduleError:
        return ()
    return (f"sch.pipeline({loop.loop_var.name}, stages={rising})",)


def _as_refusal(ctx: Context, error: LowerError, loop: For, fix: tuple[str, ...]) -> TilewrightError:
    """The refusal of lowering, with the schedule's blocks as its nodes."""
    refusal = error.refusal
    nodes = [_original(ctx, node) for node in refusal.nodes]
    return refuse(refusal.code, refusal.message, *(n for n in nodes if n is not None), found=refusal.found,
                  expected=refusal.expected, fix=fix) if nodes else refuse(refusal.code, refusal.message, loop)  # fmt: skip


def _original(ctx: Context, node: Node) -> Node | None:
    """The block or loop of the program from which a lowered node derives."""
    if isinstance(node, For):
        return ctx.index.loop(node.loop_var) if ctx.index.has_loop(node.loop_var) else None
    names = [s.name for s in walk_stmts(node) if isinstance(s, Block)]
    return next((ctx.block(name) for name in names if ctx.index.has_block(name)), None)
