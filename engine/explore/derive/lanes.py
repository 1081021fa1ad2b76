"""Rules: vectors of machines whose lanes are those of the program's vectorized loops, as of a CPU."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as replace_fields

from ...hwsim import VectorEngine
from ...ir import BlockRealize, Buffer, Expr, For, build, free_vars
from ...ir import dtype as dt
from ..space.schedule_builder import listed
from .draft import ScheduleDraft, word
from .product import product_of


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
        loops = [draft.builder.fresh(word(f.loop_var.name)) for f in draft.loops_of(name)]
        along = loops[draft.loops_of(name).index(loop)]
        o, i, partial = (
            draft.builder.fresh(f"{stem}") for stem in (f"{along}_o", f"{along}_lanes", f"{word(name)}_rf")
        )
        if draft.write(
            f'{_unpacked(loops)} = $.get_loops("{name}")',
            f'{o}, {i} = $.split({along}, [None, {lanes}], names=["{o}", "{i}"])',
            f"{partial} = $.rfactor({i}, factor_axis=-1)",
        ):
            members = list(draft.group.members)
            members.insert(members.index(name), draft.builder.value(partial))
            draft.group = replace_fields(draft.group, members=tuple(members))
            draft.decide(f"{name} sums {lanes} lanes apart")
    draft.flow = draft.flow_of_group()


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
    realize, every = draft.index.realize(name), draft.loops_of(name)
    tiles = {draft.builder.value(o).name for o in draft.loops.values()}
    own = [loop for loop in every if loop.loop_var.name not in tiles]
    written = realize.block.writes[0].region
    along = [f for f in own if written and _drives(realize, f, written[-1].min)]
    if not along or (build.int_value(along[-1].extent) or 1) < 2:
        return False
    loops = [draft.builder.fresh(word(f.loop_var.name)) for f in every]
    named = dict(zip((f.loop_var for f in every), loops, strict=True))
    lines = [f'{_unpacked(loops)} = $.get_loops("{name}")']
    last = inner = named[along[-1].loop_var]
    if (build.int_value(along[-1].extent) or 1) > lanes:
        outer, inner = draft.builder.fresh(f"{last}_v"), draft.builder.fresh(f"{last}_lanes")
        lines.append(f'{outer}, {inner} = $.split({last}, [None, {lanes}], names=["{outer}", "{inner}"])')
        named[along[-1].loop_var] = outer
    else:
        del named[along[-1].loop_var]
    around = [f for f in own if f.loop_var in named]
    summed = [named[f.loop_var] for f in around if is_summed(realize, f)]
    spatial = [named[f.loop_var] for f in around if not is_summed(realize, f)]
    return _ordered(draft, name, lines, _orders(spatial, summed), inner)


def _ordered(
    draft: ScheduleDraft, name: str, lines: Sequence[str], orders: Sequence[Sequence[str]], inner: str
) -> bool:
    """Writes the lines, the order of the loops as a hole where there are several, and the vectors."""
    builder = draft.builder
    if not draft.write(*lines):
        return False
    legal = [o for o in orders if builder.would(f"{draft.sch}.reorder({', '.join([*o, inner])})")]
    if len(legal) > 1:
        variable = builder.fresh(f"{word(name)}_order")
        builder.hole(variable, draft.hole(f"order of {name}"), [listed(_names(draft, o)) for o in legal])
        if draft.write(f"$.reorder(*{variable}, {inner})", f"$.vectorize({inner})"):
            return True
        builder.drop()  # two loops have one name
    chosen = [f"$.reorder({', '.join([*legal[0], inner])})"] if legal and legal[0] else []
    return draft.write(*chosen, f"$.vectorize({inner})")


def _names(draft: ScheduleDraft, variables: Sequence[str]) -> list[str]:
    return [draft.builder.value(v).name for v in variables]


def _orders(spatial: Sequence[str], summed: Sequence[str]) -> list[tuple[str, ...]]:
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


def _unpacked(names: Sequence[str]) -> str:
    """The names as targets of an assignment."""
    return f"{', '.join(names)}{',' if len(names) == 1 else ''}"


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
    matrices, whose columns are lanes that reuse its rows."""
    product = product_of(draft.index, realize.block.name)
    if product is not None and product.rows and product.columns:
        return None
    loops = draft.loops_of(realize.block.name)
    written = realize.block.writes[0].buffer
    reads = [r for r in realize.block.reads if r.buffer is not written and r.region]
    along = [f for f in loops if reads and all(_drives(realize, f, r.region[-1].min) for r in reads)]
    return next((f for f in reversed(along) if is_summed(realize, f)), None) if len(along) == 1 else None


__all__ = ["along_rows", "is_summed", "sum_in_lanes", "vectorize_blocks"]
