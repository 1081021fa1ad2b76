"""Pipeline hazards: a part that runs before another part on which it depends.

Part X of iteration i runs at step i + stage(X), and within a step by order. X of iteration i precedes Y of iteration i + d in the program
if d > 0, or if d = 0 and X is first. The pipeline swaps the two if d < stage(X) - stage(Y), or if d equals that difference and the order
of X is larger. These are finitely many distances d. At each, the boxes that X and Y access must be disjoint, unless both only read. A
buffer allocated per iteration with V versions uses the same memory only every V iterations.

TVM (ValidatePipelineBody) checks only that a reader comes after the writer that precedes it in the text: it checks neither overwrites nor
dependences between iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ...arith import prove, simplify
from ...ir import Buffer, BufferRegion, Range, Var, build, substitute
from .slots import Slots
from .stages import Pipeline, PipelinePart

Ranges = Mapping[Var, Range]


class Hazard(msgspec.Struct, frozen=True, eq=False):
    """`second`, `distance` iterations later, would run before `first`, although it needs or destroys values or memory of `buffer`."""

    first: PipelinePart
    second: PipelinePart
    buffer: Buffer
    distance: int
    kind: str  # the access of `second`: "reads" data that `first` writes, or "overwrites" data that `first` reads or writes
    detail: str  # an element that both access and the iterations that do, or why that is undecided


def find_hazard(pipeline: Pipeline, versions: Mapping[Buffer, int], ranges: Ranges) -> Hazard | None:
    """The first dependence that the stages break; None if there is provably none. `versions` of the buffers allocated per iteration."""
    return next(_hazards(pipeline, versions, ranges), None)


def _hazards(
    pipeline: Pipeline, versions: Mapping[Buffer, int], ranges: Ranges, only: Buffer | None = None
) -> Iterator[Hazard]:
    trips = build.int_value(pipeline.loop.extent)
    for first, second, distance in _swapped(pipeline):
        if trips is not None and distance >= trips:
            continue
        for mine, mine_writes in first.regions:
            for other, other_writes in second.regions:
                buffer = mine.buffer
                if buffer is not other.buffer or not (mine_writes or other_writes) or only not in (None, buffer):
                    continue
                if buffer in versions and distance % versions[buffer]:
                    continue
                if not _are_apart(mine, other, pipeline, distance, ranges):
                    kind = "overwrites" if other_writes else "reads"
                    detail = _meeting(first, second, mine, other, pipeline, distance, ranges)
                    yield Hazard(first, second, buffer, distance, kind, detail)


def _swapped(pipeline: Pipeline) -> Iterator[tuple[PipelinePart, PipelinePart, int]]:
    """(X, Y, d): X of an iteration precedes Y of d iterations later in the program, but follows it in the pipeline."""
    for place, first in enumerate(pipeline.parts):
        for other, second in enumerate(pipeline.parts):
            lag = first.stage - second.stage
            nearest = 0 if place < other else 1
            furthest = lag if first.order > second.order else lag - 1
            yield from ((first, second, d) for d in range(nearest, furthest + 1))


def _are_apart(mine: BufferRegion, other: BufferRegion, pipeline: Pipeline, distance: int, ranges: Ranges) -> bool:
    """Whether `mine` of an iteration and `other` of `distance` iterations later provably share no element."""
    loop = pipeline.loop
    later = build.add(loop.loop_var, build.const(distance, loop.loop_var.dtype))
    shifted = [substitute(r, {loop.loop_var: later}) for r in other.region]
    known = {**ranges, loop.loop_var: Range(loop.min, build.sub(loop.extent, distance) if distance else loop.extent)}
    return _lie_apart(mine.region, shifted, known)


def _meeting(
    first: PipelinePart,
    second: PipelinePart,
    mine: BufferRegion,
    other: BufferRegion,
    pipeline: Pipeline,
    distance: int,
    ranges: Ranges,
) -> str:
    """The first element that both parts access in the first iterations of the loops; otherwise why that is undecided."""
    loop = pipeline.loop
    start = build.int_value(loop.min)
    around = {v: build.int_value(r.min) for v, r in ranges.items()}
    if start is None or None in around.values():
        return "undecided: the loops start at symbolic values"
    place: list[str] = []
    for axes in zip(mine.region, other.region, strict=True):
        ends: list[tuple[int, int]] = []
        for axis, iteration in zip(axes, (start, start + distance), strict=True):
            numbers = ((v, n) for v, n in (*around.items(), (loop.loop_var, iteration)) if n is not None)
            values = {v: build.const(n, v.dtype) for v, n in numbers}
            begin, extent = (build.int_value(simplify(substitute(e, values))) for e in (axis.min, axis.extent))
            if begin is None or extent is None:
                return (
                    f"undecided: the elements of {mine.buffer.name!r} depend on sizes, or on loops inside of the parts"
                )
            ends.append((begin, begin + extent))
        low = max(begin for begin, _ in ends)
        if low >= min(end for _, end in ends):
            return f"undecided: the first iterations access other elements of {mine.buffer.name!r}; later ones may meet"
        place.append(str(low))
    name = loop.loop_var.name
    return (
        f"{first.name!r} at {name} = {start} and {second.name!r} at {name} = {start + distance} access "
        f"{mine.buffer.name}[{', '.join(place)}]"
    )


def _lie_apart(mine: Sequence[Range], other: Sequence[Range], known: Ranges) -> bool:
    """Whether the boxes are provably disjoint: on some axis, one ends at or before the start of the other."""
    return any(
        prove(build.le(build.add(a.min, a.extent), b.min), known)
        or prove(build.le(build.add(b.min, b.extent), a.min), known)
        for a, b in zip(mine, other, strict=True)
    )


TILE_STAGES = "num_stages"
"""TileLang's annotation of a pipelined loop."""


