"""Rules: vectors of machines whose lanes are those of the program's vectorized loops, as of a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace as replace_fields

from ...hwsim import VectorEngine
from ...ir import BlockRealize, Buffer, Expr, For, ParameterItem, Var, build, free_vars
from ...ir import dtype as dt
from ..bounds.product import product_of
from .draft import ScheduleDraft


def sum_in_lanes(draft: ScheduleDraft) -> None:
    """Requires a vector engine with the lanes of the program, and a reduction along the last axis of all that it reads, which no vector of
    results follows. Lines: a `split` of the reduced loop by the lanes, and `rfactor`: the sums of the lanes are a block of their own."""
    engine = _program_vectors(draft)
    if engine is None:
        return
    for name in draft.group.members:
        realize = draft.index.realize(name)
        loop = along_rows(draft, realize)
        lanes = _lanes(engine, realize.block.writes[0].buffer)
        if loop is None or (build.int_value(loop.extent) or 1) <= lanes:
            continue
        partial_sums = draft.builder.attempt(partial(_apart, draft, name, loop, lanes))
        if partial_sums is not None:
            members = list(draft.group.members)
            members.insert(members.index(name), partial_sums)
            draft.group = replace_fields(draft.group, members=tuple(members))
            draft.decide(f"{name} sums {lanes} lanes apart")
    draft.flow = draft.flow_of_group()


def _apart(draft: ScheduleDraft, name: str, loop: For, lanes: int) -> str:
    """Sums the lanes of a reduced loop apart; returns the block of their sums."""
    builder = draft.builder
    builder.name_loops(name, anew=True)
    along = draft.name(loop.loop_var)
    _, inner = builder.split(loop.loop_var, (None, lanes), [f"{along}_o", f"{along}_lanes"])
    return builder.call("rfactor", inner, -1, into=[f"{name}_rf"])[0]


def vectorize_blocks(draft: ScheduleDraft) -> None:
    """Requires a vector engine with the lanes of the program, and a block with a loop along the last axis of its result. Lines: a `split`
    of that loop by the lanes, a `reorder` that puts them innermost, the order of the loops around them a hole, and `vectorize`."""
    engine = _program_vectors(draft)
    if engine is None:
        return
    for name in draft.group.every:
        if _in_lanes(draft, name, _lanes(engine, draft.block(name).writes[0].buffer)):
            draft.decide(f"{name} in vectors")
        else:
            draft.leave_out(f"{name} in vectors", "no loop along the last axis of its result can be vectorized")


def _in_lanes(draft: ScheduleDraft, name: str, lanes: int) -> bool:
    realize, tiles = draft.index.realize(name), set(draft.loops.values())
    own = [loop for loop in draft.loops_of(name) if loop.loop_var not in tiles]
    written = realize.block.writes[0].region
    along = [f for f in own if written and _drives(realize, f, written[-1].min)]
    if not along or (build.int_value(along[-1].extent) or 1) < 2:
        return False
    summed = [f.loop_var for f in own if is_summed(realize, f)]
    return draft.builder.attempt(partial(_vectorized, draft, name, own, summed, along[-1], lanes)) is not None


def _vectorized(
    draft: ScheduleDraft, name: str, own: Sequence[For], summed: Sequence[Var], along: For, lanes: int
) -> bool:
    """Divides the loop `along` the last axis by the lanes, orders the loops around them, and makes vectors of them."""
    builder, inner = draft.builder, along.loop_var
    builder.name_loops(name, anew=True)
    around = [f.loop_var for f in own if f is not along]
    if (build.int_value(along.extent) or 1) > lanes:
        variable = draft.name(inner)
        outer, inner = builder.split(inner, (None, lanes), [f"{variable}_v", f"{variable}_lanes"])
        around.insert(own.index(along), outer)
        summed = [outer if v is along.loop_var else v for v in summed]
    orders = _orders([v for v in around if v not in summed], [v for v in summed if v in around])
    legal = [o for o in orders if builder.would("reorder", *o, inner)]
    if len(legal) > 1:
        order = draft.choice(f"{name}_order", f"order of {name}", [tuple(v.name for v in o) for o in legal])
        if builder.accepts("reorder", ParameterItem(order), inner):  # else two loops have one name
            legal = []
    if legal and legal[0]:
        builder.call("reorder", *legal[0], inner)
    builder.call("vectorize", inner)
    return True


def _orders(spatial: Sequence[Var], summed: Sequence[Var]) -> list[tuple[Var, ...]]:
    """Orders of the loops around the lanes: reductions innermost, outermost, or around one of the other loops."""
    found = (
        [*spatial[:-1], *summed, *spatial[-1:]], [*spatial, *summed], [*summed, *spatial], [*spatial[-1:], *summed, *spatial[:-1]],
    )  # fmt: skip
    return list(dict.fromkeys(tuple(order) for order in found))


def _program_vectors(draft: ScheduleDraft) -> VectorEngine | None:
    found = (e for e in draft.machine.engines if isinstance(e, VectorEngine) and e.lanes == "program")
    return next(found, None)


def _lanes(engine: VectorEngine, buffer: Buffer) -> int:
    return max(1, engine.vector_bytes // dt.size_bytes(buffer.dtype))


def is_summed(realize: BlockRealize, loop: For) -> bool:
    """Whether a loop drives a reduction."""
    kinds = zip(realize.iter_values, realize.block.iter_vars, strict=True)
    return any(iv.iter_type == "reduce" and loop.loop_var in free_vars(value) for value, iv in kinds)


def _drives(realize: BlockRealize, loop: For, index: Expr) -> bool:
    """Whether an index of the block follows a loop."""
    used = free_vars(index)
    values = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return any(iv.var in used and loop.loop_var in free_vars(value) for iv, value in values)


def along_rows(draft: ScheduleDraft, realize: BlockRealize) -> For | None:
    """The reduced loop that the last axis of each operand follows; None if one follows another loop, or if the block is a product of
    matrices, whose columns are lanes that reuse its rows. Operands that do not depend on the reduction count for nothing."""
    product = product_of(draft.index, realize.block.name)
    if product is not None and product.rows and product.columns:
        return None
    loops = draft.loops_of(realize.block.name)
    written = realize.block.writes[0].buffer
    summed = {iv.var for iv in realize.block.iter_vars if iv.iter_type == "reduce"}
    reads = [
        r
        for r in realize.block.reads
        if r.buffer is not written and any(free_vars(axis.min) & summed for axis in r.region)
    ]
    along = [f for f in loops if reads and all(_drives(realize, f, r.region[-1].min) for r in reads)]
    return next((f for f in reversed(along) if is_summed(realize, f)), None) if len(along) == 1 else None


__all__ = ["along_rows", "is_summed", "sum_in_lanes", "vectorize_blocks"]
