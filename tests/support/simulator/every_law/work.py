"""The common costs of pieces of tasks on all engines: cycles of work, bytes, losses on banks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.engine.hwsim import Placement
from tilewright.engine.ir import build

from .banks import Lost
from .elements import Operand, Part


class Moved(NamedTuple):
    """Bytes of a buffer that a task reads or writes, by these accesses."""

    placement: Placement
    written: bool
    bytes: int
    operands: Sequence[Operand]


class Worked(NamedTuple):
    """Cycles of the work of a piece; the bytes that it accesses, and those that its ports move; losses on banks."""

    cycles: int
    touched: Sequence[Moved]
    moved: Sequence[Moved]
    lost: Sequence[Lost] = ()
    descriptors: int = 1


def over(amount: int, per: int) -> int:
    return -(-amount // per)


def by_buffer(part: Part) -> list[tuple[Placement, bool, list[Operand]]]:
    """The accesses of a piece by buffer and direction; an accumulator has both."""
    sides = [(o, o.written) for o in part.operands] + [(o, False) for o in part.writes if part.updates]
    found: dict[tuple[Placement, bool], list[Operand]] = {}
    for operand, written in sides:
        found.setdefault((operand.placement, written), []).append(operand)
    return [(placement, written, operands) for (placement, written), operands in found.items()]


def elements_in_box(part: Part, operands: Sequence[Operand]) -> int:
    """Elements of the bounding box of the accesses to a buffer, at most one per access and iteration. Accesses that outer loops move
    by different amounts count separately. A buffer that is allocated inside the task is a fresh one each time, and for each thread with
    a private one.
    """
    placement, domain = operands[0].placement, part.points
    fresh = {loop.var for loop in (*placement.site.loops, *placement.site.threads)} & domain.loops.keys()
    times = domain.values_of(fresh) if fresh else 1
    each = domain.values_of(domain.loops.keys() - fresh) if fresh else domain.count
    found = 0
    groups: dict[tuple[int, ...], list[Operand]] = {}
    for operand in operands:
        groups.setdefault(part.moves(operand) if len(operands) > 1 else (), []).append(operand)
    for alike in groups.values():
        box = 1
        for axis, size in enumerate(placement.buffer.shape):
            low = min(int(o.indices[axis].min()) for o in alike)
            high = max(int(o.indices[axis].max()) for o in alike)
            box *= min(high - low + 1, build.int_value(size) or 1)
        found += min(box, each * len(alike))
    return times * found
