"""Lower bounds on a planned program whose software pipelines are not chosen yet.

A pipeline moves the iterations of the statements of a loop against each other. It executes the same tasks, keeps buffers at least as long,
and gives them at least as many slots, so what the program needs without it is a lower bound. Where a pipeline could need less, there is no
bound:

- A loop with at most as many iterations as the pipeline is deep has no section in which all its statements run.
- A prologue or epilogue of several steps may join the tasks of neighbouring iterations, which saves set-ups and partial vectors there.
  Each statement runs at most as often outside of the body as the pipeline is deep; these iterations count as free.
- A loop of one engine may become one task, if its slots are those of the pipeline.
- Interleaved banks: conflicts depend on the addresses, which depend on the slots.
"""

from __future__ import annotations

from collections.abc import Mapping

from propcache.api import cached_property

from ...ir import For, Var, build, walk_stmts
from ...lower import Plan
from ..access.allocation import Chunk, largest_live
from ..access.placement import bytes_of_sites, place
from ..machine.model import Machine
from ..replay.steady import MAX_TASKS
from ..report.metrics import bounds_of, busy_of
from ..tasks.counting import counts_of
from ..tasks.lifetimes import lifetimes_of
from ..tasks.nest import read_nest
from ..tasks.tree import TaskLoop, TaskNode, TaskProgram, make_tasks


class UnpipedBound:
    """The bounds of one program on a machine. Raises MachineError and LowerError if the machine cannot run it."""

    def __init__(self, plan: Plan, machine: Machine, max_tasks: int = MAX_TASKS) -> None:
        self._machine, self._max_tasks = machine, max_tasks
        self._nest = read_nest(plan.piped.func, set(plan.piped.buffers.values()))
        loops = [stmt for stmt in walk_stmts(plan.func.body) if isinstance(stmt, For)]
        self._extents = {loop.loop_var: build.int_value(loop.extent) or 0 for loop in loops}

    def has_body(self, depths: Mapping[Var, int]) -> bool:
        """Whether pipelines of these depths leave each statement of their loops in a common section, so that the bounds hold."""
        return all(self._extents.get(loop, 0) > depth for loop, depth in depths.items())

    @cached_property
    def live_bytes(self) -> dict[str, int]:
        """The largest sum of bytes that are live at the same time in each memory, by scope: any allocation needs as many."""
        lifetimes = lifetimes_of(self._nest)
        held: dict[str, list[Chunk]] = {}
        for site, (memory, size) in bytes_of_sites(self._machine, self._nest).items():
            held.setdefault(memory.scope, []).append(Chunk(size, lifetimes[site].first, lifetimes[site].last))
        return {scope: largest_live(chunks)[0] for scope, chunks in held.items()}

    def cycles(self, depths: Mapping[Var, int]) -> int:
        """A lower bound on the cycles of the program with pipelines of these depths; 0 if none is known. Raises "too-many-tasks"."""
        if self._depends_on_addresses or any(
            _is_alone(node, loop.name) for node in self._program.tree for loop in depths
        ):
            return 0
        found = self._busiest
        for loop, depth in depths.items():
            if depth > 1:
                found = found * (self._extents[loop] - depth) // self._extents[loop]
        return found

    @property
    def _depends_on_addresses(self) -> bool:
        return any(memory.mapping == "interleave" and memory.banks > 1 for memory in self._machine.memories)

    @cached_property
    def _program(self) -> TaskProgram:
        return make_tasks(self._nest, place(self._machine.by_channel, self._nest))

    @cached_property
    def _busiest(self) -> int:
        """The cycles of the busiest engine, unit or port."""
        counts = counts_of(self._program, self._max_tasks)
        bounds = bounds_of(self._program, counts, busy_of(self._program, counts))
        return max((b.cycles for b in bounds), default=0)


def _is_alone(node: TaskNode, name: str) -> bool:
    """Whether all tasks inside of a loop of this name are of one engine."""
    if not isinstance(node, TaskLoop):
        return False
    if any(one.name == name for one in node.loops):
        return len(node.engines) == 1
    return any(_is_alone(child, name) for child in node.children)


__all__ = ["UnpipedBound"]
