"""The passes in order, and what comes of them: the plan, the flat program, the allocations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import msgspec

from ..ir import Buffer, Expr, For, PrimFunc, Var, allocated_buffers, build, loops_around_allocations, refusing_depth
from .errors import LowerError, refuse
from .flatten import flat_buffer, flatten_buffer
from .init_block import lower_init_block
from .match_buffer import lower_match_buffer
from .no_op import remove_no_op
from .opaque import convert_blocks_to_opaque
from .opaque_block import lower_opaque_block
from .pipelining.double_buffer import doubled_buffers, inject_double_buffer
from .pipelining.software_pipeline import inject_software_pipeline, pipelined
from .rewrite_result import RewriteResult
from .simplify import simplify_stmts
from .storage.allocation import plan_buffer_allocation
from .storage.compact import compact_buffer_allocation, compacted


class Pass(msgspec.Struct, frozen=True, eq=False):
    """A step of lowering, by TVM's name."""

    name: str
    apply: Callable[[PrimFunc], PrimFunc]


PASSES: tuple[Pass, ...] = (
    Pass("LowerInitBlock", lower_init_block),
    Pass("PlanAndUpdateBufferAllocationLocation", plan_buffer_allocation),
    Pass("ConvertBlocksToOpaque", convert_blocks_to_opaque),
    Pass("CompactBufferAllocation", compact_buffer_allocation),
    Pass("LowerMatchBuffer", lower_match_buffer),
    Pass("InjectSoftwarePipeline", inject_software_pipeline),
    Pass("InjectDoubleBuffer", inject_double_buffer),
    Pass("LowerOpaqueBlock", lower_opaque_block),
    Pass("FlattenBuffer", flatten_buffer),
    Pass("StmtSimplify", simplify_stmts),
    Pass("RemoveNoOp", remove_no_op),
)
"""In TVM's order (tvm s_tir/pipeline.py); only double buffering comes earlier, while blocks still say who fills which buffer."""


class Allocation(msgspec.Struct, frozen=True, eq=False):
    """An intermediate buffer of a program and the memory that lowering gives it.

    `buffer` stands in the program, `lowered` in its lowered form (flat within axis separators, slots included). `tile` is the shape of
    what is live at a time, axis by axis of `buffer`, in elements; ints where it is static. `loop` is the innermost loop around the
    allocation: each of its iterations has a tile of its own; None when there is one tile for the whole run. With several `slots`,
    iterations use the slots in turns, and both live outside of the loop that takes turns.
    """

    buffer: Buffer
    lowered: Buffer
    tile: tuple[int | Expr, ...]
    loop: Var | None
    slots: int = 1


class Plan(RewriteResult, frozen=True, eq=False, dict=True):
    """A program with each buffer where it is needed and as large as what is live there, and the smaller buffer for each that was cut."""

    @cached_property
    def piped(self) -> RewriteResult:
        """The plan without views of buffers, its software pipelines injected. Refuses what they refuse."""
        return pipelined(lower_match_buffer(self.func))


@refusing_depth(LowerError)
def plan(func: PrimFunc) -> PrimFunc:
    """`func` with each buffer allocated where it is needed and as large as what is live there; blocks and iterators are kept.

    A buffer that belongs under a loop is owned by an opaque block around the loop's body.
    """
    return planned(func).func


@refusing_depth(LowerError)
def planned(func: PrimFunc) -> Plan:
    """`plan` with all that is made of it: what a schedule's calls, `allocations` and hwsim's `simulate` can share."""
    found = compacted(plan_buffer_allocation(func))
    return Plan(found.func, found.buffers)


@refusing_depth(LowerError)
def lower(func: PrimFunc, until: str | None = None) -> PrimFunc:
    """`func` as loops, branches, stores and Allocate, without blocks; parameters keep their shapes.

    `until` names the last pass to run. Refuses "unknown-pass", and what single passes refuse.
    """
    for step in _passes(until):
        func = step.apply(func)
    return func


@refusing_depth(LowerError)
def allocations(func: PrimFunc, known_plan: RewriteResult | None = None) -> tuple[Allocation, ...]:
    """The intermediate buffers of a block program and the memory that `lower` gives them, in the order of the program's allocations.

    `known_plan` is `planned(func)` where somebody made it already. Code that lowering finds dead counts here too.
    """
    placed = known_plan or planned(func)
    around, slotted = loops_around_allocations(placed.func.body), slotted_buffers(placed.func)
    found: list[Allocation] = []
    for buffer in allocated_buffers(func.body):
        small = placed.buffers.get(buffer, buffer)
        if small not in around:
            continue
        tile = tuple(e if (v := build.int_value(e)) is None else v for e in small.shape)
        large = slotted.get(small)
        slots = 1 if large is None else build.int_value(large.shape[0]) or 1
        found.append(Allocation(buffer, flat_buffer(large or small), tile, _innermost(around[small]), slots))
    return tuple(found)


def _innermost(loops: tuple[For, ...]) -> Var | None:
    return loops[-1].loop_var if loops else None


def slotted_buffers(func: PrimFunc) -> dict[Buffer, Buffer]:
    """For each buffer of a planned program that gets slots, by a pipeline or by double buffering, the one that has them."""
    piped = pipelined(func)
    return {**doubled_buffers(piped.func), **piped.buffers}


def _passes(until: str | None) -> tuple[Pass, ...]:
    if until is None:
        return PASSES
    names = [p.name for p in PASSES]
    if until not in names:
        raise refuse("unknown-pass", f"there is no pass {until!r}", expected=", ".join(names))
    return PASSES[: names.index(until) + 1]
