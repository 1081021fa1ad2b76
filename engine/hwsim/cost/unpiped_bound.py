"""Lower bounds on a planned program whose software pipelines are not chosen yet.

P is a program without pipelines. Q is the same plan with pipelines over some loops: one of m iterations whose last stage is d has a
prologue of d steps, a body of m - d steps and an epilogue of d steps. A statement of stage s does iteration i in step i + s; the statements
of a step are in program order. The bounds of P hold for Q under the conditions below; otherwise they are lowered, or there are none.

Lemma 1, copies. Each statement has a copy in Q with the same loops, allocations and accesses, the latter shifted by whole iterations, and
the copies keep their order: those in the body if m > d, as in its steps t, d <= t < m, each statement does iteration t - s, which exists;
else those in the prologue, and of stage d in the epilogue, if stages never fall from one statement to the next. Otherwise there is no
bound. By induction over nested pipelines, the inner ones first, each leaf p of P has such a copy p*. A program that has pipelines already
has no bound.

Lemma 2, bytes. If a buffer lives at leaf p of P, its copy lives at p* and is at least as large, so each allocation of Q needs the sum of
those that live at one p. Size: a buffer that the body of a pipelined loop owns has the slots that it requests in P, and at least as many in
Q (`versions_needed`); any other belongs to one statement, with the same slots in both. Life: there are accesses p1 <= p <= p2, each counted
for all iterations of the outermost loop between the memory of the buffer and the access that has several iterations (`lifetimes_of`). The
copies of p1, p and p2 keep this order. In Q the memory is outside of the same loops or further out, and a body has several iterations
again, unless m <= d + 1. Such a loop (`once`) extends no life in the bound; buffers that belong to one of its statements count with one
slot; and slots that rotate over a loop further out, because m = 1, extend no life either.

Lemma 3, tasks. A task is a subtree of one engine. In P, a loop of several engines and the loops around it are no tasks. The same holds in Q
for the sections if d <= 1: prologue and epilogue are no loops then, and neighbours that share no loop stay apart. So Q executes each
statement's subtrees in each iteration as tasks, whole or split; split ones cost no less, as set-ups, whole tiles and vectors, distinct
elements and maxima of ports are subadditive. A loop of one engine may become a task in Q if its slots rotate in P: no bound
(`_is_alone`). If d > 1, prologue and epilogue can merge iterations. Each statement has m - d iterations in the body, so only this share of
all m counts, if their costs are equal (`_are_equal`); else there is no bound.

Lemma 4, costs. A task costs the same in P and Q, as its cost follows from its operations, tile, layouts and memories, except for
- addresses: no bound with interleaved banks (`_depends_on_addresses`); engines do not count if they access vectors in slots that are not
  whole bursts (`_depends_on_slots`);
- physical blocks with ports of their own: the bound assumes common ports for them, of the sum of their widths. A task needs each at most as
  long as its busiest block. Rounded up, this holds for each task but not for sums, so these ports count in durations only;
- tokens for tasks on common addresses: the bound assumes none;
- engines that take turns, because Q has more leaves: their mean counts, and there is no bound if neighbours might join (`_joins_tasks`).

There is no bound for machines of several cores. By lemmas 3 and 4, the busiest engine, unit or port of Q is at least that of P, and it is
a lower bound on the cycles of Q.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields
from propcache.api import cached_property

from ...ir import BlockRealize, For, Var, build, free_vars, walk_stmts
from ...lower import Plan, is_pipelined
from ..access.alignment import is_aligned_by
from ..access.allocation import Chunk, largest_live
from ..access.placement import bytes_of_sites, place
from ..access.ports import memory_port
from ..machine.model import Machine
from ..machine.parts import DmaEngine, Engine
from ..replay.steady import MAX_TASKS
from ..report.metrics import bounds_of, busy_of
from ..tasks.counting import counts_of
from ..tasks.engine_selection import are_equivalent
from ..tasks.lifetimes import lifetimes_of
from ..tasks.nest import AllocationSite, read_nest
from ..tasks.tree import TaskLoop, TaskNode, TaskProgram, make_tasks
from .interface import Promise

Pipelines = Mapping[Var, Sequence[int]]
"""The pipelined loops, those with a single stage included, each with the stages of its statements."""


class PipelinesBound(msgspec.Struct, frozen=True):
    """Lower bound on the cycles of a program with some pipelines; 0 if none is known."""

    cycles: int

    @property
    def promise(self) -> Promise:
        return "lower bound"


class UnpipedBound:
    """The bounds of one program on a machine. Raises MachineError and LowerError if the machine cannot run it."""

    def __init__(self, plan: Plan, machine: Machine, max_tasks: int = MAX_TASKS) -> None:
        self._machine, self._max_tasks = _without_placement(machine.before_caches.by_channel), max_tasks
        self._own_ports = _own_ports(machine)
        self._nest = read_nest(plan.piped.func, set(plan.piped.buffers.values()))
        loops = [stmt for stmt in walk_stmts(plan.func.body) if isinstance(stmt, For)]
        self._is_piped = any(map(is_pipelined, loops))
        self._of_bodies = {b for s in loops if isinstance(s.body, BlockRealize) for b in s.body.block.alloc_buffers}
        self._extents = {loop.loop_var: build.int_value(loop.extent) or 0 for loop in loops}
        self._live: dict[frozenset[str], dict[str, int]] = {}

    def live_bytes(self, pipelines: Pipelines) -> dict[str, int]:
        """The largest sum of bytes that are live at the same time in each memory, by scope: any allocation with these pipelines needs as
        many. Empty if none is known."""
        if not self._are_known(pipelines) or not all(
            self._extents[loop] > max(stages) or sorted(stages) == [*stages] for loop, stages in pipelines.items()
        ):
            return {}
        once = frozenset(loop.name for loop, stages in pipelines.items() if self._extents[loop] <= max(stages) + 1)
        if once not in self._live:
            lifetimes = lifetimes_of(self._nest, once)
            held: dict[str, list[Chunk]] = {}
            for site, (memory, size) in bytes_of_sites(self._machine, self._nest).items():
                size //= site.slots if self._may_lose_slots(site, once) else 1
                held.setdefault(memory.scope, []).append(Chunk(size, lifetimes[site].first, lifetimes[site].last))
            self._live[once] = {scope: largest_live(chunks)[0] for scope, chunks in held.items()}
        return self._live[once]

    def at(self, pipelines: Pipelines) -> PipelinesBound:
        """Returns the bound of the program with these pipelines. Raises "too-many-tasks"."""
        return PipelinesBound(self._cycles(pipelines))

    def _cycles(self, pipelines: Pipelines) -> int:
        if not self._are_known(pipelines) or self._depends_on_addresses or self._joins_tasks or self._machine.levels:
            return 0
        if any(_is_alone(node, loop.name) for node in self._program.tree for loop in pipelines):
            return 0
        deep = {loop: max(stages) for loop, stages in pipelines.items() if max(stages) > 1}
        if not all(_are_equal(node, loop.name) for node in self._program.tree for loop in deep):
            return 0
        found = self._busiest
        for loop, depth in deep.items():
            found = found * max(self._extents[loop] - depth, 0) // self._extents[loop]
        return found

    def _are_known(self, pipelines: Pipelines) -> bool:
        """Whether there are bounds for pipelines of these loops at all."""
        return not self._is_piped and all(self._extents.get(loop) for loop in pipelines)

    @property
    def _depends_on_addresses(self) -> bool:
        """Whether the costs of all engines depend on the addresses of slots."""
        return any(memory.mapping == "interleave" and memory.banks > 1 for memory in self._machine.memories)

    def _depends_on_slots(self, number: int) -> bool:
        """Whether the costs of an engine depend on where slots begin in the bursts of their memory."""
        engine, places = self._machine.engines[number], self._program.places
        accessed = (
            places.by_buffer[access.buffer]
            for template in self._program.templates
            if template.engine == number
            for choice in template.choices
            for work in choice.works
            for access in (*work.reads, *work.writes)
        )
        return any(
            placement.part_bytes % placement.memory.burst_bytes and is_aligned_by(engine, placement.memory, places)
            for placement in accessed
            if not placement.is_param
        )

    @property
    def _joins_tasks(self) -> bool:
        """Whether other turns of engines may give neighbouring statements to one engine, which makes them one task."""
        engines = self._machine.engines
        return any(len(g) > 1 and not isinstance(engines[g[0]], DmaEngine) for g in _taking_turns(engines))

    def _may_lose_slots(self, site: AllocationSite, once: Collection[str]) -> bool:
        """Whether a buffer's slots rotate over a loop of which the body runs once, and the loop's body does not own the buffer."""
        if site.slot_loop is None or site.slot_loop.name not in once:
            return False
        return site.loops[-1] is not site.slot_loop or site.buffer not in self._of_bodies

    @cached_property
    def _program(self) -> TaskProgram:
        return make_tasks(self._nest.func, self._nest, place(self._machine, self._nest))

    @cached_property
    def _busiest(self) -> int:
        """The cycles of the busiest engine, unit or port, with the mean of engines that take turns."""
        machine, variants = self._machine, self._program.variants
        every = counts_of(self._program, self._max_tasks)
        moved = {n for n in range(len(machine.engines)) if self._depends_on_slots(n)}
        counts = {number: count for number, count in every.items() if variants[number].engine not in moved}
        busy = busy_of(self._program, counts)
        groups = _taking_turns(machine.engines)
        least = [sum(busy[n] for n in group) // len(group) for group in groups]
        for unit in {*machine.units}:
            members = {n for n, of in enumerate(machine.units) if of == unit}
            least.append(sum(busy[n] for group in groups if members >= {*group} for n in group))
        names = [{machine.engines[n].name for n in group} for group in groups]
        split = {bus.name for bus in machine.buses for group in names if 0 < len(group & {*bus.engines}) < len(group)}
        ports = (b for b in bounds_of(self._program, counts, busy) if b.kind == "port")
        return max([*least, *(b.cycles for b in ports if b.name not in split | self._own_ports)], default=0)


def _without_placement(machine: Machine) -> Machine:
    """The machine without what depends on the places of buffers: ports of physical blocks, and tokens."""
    return replace_fields(
        machine,
        memories=tuple(replace_fields(m, block_ports="common") if m.has_own_ports else m for m in machine.memories),
        engines=tuple(
            replace_fields(e, wait_cycles=0, signal_cycles=0) if e.wait_cycles or e.signal_cycles else e
            for e in machine.engines
        ),
    )


def _own_ports(machine: Machine) -> set[str]:
    """The names of the common ports of memories whose physical blocks have ports of their own."""
    memories = [replace_fields(m, block_ports="common") for m in machine.memories if m.has_own_ports]
    return {memory_port(memory, written=written).name for memory in memories for written in (False, True)}


def _taking_turns(engines: Sequence[Engine]) -> list[list[int]]:
    """The engines by number, those together that differ only in their name."""
    groups: list[list[int]] = []
    for number, engine in enumerate(engines):
        group = next((g for g in groups if are_equivalent(engines[g[0]], engine)), None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    return groups


def _is_alone(node: TaskNode, name: str) -> bool:
    """Whether all tasks inside of a loop of this name are of one engine."""
    return any(len(loop.engines) == 1 for loop in _loops(node, name))


def _are_equal(node: TaskNode, name: str) -> bool:
    """Whether the iterations of the loops of this name have tasks of equal costs."""
    return not any(_decides(loop, name) for loop in _loops(node, name))


def _decides(node: TaskLoop, name: str) -> bool:
    kinds = node.iteration_class
    vars_ = {loop.var for loop in node.loops if loop.name == name}
    used = {v for expr in (*kinds.conditions, *kinds.shifted, *kinds.fixed) for v in free_vars(expr)}
    return not vars_.isdisjoint(used.union(kinds.single))


def _loops(node: TaskNode, name: str) -> Iterator[TaskLoop]:
    """Yields the loops of this name around tasks."""
    if isinstance(node, TaskLoop):
        if any(one.name == name for one in node.loops):
            yield node
        for child in node.children:
            yield from _loops(child, name)


__all__ = ["PipelinesBound", "UnpipedBound"]
