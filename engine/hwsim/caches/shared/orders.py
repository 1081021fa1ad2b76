"""Tasks with what a shared cache misses, and the orders of blocks that a kernel can choose."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...machine.model import Machine
from ...replay.cores.dispatch import BlockOrder, order_of
from ...replay.cores.residency import residency_of
from ...tasks.tree import TaskProgram, make_tasks
from .contents import CacheReplay, grids_of
from .results import Behind, behind

PANELS = (8, 16, 4, 32, 2)
"""The rows or columns of blocks in a panel, the most usual first."""
MOST_WAVES = 1_000
"""Limit on the waves of all orders together; of a long program fewer orders are replayed, or none."""


def with_misses(program: TaskProgram, machine: Machine) -> TaskProgram:
    """Returns the tasks of a program with what the shared cache of a machine misses, in the order of blocks that the program asks for."""
    cache = machine.shared_cache
    assert cache is not None
    contents = CacheReplay(program, cache, held_blocks(program)).contents(order_of(program.source))
    return tasks_behind(program, behind(cache, machine.memory(cache.memory), contents))


def tasks_behind(program: TaskProgram, memory: Behind) -> TaskProgram:
    """Returns the tasks of a program with what they move behind a shared cache."""
    return make_tasks(program.source, program.nest, program.places, behind=memory)


def held_blocks(program: TaskProgram) -> int:
    """Returns the blocks that a core holds at a time."""
    return max(residency_of(program).blocks, 1)


def orders_of(program: TaskProgram) -> Iterator[BlockOrder]:
    """Yields the order of blocks that a program asks for, then others that a kernel with its grid can have."""
    own = order_of(program.source)
    yield own
    extents = [[loop.extent for loop in sorted(grid, key=lambda g: g.axis)][:2] for grid in grids_of(program)]
    plane = next((e for e in extents if len(e) == 2 and min(e) > 1), None)
    if plane is None:
        return
    waves = sum(prod(loop.extent for loop in grid) for grid in grids_of(program))
    waves //= program.machine.cores * held_blocks(program)
    others = [BlockOrder(), *(BlockOrder(n, along) for n in PANELS for along in ("row", "column"))]
    for order in others[: MOST_WAVES // max(waves, 1)]:
        lines = plane[1] if order.along == "row" else plane[0]
        if order != own and order.panel < lines:
            yield order


__all__ = ["held_blocks", "orders_of", "tasks_behind", "with_misses"]
