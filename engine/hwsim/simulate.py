"""From a program and a machine to a report: plan, read, place, make tasks, replay, sum up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..ir import BlockRealize, PrimFunc, refusing_depth
from ..lower import LowerError, Renewed, lower_match_buffer, missing_sizes, pipelined, planned
from .errors import MachineError, refuse
from .findings import find
from .machine import KINDS, DmaEngine, Machine
from .nest import read_nest
from .occupancy import Occupancy, occupancy
from .place import place, row_name
from .replay import CAUSES
from .report import EngineAccess, EngineReport, MemoryReport, Report, Segments, TaskKind, Traffic, Wait
from .steady import MAX_TASKS, WHOLE, play
from .tasks import TaskProgram, make_tasks
from .timeline import Timeline, require_countable, timeline_of

IDLE = "idle"

EXAMPLE_SIZE = 256
"""What is proposed for a size that nobody gave."""


@refusing_depth(MachineError)
def simulate(
    func: PrimFunc,
    machine: Machine,
    max_tasks: int = MAX_TASKS,
    *,
    known_plan: Renewed | None = None,
    whole: int = WHOLE,
) -> Report:
    """What `func` costs on `machine`, to the cycle: the same input gives the same report everywhere.

    What repeats is not played again, once `whole` tasks were: the figures are those of a replay of every task, the timeline has repeats.
    Raises MachineError when the machine cannot run it: an operand that no engine reaches, a scope without memory, sizes that are not
    known (`lower.with_sizes` gives them), more than `max_tasks` tasks that are not alike. More bytes than a memory holds are a finding, not
    an error.

    `known_plan` is `lower.planned(func)` where somebody made it already.
    """
    program, timeline = replayed(func, machine, max_tasks, known_plan=known_plan, whole=whole)
    return _report(program, timeline, occupancy(program, timeline))


def replayed(
    func: PrimFunc,
    machine: Machine,
    max_tasks: int = MAX_TASKS,
    *,
    known_plan: Renewed | None = None,
    whole: int = WHOLE,
) -> tuple[TaskProgram, Timeline]:
    """The tasks of a program, and when they run: what a report is made of. Arguments and errors are those of `simulate`."""
    require_sizes(func)
    program = tasks_of(func, machine, known_plan)
    return program, timeline_of(program, play(program, max_tasks, whole))


# A program takes a time when its sizes are numbers.
def require_sizes(func: PrimFunc) -> None:
    missing = missing_sizes(func)
    if missing:
        line = ", ".join(f'"{name}": {EXAMPLE_SIZE}' for name in missing)
        names = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        are = "the size {} is" if len(missing) == 1 else "the sizes {} are"
        raise refuse("missing-sizes", f"{are.format(names)} not known, so neither is what the program costs", found=", ".join(missing),
                     expected="a number for each", fix=(f"sizes = {{{line}}}",))  # fmt: skip


def tasks_of(func: PrimFunc, machine: Machine, known_plan: Renewed | None = None) -> TaskProgram:
    """The tasks of a program, before any is played. What has no root block is lowered already, its allocations are where they belong."""
    is_planned = not isinstance(func.body, BlockRealize)
    piped = require_sound(func if is_planned else (known_plan or planned(func)).func)
    nest = read_nest(piped.func, set(piped.buffers.values()))
    places = place(machine, nest)
    require_countable("bytes", sum(placement.part_bytes for placement in places.of_cell))
    return make_tasks(nest, places)


# Stages of a pipeline break no dependence, views fit what they stand for.
def require_sound(func: PrimFunc) -> Renewed:
    """The program without views of buffers, with its software pipelines injected."""
    try:
        return pipelined(lower_match_buffer(func))
    except LowerError as error:
        raise MachineError(error.refusal) from error


def _report(program: TaskProgram, timeline: Timeline, held: Occupancy) -> Report:
    machine = program.machine
    counts = timeline.counts
    busy = _busy(program, counts)
    both, dma = _overlap(program, timeline)
    traffic, accesses = _traffic(program, counts)
    memory = _memory(program, timeline, held)
    return Report(
        machine=machine.name,
        clock_hz=machine.clock_hz,
        cycles=timeline.cycles,
        bound=max(busy, default=0),
        overlap=both / dma if dma else 0.0,
        overlap_cycles=both,
        dma_cycles=dma,
        engines=_engines(program, timeline, busy),
        memory=memory,
        traffic=traffic,
        accesses=accesses,
        energy_pj=_energy(program, counts),
        findings=find(program, timeline, memory, held),
        tasks=_kinds(program, counts),
        segments=Segments(program, timeline),
        occupancy=held,
        timeline=timeline,
    )


def _busy(program: TaskProgram, counts: Mapping[int, int]) -> list[int]:
    """Busy cycles of each engine."""
    busy = [0] * len(program.machine.engines)
    for number, count in counts.items():
        variant = program.variants[number]
        busy[variant.replay.engine] += count * variant.cost.duration
    return busy


def _engines(program: TaskProgram, timeline: Timeline, busy: list[int]) -> dict[str, EngineReport]:
    tasks: Counter[int] = Counter()
    for number, count in timeline.counts.items():
        tasks[program.variants[number].replay.engine] += count
    stalls: list[Counter[str]] = [Counter() for _ in busy]
    waits: list[Counter[tuple[str, str, str]]] = [Counter() for _ in busy]
    engines = program.machine.engines
    for s in timeline.stalls:
        cycles = s.cycles * int(timeline.times[s.task])
        stalls[s.engine][s.cause] += cycles
        if s.cause == "issue":
            blamed = "", f"queue of {engines[s.by].name}"
        elif s.cause == "port":
            blamed = "", program.ports[s.cell].name
        else:
            blamed = program.places.of_cell[s.cell].buffer.name, program.templates[program.variants[s.by].template].name
        waits[s.engine][s.cause, *blamed] += cycles
    found: dict[str, EngineReport] = {}
    for number, (engine, last) in enumerate(
        zip(engines, timeline.real(timeline.free, ending=True).tolist(), strict=True)
    ):
        stall = {str(cause): stalls[number][cause] for cause in CAUSES}
        stall[IDLE] = timeline.cycles - last
        found[engine.name] = EngineReport(
            KINDS[type(engine)],
            busy[number],
            tasks[number],
            stall,
            tuple(Wait(*key, cycles) for key, cycles in sorted(waits[number].items(), key=lambda w: (-w[1], w[0]))),
        )
    return found


def _overlap(program: TaskProgram, timeline: Timeline) -> tuple[int, int]:
    """(cycles with a DMA and another engine busy, cycles with a DMA busy)."""
    if not len(timeline.numbers):
        return 0, 0
    is_dma = np.array([isinstance(e, DmaEngine) for e in program.machine.engines])[timeline.engines]
    starts, ends = timeline.starts, timeline.ends
    edges = [np.array([r.start, r.end], np.int64) for r in timeline.repeats]
    times = np.unique(np.concatenate([starts, ends, *edges]))
    busy: list[npt.NDArray[np.bool_]] = []
    for chosen in (is_dma, ~is_dma):
        delta = np.zeros(len(times), np.int64)
        np.add.at(delta, np.searchsorted(times, starts[chosen]), 1)
        np.add.at(delta, np.searchsorted(times, ends[chosen]), -1)
        busy.append(np.cumsum(delta)[:-1] > 0)
    lengths = timeline.lengths(times)
    return int(lengths[busy[0] & busy[1]].sum()), int(lengths[busy[0]].sum())


def _memory(program: TaskProgram, timeline: Timeline, held: Occupancy) -> dict[str, MemoryReport]:
    places = program.places
    allocated: Counter[str] = Counter()
    for cell, placement in enumerate(places.of_cell):
        allocated[row_name(placement.memory, placement.bank_of(cell))] += placement.part_bytes
    found: dict[str, MemoryReport] = {}
    for memory in program.machine.memories:
        for bank in range(memory.blocks):
            row = row_name(memory, bank)
            steps = held.steps[row]
            capacity = memory.capacity_bytes // memory.blocks
            peak = int(timeline.real([steps.peak_time])[0])
            found[row] = MemoryReport(
                memory.scope, capacity, steps.peak_allocated, steps.peak_live, peak, allocated[row]
            )
    return found


def _traffic(program: TaskProgram, counts: Mapping[int, int]) -> tuple[tuple[Traffic, ...], tuple[EngineAccess, ...]]:
    """Copies of DMA engines by tensor, scope and scope; what other engines access by engine and buffer."""
    places = program.places
    copied: Counter[tuple[str, str, str]] = Counter()
    accessed: Counter[tuple[str, str, str, bool]] = Counter()
    for number, count in counts.items():
        variant = program.variants[number]
        engine = program.machine.engines[variant.replay.engine]
        if not isinstance(engine, DmaEngine):
            for t in variant.cost.touched:
                accessed[engine.name, t.buffer.name, places.by_buffer[t.buffer].memory.scope, t.written] += (
                    t.size_bytes * count
                )
            continue
        (read,) = (t for t in variant.cost.touched if not t.written)
        (written,) = (t for t in variant.cost.touched if t.written)
        source, target = places.by_buffer[read.buffer].memory, places.by_buffer[written.buffer].memory
        tensor = written.buffer if target.capacity_bytes > source.capacity_bytes else read.buffer
        copied[tensor.name, source.scope, target.scope] += written.size_bytes * count
    rows = {(e, b, s): None for e, b, s, _ in accessed}
    return (
        tuple(Traffic(*key, size) for key, size in copied.items()),
        tuple(EngineAccess(*key, accessed[(*key, False)], accessed[(*key, True)]) for key in rows),
    )


def _kinds(program: TaskProgram, counts: Mapping[int, int]) -> tuple[TaskKind, ...]:
    tasks: Counter[int] = Counter()
    cycles: Counter[int] = Counter()
    for number, count in counts.items():
        variant = program.variants[number]
        tasks[variant.template] += count
        cycles[variant.template] += count * variant.cost.duration
    engines = program.machine.engines
    return tuple(
        TaskKind(t.name, engines[t.engine].name, t.choices[0].reason, tasks[t.number], cycles[t.number])
        for t in program.templates
    )


def _energy(program: TaskProgram, counts: Mapping[int, int]) -> float:
    """Bytes in and out of each memory and operations of each engine, at the machine's figures."""
    moved: Counter[str] = Counter()
    done: Counter[int] = Counter()
    for number, count in counts.items():
        variant = program.variants[number]
        done[variant.replay.engine] += variant.cost.operations * count
        for t in variant.cost.touched:
            moved[program.places.by_buffer[t.buffer].memory.name] += t.size_bytes * count
    memories = sum(m.energy_pj_per_byte * moved[m.name] for m in program.machine.memories)
    engines = sum(
        engine.energy_pj_per_operation * done[n]
        for n, engine in enumerate(program.machine.engines)
        if not isinstance(engine, DmaEngine)
    )
    return memories + engines