def versions_needed(pipeline: Pipeline, marked: Mapping[Buffer, Slots], ranges: Ranges) -> dict[Buffer, int]:
    """The number of versions that each buffer of the pipeline needs: TVM's count, or more to avoid early overwrites or
    because the program asks for more slots."""
    found: dict[Buffer, int] = {}
    for buffer in pipeline.buffers:
        count = _counted(pipeline, buffer, ranges)
        if buffer in marked:
            count = max(count, marked[buffer].count)
        while count <= pipeline.depth and _is_overwritten(pipeline, buffer, count, ranges):
            count += 1
        found[buffer] = count
    return found


def _is_overwritten(pipeline: Pipeline, buffer: Buffer, count: int, ranges: Ranges) -> bool:
    """Whether with `count` versions an iteration may overwrite data that an earlier one still needs."""
    return any(h.distance > 0 for h in _hazards(pipeline, {buffer: count}, ranges, buffer))


def _counted(pipeline: Pipeline, buffer: Buffer, ranges: Ranges) -> int:
    """The version count: stages from the first write to the last read, and one less if each reader runs before the next writer. TVM takes
    the one off only from two; TileLang, whose loops have `num_stages`, from any number."""
    writes = [(p, w.region) for p in pipeline.parts for w in p.block.writes if w.buffer is buffer]
    reads = [(p, r.region) for p in pipeline.parts for r in p.block.reads if r.buffer is buffer]
    if not writes or not reads:
        return 1
    count = max(p.stage for p, _ in reads) - min(p.stage for p, _ in writes) + 1
    loop = pipeline.loop
    known = {**ranges, loop.loop_var: Range(loop.min, loop.extent)}
    pairs = [(w, r) for w, mine in writes for r, other in reads if not _lie_apart(mine, other, known)]
    is_tiles = any(key == TILE_STAGES for key, _ in loop.annotations)
    if (count == 2 or is_tiles) and not any(w.order < r.order and w.stage < r.stage for w, r in pairs):
        count -= 1
    return max(1, count)
