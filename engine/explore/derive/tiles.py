"""Rule: tiles of the last block of a group."""

from __future__ import annotations

from ...hwsim import VectorEngine
from ...ir import For, build
from ...ir import dtype as dt
from ..space.tiling_target import Dim
from .draft import ScheduleDraft, word


def tile_last(draft: ScheduleDraft) -> None:
    """Requires loops of the last block that drive one iterator each. Lines: a `split` of each tiled loop, its size a hole, up to the whole
    loop, which leaves it untiled, and a `reorder` that moves the loops over tiles outside, reductions innermost among them."""
    builder, group = draft.builder, draft.group
    loops = draft.loops_of(group.last)
    names = [builder.fresh(word(loop.loop_var.name)) for loop in loops]
    values = draft.index.realize(group.last).iter_values
    iterators = dict(zip(values, draft.block(group.last).iter_vars, strict=True))
    block = builder.fresh(word(group.last))
    draft.write(
        f'{block} = $.get_block("{group.last}")',
        f"{', '.join(names)}{',' if len(names) == 1 else ''} = $.get_loops({block})",
    )
    order = [*(f.loop_var.name for f in loops if _is_cut(draft, f)), *group.tiled]
    inner: list[str] = []
    outer: dict[str, str] = {}
    for loop, name in zip(loops, names, strict=True):
        iterator = iterators[loop.loop_var]
        original = loop.loop_var.name
        extent = build.int_value(loop.extent) or 1
        is_summed, grain = iterator.iter_type == "reduce", _grain(draft, original, extent)
        period = draft.periods.get(original)
        sizes = Dim(original, iterator.var, period or extent, is_summed, grain, draft.fills.get(original, 1)).tiles
        sizes = [n for n in sizes if period is None or period % n == 0]
        if original not in order or not any(n < extent for n in sizes):
            inner.append(name)
            continue
        size, o, i = builder.fresh(f"tile_{name}"), builder.fresh(f"{name}_o"), builder.fresh(f"{name}_i")
        builder.hole(size, draft.hole(f"tile {original}"), [str(n) for n in sizes])
        draft.write(f'{o}, {i} = $.split({name}, [None, {size}], names=["{o}", "{i}"])')
        outer[original] = o
        inner.append(i)
    order = [name for name in dict.fromkeys(order) if name in outer]
    summed = {loop.loop_var.name for loop in loops if iterators[loop.loop_var].iter_type == "reduce"}
    order.sort(key=lambda name: name in summed)
    draft.loops = {name: outer[name] for name in order}
    draft.spatial = sum(name not in summed for name in order)
    if [*draft.loops.values(), *inner] != _present(draft):
        draft.write(f"$.reorder({', '.join([*draft.loops.values(), *inner])})")
    draft.decide(f"tiles of {group.last}: loops {', '.join(order)}")


def _is_cut(draft: ScheduleDraft, loop: For) -> bool:
    """Whether a loop that is not to be tiled crosses periods, so that it is tiled outside of all others."""
    name = loop.loop_var.name
    return name not in draft.group.tiled and draft.periods.get(name, build.int_value(loop.extent)) != build.int_value(
        loop.extent
    )


def _present(draft: ScheduleDraft) -> list[str]:
    """The variables of the loops around the last block in their present order, where their names are those."""
    return [loop.loop_var.name for loop in draft.loops_of(draft.group.last)]


def _grain(draft: ScheduleDraft, loop: str, extent: int) -> int:
    """The iterations that engines process at once: those of a matrix unit, or the lanes of a vector along the last axis."""
    if loop in draft.grains:
        return min(draft.grains[loop], extent)
    engine = draft.engines[draft.group.last]
    written = draft.block(draft.group.last).writes[0]
    if isinstance(engine, VectorEngine) and written.region:
        lanes = max(1, engine.vector_bytes // dt.size_bytes(written.buffer.dtype))
        values = draft.index.realize(draft.group.last).iter_values
        by_iterator = dict(zip((iv.var for iv in draft.block(draft.group.last).iter_vars), values, strict=True))
        axis = written.region[-1].min
        if getattr(by_iterator.get(axis), "name", None) == loop:  # pyright: ignore[reportArgumentType, reportCallIssue]
            return min(lanes, extent)
    return 1


__all__ = ["tile_last"]
