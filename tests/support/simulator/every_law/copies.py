"""Copies by a DMA: runs, bursts, descriptors, rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

from tilewright.engine.hwsim import DmaEngine, Memory
from tilewright.engine.ir import Var

from .contiguous import Strides, chain, runs, strides_of
from .elements import Operand, Part, Points
from .work import Moved, Worked, by_buffer, elements_in_box, over


def copied(engine: DmaEngine, part: Part) -> Worked:
    """A copy of the first operand, under functions with the others."""
    source, target = part.reads[0], part.writes[0]
    every = strides_of(part)
    strides = (every[0], every[-1])
    inside = part.over(part.points.kept(part.inside)) if not part.inside.all() else part
    both = [_runs(strides, p, (p.reads[0], p.writes[0])) for p in (inside, part)]
    own = [_runs((s,), part, (o,)) for s, o in zip(strides, (source, target), strict=True)]
    padded = part.kind == "pad"
    transposed = bool(engine.transpose_bytes_per_cycle) and not padded
    transposed = transposed and all(max(o) > max(both[1]) for o in own)
    read, written = own if transposed else both
    shape = _dimensions(strides, part.points)
    if transposed and shape[:1] == [1]:
        shape = shape[1:]
    found = read if transposed else both[1]
    count = sum(found.values())
    if not shape and len(found) == 1:
        shape = [next(iter(found)), count]
    ends = [(source, _bursts(read, source)), (target, _bursts(written, target))]
    cycles = _cycles(engine, part, [(o.placement.memory, size) for o, size in ends], transposed=transposed)
    touched, moved = [], []
    for placement, is_written, operands in by_buffer(part):
        if operands[0] in (source, target):
            elements = (inside if not is_written else part).points.count * len(operands)
            size = ends[is_written][1]
        else:
            elements = elements_in_box(part, operands)
            burst = placement.memory.burst_bytes
            size = over(elements * operands[0].size, burst) * burst
        touched.append(Moved(placement, is_written, elements * operands[0].size, operands))
        reached = inside.reads if not is_written and operands[0] is source else operands
        moved.append(Moved(placement, is_written, size, [o for o in reached if o.placement is placement]))
    return Worked(cycles, touched, moved, descriptors=_descriptors(engine, shape, count))


def _runs(strides: Sequence[Strides | None], part: Part, operands: Sequence[Operand]) -> Counter[int]:
    if not part.points.count:
        return Counter()
    return runs(strides, [o.place for o in operands], part.points, operands[-1].loops)


def _bursts(found: Counter[int], operand: Operand) -> int:
    """Bytes of runs, each in whole bursts."""
    burst = operand.placement.memory.burst_bytes
    return sum(count * over(length * operand.size, burst) * burst for length, count in found.items())


def _dimensions(strides: Sequence[Strides | None], domain: Points) -> list[int]:
    """Elements of a run, and then steps of each further dimension; nothing if the copy is no box."""
    known = [s for s in strides if s is not None]
    if domain.box is None or len(known) < len(strides):
        return []
    run = chain(known, domain.box)
    shape = [prod(domain.box[v] for v in run)]
    before: Var | None = None
    rest = [v for v, n in domain.box.items() if n > 1 and v not in run]
    for var in sorted(rest, key=lambda v: abs(known[-1].get(v, 0))):
        if before is not None and all(_continues(s, before, var, domain.box) for s in known):
            shape[-1] *= domain.box[var]
        else:
            shape.append(domain.box[var])
            before = var
    return shape


def _continues(strides: Strides, inner: Var, outer: Var, counts: Mapping[Var, int]) -> bool:
    return strides.get(outer, 0) == strides.get(inner, 0) * counts[inner]


def _descriptors(engine: DmaEngine, shape: Sequence[int], count: int) -> int:
    if not engine.dimensions and not engine.max_extent:
        return 1
    if not shape:
        return count
    inside = engine.dimensions or len(shape)
    parts = [over(n, engine.max_extent) if engine.max_extent else 1 for n in shape[:inside]]
    return prod(parts) * prod(shape[inside:])


def _cycles(engine: DmaEngine, part: Part, ends: Sequence[tuple[Memory, int]], *, transposed: bool) -> int:
    (source, read), (target, written) = ends
    least = 0
    if engine.outstanding_requests:
        for memory, size in ends:
            least = max(least, over(size // memory.burst_bytes * memory.latency_cycles, engine.outstanding_requests))
    if transposed:
        bigger = part.reads[0] if read >= written else part.writes[0]
        least = max(least, over(part.points.count * bigger.size, engine.transpose_bytes_per_cycle))
    rate = engine.bytes_per_cycle
    if source is target and source.ports == "shared":
        return max(least, over(read + written, min(source.read_bytes_per_cycle, rate)))
    write_width = target.read_bytes_per_cycle if target.ports == "shared" else target.write_bytes_per_cycle
    reading = min(source.read_bytes_per_cycle, rate) if part.kind == "copy" else source.read_bytes_per_cycle
    return max(least, over(read, reading), over(written, min(write_width, rate)))
