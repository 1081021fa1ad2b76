"""All tasks of a program on a machine, one by one: every iteration of every loop, without classes of equal iterations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from tilewright.engine.hwsim import SystolicEngine, TaskProgram, Template
from tilewright.engine.hwsim.tasks.tree import TaskLoop, TaskNode
from tilewright.engine.ir import Var

from .clock import Clock, Timed
from .costs import TaskCost, cost_of
from .elements import Part, part_of
from .ports import demands_of


class Done(NamedTuple):
    """A task that has run: its template and engine, its cost and its time."""

    template: int
    engine: str
    cost: TaskCost
    timed: Timed
    start: int
    end: int


class Run(NamedTuple):
    """All tasks in program order, and the makespan."""

    tasks: list[Done]
    cycles: int


class TooManyElementsError(Exception):
    """The program accesses too many elements for the oracle."""


def run_all(program: TaskProgram, most_elements: int) -> Run:
    """Runs a program. Raises TooManyElementsError."""
    if _most_elements(program) > 4 * most_elements:
        raise TooManyElementsError
    tokens = _tokens(program)
    placements = program.places.by_buffer
    found: list[tuple[int, TaskCost, Timed]] = []
    left = most_elements
    for template, at in _instances(program.tree, {}):
        around = {loop.var: loop.extent for loop in template.outer}
        known = [part_of(piece, around, at, placements) for piece in template.variants.pieces]
        parts = [part for part in known if part is not None]
        left -= sum(p.points.count * len(p.operands) for p in parts) + 1
        if left < 0:
            raise TooManyElementsError
        if parts:
            cost = cost_of(program.machine.engines[template.engine], parts, program.machine)
            found.append((template.number, cost, _timed(program, template, parts, cost, tokens[template.number])))
    timed = [t for _, _, t in found]
    clock = Clock(timed, program.machine.queues)
    cycles = clock.run()
    times = zip(found, clock.starts, clock.ends, strict=True)
    names = [program.machine.engines[t.engine].name for t in program.templates]
    return Run([Done(n, names[n], cost, t, s or 0, e or 0) for (n, cost, t), s, e in times], cycles)


def _most_elements(program: TaskProgram) -> int:
    """Elements that tasks access if conditions are ignored."""
    pieces = [(t.count, piece.measured) for t in program.templates for piece in t.variants.pieces]
    return sum(count * prod(m.inner.values()) * len(m.accesses) for count, m in pieces)


def _instances(nodes: Sequence[TaskNode], at: Mapping[Var, int]) -> Iterator[tuple[Template, Mapping[Var, int]]]:
    for node in nodes:
        if isinstance(node, Template):
            yield node, at
        else:
            yield from _iterations(node, at, 0)


def _iterations(node: TaskLoop, at: Mapping[Var, int], depth: int) -> Iterator[tuple[Template, Mapping[Var, int]]]:
    if depth == len(node.loops):
        yield from _instances(node.children, at)
        return
    loop = node.loops[depth]
    for i in range(loop.extent):
        yield from _iterations(node, {**at, loop.var: i}, depth + 1)


def _timed(program: TaskProgram, template: Template, parts: Sequence[Part], cost: TaskCost, tokens: int) -> Timed:
    machine, engine = program.machine, program.machine.engines[template.engine]
    demands = demands_of(engine, machine, cost.moved)
    work = max(cost.work, cost.accesses, *demands.values(), 0)
    setup = cost.setup + tokens * engine.wait_cycles
    duration = max(1, cost.setup + work) + tokens * (engine.wait_cycles + engine.signal_cycles)
    reads, writes = _cells(parts, written=False), _cells(parts, written=True)
    destroyed = {other for cell in writes for other in _sharing(program, cell)}
    ahead: dict[int, int] = {}
    if isinstance(engine, SystolicEngine) and engine.weights == "double":
        stationary = -1 if engine.dataflow == "weight_stationary" else 0
        buffers = {p.reads[stationary].placement for p in parts if p.reads}
        ahead = {c: engine.rows for c in reads if any(_holds(b.first_cell, b.cells, c) for b in buffers)}
    inputs = frozenset(reads - writes)
    return Timed(
        machine.units[template.engine],
        duration,
        cost.latency,
        setup,
        inputs,
        frozenset(writes | destroyed),
        dict(demands),
        ahead,
    )


def _holds(first: int, count: int, cell: int) -> bool:
    return first <= cell < first + count


def _cells(parts: Sequence[Part], *, written: bool) -> set[int]:
    """The cells that a task accesses: of each buffer from the first to the last."""
    found: dict[str, set[int]] = {}
    for part in parts:
        for operand in part.operands:
            if operand.written is written:
                found.setdefault(operand.placement.buffer.name, set()).update(operand.cells)
    return {cell for cells in found.values() for cell in range(min(cells), max(cells) + 1)}


def _sharing(program: TaskProgram, cell: int) -> set[int]:
    """The other cells that share addresses with a cell."""
    placement = program.places.of_cell[cell]
    start, found = placement.address_of(cell), set[int]()
    for other, theirs in enumerate(program.places.of_cell):
        if other == cell or theirs.memory is not placement.memory or theirs.bank_of(other) != placement.bank_of(cell):
            continue
        first = theirs.address_of(other)
        if first < start + placement.part_bytes and start < first + theirs.part_bytes:
            found.add(other)
    return found


def _tokens(program: TaskProgram) -> Counter[int]:
    """For each template the other units that have a task which must not overlap its tasks."""
    machine = program.machine
    found: Counter[int] = Counter()
    kinds = [(machine.units[t.engine], *_touches(program, t)) for t in program.templates]
    for number, (unit, cells, written) in enumerate(kinds):
        rivals = {u for u, theirs, changed in kinds if u != unit and (written & theirs or changed & cells)}
        found[number] = len(rivals)
    return found


def _touches(program: TaskProgram, template: Template) -> tuple[set[int], set[int]]:
    """All cells that tasks of a template may access or destroy, and those that they change."""
    cells, written = set[int](), set[int]()
    for piece in template.variants.pieces:
        work = piece.measured.work
        for access in (*work.reads, *work.writes):
            placement = program.places.by_buffer[access.buffer]
            own = set(range(placement.first_cell, placement.first_cell + placement.cells))
            own |= {other for cell in own for other in _sharing(program, cell)}
            cells |= own
            written |= own if any(access is w for w in work.writes) else set()
    return cells, written
