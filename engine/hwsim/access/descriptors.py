"""DMA descriptors: a copy as a box of contiguous runs, and the bytes that it moves in whole bursts.

Loops of a copy that continue each other form one dimension of the box; its innermost dimension is a run. An engine whose descriptors have
fewer or shorter dimensions needs several of them; a pattern that is no box needs one for each run. An engine with a transposer reads the
runs of the source and writes those of the target, where these are longer than the runs that are contiguous in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import msgspec

from ...ir import Var
from ..machine.parts import DmaEngine, Memory
from ..tasks.geometry import Layout, Runs, TaskDomain, run_loops, runs
from ..tasks.work import Work, element_bytes


class Descriptor(msgspec.Struct, frozen=True):
    """A copy of `runs` runs of `run_bytes` each (the longest, if they differ: then `shape` is empty). `shape` is in elements, with the run
    last.

    The copy moves `read_bytes` and `written_bytes` in whole bursts, with `descriptors` descriptors; it requests `wanted_bytes` on the side
    that moves more. Runs of a `transposed` copy are those of the source. A padded copy reads only
    the elements inside; its runs are those that it writes.
    """

    shape: tuple[int, ...]
    run_bytes: int
    runs: int
    wanted_bytes: int
    read_bytes: int
    written_bytes: int
    descriptors: int = 1
    transposed: bool = False


def describe(
    engine: DmaEngine, work: Work, layouts: Sequence[Layout], where: TaskDomain, source: Memory, target: Memory
) -> Descriptor:
    """Returns the descriptor of a copy of `source` to `target` over the iterations of a domain."""
    sizes = [element_bytes(a) for a in (work.reads[0], work.writes[0])]
    found = runs(layouts, where)
    of_each = [found if where.inside is None else runs(layouts, where.inside), found]
    turns = engine.transpose_bytes_per_cycle and where.inside is None
    own = [runs((x,), where) for x in layouts] if turns else of_each
    transposed = all(_longest(o) > _longest(found) for o in own)
    shape = _box(layouts, where)
    if transposed:
        of_each, found = own, own[0]
        shape = shape[:-1] if shape[-1:] == (1,) else shape
    count = sum(r.count for r in found)
    shape = shape or ((count, found[0].elements) if len(found) == 1 else ())
    read, written = (_in_bursts(*side) for side in zip(of_each, sizes, (source, target), strict=True))
    size = sizes[0] if read >= written else sizes[1]
    return Descriptor(
        shape,
        _longest(found) * size,
        count,
        where.iterations * size,
        read,
        written,
        _descriptors(engine, shape, count),
        transposed,
    )


def _longest(found: Sequence[Runs]) -> int:
    return max((r.elements for r in found), default=0)


def _box(layouts: Sequence[Layout], where: TaskDomain) -> tuple[int, ...]:
    """Returns the extents of the dimensions, outermost first; () if the pattern is no box."""
    strides = [x.strides for x in layouts if x.strides is not None]
    if not where.is_box or len(strides) < len(layouts):
        return ()
    run = run_loops(strides, where)
    rest = [v for v, count in where.active.items() if count > 1 and v not in run]
    shape = [prod(where.active[v] for v in run)]
    inside: Var | None = None
    for var in sorted(rest, key=lambda v: abs(strides[-1].get(v, 0))):
        if inside is not None and all(_goes_on(s, inside, var, where) for s in strides):
            shape[-1] *= where.active[var]
        else:
            shape.append(where.active[var])
            inside = var
    return tuple(reversed(shape))


def _goes_on(strides: Mapping[Var, int], inside: Var, var: Var, where: TaskDomain) -> bool:
    """Returns whether `var` continues the loop inside of it: both are one loop with the inner stride."""
    return strides.get(var, 0) == strides.get(inside, 0) * where.active[inside]


def _descriptors(engine: DmaEngine, shape: Sequence[int], count: int) -> int:
    if not shape:
        return count if engine.dimensions or engine.max_extent else 1
    inside = min(engine.dimensions or len(shape), len(shape))
    limit = engine.max_extent or max(shape)
    return prod(shape[: len(shape) - inside]) * prod(-(-n // limit) for n in shape[len(shape) - inside :])


def _in_bursts(found: Sequence[Runs], size: int, memory: Memory) -> int:
    return sum(r.count * -(-r.elements * size // memory.burst_bytes) * memory.burst_bytes for r in found)
