"""Rule: tiles of the last block of a group."""

from __future__ import annotations

from ...hwsim import VectorEngine
from ...ir import For, Var, build
from ...ir import dtype as dt
from ..space.tiling_target import Dim
from .draft import ScheduleDraft


def tile_last(draft: ScheduleDraft) -> None:
    """Requires loops of the last block that drive one iterator each. Lines: a `split` of each tiled loop, its size a hole, up to the whole
    loop, which leaves it untiled, and a `reorder` that moves the loops over tiles outside, reductions innermost among them."""
    builder, group = draft.builder, draft.group
    loops = draft.loops_of(group.last)
    values = draft.index.realize(group.last).iter_values
    iterators = dict(zip(values, draft.block(group.last).iter_vars, strict=True))
    builder.call("get_block", group.last, into=[group.last])
    builder.name_loops(group.last, anew=True)
    order = [*(f.loop_var.name for f in loops if _is_cut(draft, f)), *group.tiled]
    inner: list[Var] = []
    outer: dict[str, Var] = {}
    for loop in loops:
        iterator, name = iterators[loop.loop_var], draft.name(loop.loop_var)
        original = loop.loop_var.name
        extent = build.int_value(loop.extent) or 1
        is_summed, grain = iterator.iter_type == "reduce", _grain(draft, original, extent)
        period = draft.periods.get(original)
        sizes = Dim(original, iterator.var, period or extent, is_summed, grain, draft.fills.get(original, 1)).tiles
        sizes = [n for n in sizes if period is None or period % n == 0]
        if original not in order or not any(n < extent for n in sizes):
            inner.append(loop.loop_var)
            continue
        size = draft.choice(f"tile_{name}", f"tile {original}", sizes)
        outer[original], tile = builder.split(loop.loop_var, (None, size), [f"{name}_o", f"{name}_i"])
        inner.append(tile)
    order = [name for name in dict.fromkeys(order) if name in outer]
    summed = {loop.loop_var.name for loop in loops if iterators[loop.loop_var].iter_type == "reduce"}
    order.sort(key=lambda name: name in summed)
    draft.loops = {name: outer[name] for name in order}
    draft.spatial = sum(name not in summed for name in order)
    if [*draft.loops.values(), *inner] != [loop.loop_var for loop in draft.loops_of(group.last)]:
        builder.accepts("reorder", *draft.loops.values(), *inner)
    draft.decide(f"tiles of {group.last}: loops {', '.join(order)}")


def _is_cut(draft: ScheduleDraft, loop: For) -> bool:
    """Whether a loop that is not to be tiled crosses periods, so that it is tiled outside of all others."""
    name = loop.loop_var.name
    return name not in draft.group.tiled and draft.periods.get(name, build.int_value(loop.extent)) != build.int_value(
        loop.extent
    )


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
