"""The lowering passes in order, and their results: the plan, the flat program, the allocations."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from propcache.api import cached_property

from ..analysis import opaque_refusal
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
    """A lowering step with TVM's name."""

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
"""The order is TVM's (tvm s_tir/pipeline.py), except that double buffering runs earlier, while blocks still declare which buffers they
write."""


class Allocation(msgspec.Struct, frozen=True, eq=False):
    """An intermediate buffer of a program and the memory that lowering assigns to it.

    `buffer` is the buffer in the program, `lowered` its lowered form (flat within axis separators, slots included). `tile` is the shape of
    the live part, axis by axis of `buffer`, in elements; ints if static. `loop` is the innermost loop around the allocation: each of its
    iterations has a separate tile; None if one tile serves the whole run. With several `slots`, iterations use the slots in turn, and all
    slots live outside of that loop.
    """

    buffer: Buffer
    lowered: Buffer
    tile: tuple[int | Expr, ...]
    loop: Var | None
    slots: int = 1


class Plan(RewriteResult, frozen=True, eq=False, dict=True):
    """A program with each buffer placed and cut to its live part, and the map from original to cut buffers."""

    @cached_property
    def piped(self) -> RewriteResult:
        """The plan without views and with its software pipelines injected. Raises the refusals of both passes."""
        return pipelined(lower_match_buffer(self.func))


@refusing_depth(LowerError)
def plan(func: PrimFunc) -> PrimFunc:
    """`func` with each buffer allocated at its innermost possible place and cut to its live part; blocks and iterators are kept.

    An opaque block around a loop's body owns the buffers allocated under that loop.
    """
    return planned(func).func


@refusing_depth(LowerError)
def planned(func: PrimFunc) -> Plan:
    """`plan` with its derived results, for sharing between a schedule's calls, `allocations` and hwsim's `simulate`."""
    require_known(func)
    found = compacted(plan_buffer_allocation(func))
    return Plan(found.func, found.buffers)


@refusing_depth(LowerError)
def lower(func: PrimFunc, until: str | None = None) -> PrimFunc:
    """`func` as loops, branches, stores and Allocate, without blocks; parameters keep their shapes.

    `until` names the last pass to run. Refuses "unknown-pass", and raises the refusals of each pass.
    """
    require_known(func)
    for step in _passes(until):
        func = step.apply(func)
    return func


def require_known(func: PrimFunc) -> None:
    """Refuse "opaque-part"."""
    refusal = opaque_refusal(func)
    if refusal is not None:
        raise LowerError(refusal)


@refusing_depth(LowerError)
def allocations(func: PrimFunc, known_plan: RewriteResult | None = None) -> tuple[Allocation, ...]:
    """The intermediate buffers of a block program and the memory that `lower` assigns to them, in the order of the program's allocations.

    `known_plan`: `planned(func)`, if it exists already. Code that lowering removes as dead counts here too.
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
    """The slotted buffer for each buffer of a planned program that gets slots, by a pipeline or by double buffering."""
    piped = pipelined(func)
    return {**doubled_buffers(piped.func), **piped.buffers}


def _passes(until: str | None) -> tuple[Pass, ...]:
    if until is None:
        return PASSES
    names = [p.name for p in PASSES]
    if until not in names:
        raise refuse("unknown-pass", f"there is no pass {until!r}", expected=", ".join(names))
    return PASSES[: names.index(until) + 1]
