"""The lowering passes in order, and their results: the plan, the flat program, the allocations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace as replace_fields
from propcache.api import cached_property

from ..analysis import lowering_refusal
from ..ir import (
    Annotation,
    Annotations,
    Block,
    Buffer,
    Expr,
    FloatImm,
    For,
    IntImm,
    PrimFunc,
    Stmt,
    StringImm,
    Var,
    allocated_buffers,
    build,
    loops_around_allocations,
    refusing_depth,
    replace_buffers,
    replace_nodes,
    walk_stmts,
)
from .errors import LowerError, refuse
from .flatten import flat_buffer, flatten_buffer
from .init_block import lower_init_block
from .match_buffer import lower_match_buffer
from .no_op import remove_no_op
from .opaque import convert_blocks_to_opaque
from .opaque_block import lower_opaque_block
from .pipelining.double_buffer import doubled_buffers, inject_double_buffer
from .pipelining.software_pipeline import Injected, inject_software_pipeline, pipeline_fault, pipeline_groups, pipelined
from .pipelining.stages import part_name, part_names
from .rewrite_result import RewriteResult
from .simplify import simplify_stmts
from .storage.allocation import plan_buffer_allocation
from .storage.compact import compact_buffer_allocation, compacted
from .storage.same_threads import same_threads


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
    """A program with each buffer placed and cut to its live part, and the map from original to cut buffers.

    `source` is the plan of a program from which this one differs in the scopes of buffers: the map has those of this plan for those of the
    source. Results that scopes do not change are shared with it. Plans that differ in annotations of loops share the `injected` pipelines
    of loops that both contain.
    """

    source: tuple[Plan, Mapping[Buffer, Buffer]] | None = None
    injected: Injected = msgspec.field(default_factory=dict[For, tuple[Stmt, Mapping[Buffer, Buffer]]])

    @cached_property
    def piped(self) -> RewriteResult:
        """The plan without views and with its software pipelines injected. Raises the refusals of both passes."""
        if self.source is not None and _have_names(self.source[0]):
            return _rescoped(self, *self.source)
        return pipelined(lower_match_buffer(self.func), self.injected)

    def parts(self, loop: Var) -> tuple[tuple[str, ...], ...]:
        """The parts of a pipeline that each statement of a loop forms, by name. Inner pipelines count as their prologue, body and epilogue.
        Raises LowerError "pipeline-body" for a single statement."""
        return tuple(tuple(map(part_name, group)) for group in self._groups(loop))

    def names_of_parts(self, loop: Var) -> tuple[frozenset[str], ...]:
        """The blocks in each part of a loop, statement by statement. Raises LowerError "pipeline-body"."""
        return tuple(part_names(part) for group in self._groups(loop) for part in group)

    def fault(self, loop: Var) -> LowerError | None:
        """The lowering error of the pipeline over a loop, or of the pipelines inside; None if there is none."""
        if self.source is not None:
            return self.source[0].fault(loop)
        return pipeline_fault(self.func, loop, self.injected)

    def with_notes(self, loop: Var, annotations: Annotations) -> Plan:
        """The plan with other annotations of a loop, which planning ignores."""
        key = loop, tuple((name, _plain(value)) for name, value in annotations)
        if key not in self._noted:
            if self.source is None:
                old = next(s for s in walk_stmts(self.func.body) if isinstance(s, For) and s.loop_var is loop)
                noted = replace_fields(old, annotations=annotations)
                self._noted[key] = Plan(replace_nodes(self.func, {old: noted}), self.buffers, None, self.injected)
            else:
                base, new = self.source
                self._noted[key] = base.with_notes(loop, annotations).with_buffers(new)
        return self._noted[key]

    def with_buffers(self, new: Mapping[Buffer, Buffer]) -> Plan:
        """The plan of the program with other buffers, which differ from the keys in their scopes, of one kind each."""
        cut = {
            small: replace_fields(small, scope=new[old].scope)
            for old, small in self.buffers.items()
            if old in new and small is not old
        }
        every = {**new, **cut}
        buffers = {every.get(old, old): every.get(small, small) for old, small in self.buffers.items()}
        return Plan(replace_buffers(self.func, every), buffers, (self, every))

    def _groups(self, loop: Var) -> tuple[tuple[Block, ...], ...]:
        if self.source is not None:
            return self.source[0]._groups(loop)
        if loop not in self._known_groups:
            self._known_groups[loop] = pipeline_groups(self.func, loop, self.injected)
        return self._known_groups[loop]

    @cached_property
    def _known_groups(self) -> dict[Var, tuple[tuple[Block, ...], ...]]:
        return {}

    @cached_property
    def _noted(self) -> dict[object, Plan]:
        return {}


def _plain(value: Annotation) -> object:
    """An annotation's value for comparisons."""
    match value:
        case IntImm() | FloatImm() | StringImm():
            return value.value
        case tuple():
            return tuple(map(_plain, value))
        case _:
            return value


def _have_names(plan: Plan) -> bool:
    """Whether the names of the buffers of a plan are distinct."""
    names = [b.name for b in (*plan.func.buffers, *allocated_buffers(plan.func.body))]
    return len({*names}) == len(names)


def _rescoped(plan: Plan, source: Plan, new: Mapping[Buffer, Buffer]) -> RewriteResult:
    """The pipelines of a plan, from those of its source. Each section of a pipeline has copies, of the same names, of the buffers that it
    allocates."""
    piped = source.piped
    if piped.func is source.func:
        return RewriteResult(plan.func, {})
    scopes = {b.name: new[b].scope for b in allocated_buffers(source.func.body) if b in new}
    found = {b: replace_fields(b, scope=scopes[b.name]) for b in allocated_buffers(piped.func.body) if b.name in scopes}
    found |= {small: other for small, other in new.items() if small in found}
    buffers = {new.get(small, small): found.get(large, large) for small, large in piped.buffers.items()}
    return RewriteResult(replace_buffers(piped.func, found), buffers)


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
    found = compacted(same_threads(plan_buffer_allocation(func)))
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
    """Refuse "opaque-part" and "while-loop"."""
    refusal = lowering_refusal(func)
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
