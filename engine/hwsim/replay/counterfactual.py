"""The cycles of a program without one cause of its stalls: a replay of the same tasks, some of them changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast, overload

from msgspec.structs import replace

from ..tasks.tree import TaskProgram
from ..tasks.variants import TaskVariant
from .cores.chip import cycles_of
from .steady import MAX_TASKS

Change = Callable[[TaskVariant], TaskVariant]


class _Changed(Sequence[TaskVariant]):
    """The variants of a program, each changed on access: a replay may add more."""

    def __init__(self, variants: Sequence[TaskVariant], change: Change) -> None:
        self._variants, self._change = variants, change

    def __len__(self) -> int:
        return len(self._variants)

    @overload
    def __getitem__(self, index: int) -> TaskVariant: ...
    @overload
    def __getitem__(self, index: slice) -> list[TaskVariant]: ...
    def __getitem__(self, index: int | slice) -> TaskVariant | list[TaskVariant]:
        if isinstance(index, slice):
            return [self._change(v) for v in self._variants[index]]
        return self._change(self._variants[index])


def cycles_without(program: TaskProgram, change: Change, max_tasks: int = MAX_TASKS) -> int:
    """Returns the makespan with changed tasks. Raises MachineError as `replay_tasks` does."""
    program = program.base or program
    variants = cast("list[TaskVariant]", _Changed(program.variants, change))
    return cycles_of(replace(program, variants=variants, counts={}), max_tasks, whole=0)


def with_free_slots(cells: frozenset[int]) -> Change:
    """Returns the change of tasks to those whose reads of these cells let the next write begin at once, as if there were more slots."""

    def change(variant: TaskVariant) -> TaskVariant:
        timed = variant.replay
        freed = tuple(cell for cell in timed.reads if cell in cells)
        if not freed:
            return variant
        # A preload waits for the data of a cell and does not occupy it.
        early = {cell for cell, _ in timed.preloads}
        preloads = (*timed.preloads, *((cell, 0) for cell in freed if cell not in early))
        reads = tuple(cell for cell in timed.reads if cell not in cells)
        return replace(variant, replay=replace(timed, reads=reads, preloads=preloads))

    return change


def without_conflicts(template: int, buffers: tuple[str, ...]) -> Change:
    """Returns the change of tasks to those without the bank conflicts of a block on these buffers."""

    def change(variant: TaskVariant) -> TaskVariant:
        cost, timed = variant.cost, variant.replay
        mine = [c for c in cost.conflicts if tuple(b.name for b in c.buffers) == buffers]
        if variant.template != template or not mine:
            return variant
        # The bytes of a task still take their time on ports, and its accesses a cycle each.
        least = cost.setup + max([c.accesses for c in mine] + [cycles for _, cycles in cost.demands])
        shorter = max(timed.duration - sum(c.cycles for c in mine), least, 1)
        return replace(variant, replay=replace(timed, duration=min(shorter, timed.duration)))

    return change
