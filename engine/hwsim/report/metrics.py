"""Metrics of a report: sums over the replayed tasks, weighted by the repeats that each represents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...cancellation import checkpoint
from ...ir import Buffer, build
from ...ir import dtype as dt
from ..access.placement import constant_shape, row_name
from ..access.ports import over, total_cycles
from ..machine.parts import KINDS, DmaEngine, Engine, MatrixEngine, SystolicEngine, VectorEngine
from ..replay.clocks import CAUSES, NOBODY, Cause
from ..replay.occupancy import Occupancy, occupancy
from ..replay.timeline import ReplayTimeline, moments
from ..tasks.tree import TaskProgram, Template
from .chip import chip_report
from .findings import find
from .model import (
    Bound,
    EngineAccess,
    EngineReport,
    Lost,
    MemoryReport,
    Moved,
    Report,
    Roofline,
    Segments,
    TaskKind,
    Traffic,
    Wait,
)

IDLE = "idle"
UNIT = "unit"

FLOAT_BYTES = 4
"""Lanes of a vector engine are counted as of float32."""


def report_of(program: TaskProgram, timeline: ReplayTimeline) -> Report:
    """Returns the report of a replay."""
    machine = program.machine
    counts = own = timeline.counts
    if timeline.chip is not None:
        # Those of all cores; the replayed tasks are those of the first.
        counts = {number * timeline.chip.residents: count for number, count in timeline.chip.counts.items()}
    held = occupancy(program, timeline)
    busy = busy_of(program, own)
    of_ports = (
        counts if timeline.chip is None else {n: timeline.chip.of_ports(n // timeline.chip.residents) for n in counts}
    )
    bounds = bounds_of(program, own, busy, of_ports)
    engines = _engines(program, timeline, own, busy)
    chip = None if timeline.chip is None else chip_report(program, timeline.chip, _port_waits(engines))
    both, dma = _overlap(program, timeline)
    traffic, accesses = traffic_of(program, counts)
    memory = _memory(program, timeline, held)
    return Report(
        machine=machine.name,
        clock_hz=machine.clock_hz,
        cycles=timeline.cycles,
        bounds=bounds,
        overlap=both / dma if dma else 0.0,
        overlap_cycles=both,
        dma_cycles=dma,
        engines=engines,
        memory=memory,
        traffic=traffic,
        accesses=accesses,
        conflicts=_conflicts(program, counts),
        bursts=_bursts(program, counts),
        energy=energy_of(program, counts, of_ports),
        roofline=_roofline(program, counts, of_ports, timeline.cycles),
        observed=find(program, timeline, counts, memory, held, chip),
        tasks=_kinds(program, own),
        segments=Segments(program, timeline),
        occupancy=held,
        timeline=timeline,
        caches=program.cached.counts,
        chip=chip,
    )


def _port_waits(engines: Mapping[str, EngineReport]) -> dict[str, dict[str, int]]:
    """Returns the cycles that engines waited for ports, by port and engine."""
    found: dict[str, dict[str, int]] = {}
    for name, engine in engines.items():
        for wait in engine.waits:
            if wait.cause == "port":
                found.setdefault(wait.block, {})[name] = wait.cycles
    return found


def busy_of(program: TaskProgram, counts: Mapping[int, int]) -> list[int]:
    """Returns the busy cycles of each engine, for counts of variants."""
    busy = [0] * len(program.machine.engines)
    for number, count in counts.items():
        variant = program.variants[number]
        busy[variant.engine] += count * variant.cost.duration
    return busy


def _engines(
    program: TaskProgram, timeline: ReplayTimeline, counts: Mapping[int, int], busy: list[int]
) -> dict[str, EngineReport]:
    tasks: Counter[int] = Counter()
    for number, count in counts.items():
        tasks[program.variants[number].engine] += count
    machine, units = program.machine, program.machine.units
    stalls: list[Counter[str]] = [Counter() for _ in busy]
    waits: list[Counter[tuple[str, str, str]]] = [Counter() for _ in busy]
    for (engine, cause, cell, by), cycles in _stalled(timeline).items():
        stalls[engine][cause] += cycles
        waits[engine][cause, *_blamed(program, cause, cell, by)] += cycles
    taken = [spent + stalled.total() for spent, stalled in zip(busy, stalls, strict=True)]
    last = timeline.real(timeline.free, ending=True).tolist()
    found: dict[str, EngineReport] = {}
    for number, (engine, unit) in enumerate(zip(machine.engines, units, strict=True)):
        for mate in range(len(busy)):
            if mate != number and units[mate] == unit and taken[mate]:
                waits[number][UNIT, "", machine.engines[mate].name] = taken[mate]
        stall = {str(cause): stalls[number][cause] for cause in CAUSES if cause != "flag" or program.places.tokens}
        stall[UNIT] = sum(cycles for (cause, *_), cycles in waits[number].items() if cause == UNIT)
        stall[IDLE] = timeline.cycles - last[unit]
        found[engine.name] = EngineReport(
            KINDS[type(engine)],
            busy[number],
            tasks[number],
            stall,
            tuple(Wait(*key, cycles) for key, cycles in sorted(waits[number].items(), key=lambda w: (-w[1], w[0]))),
        )
    return found


def _stalled(timeline: ReplayTimeline) -> Counter[tuple[int, Cause, int, int]]:
    """Returns stalled cycles by engine, cause, cell and responsible variant (fields of `TaskStall`)."""
    checkpoint()
    found: Counter[tuple[int, Cause, int, int]] = Counter()
    engines = timeline.engines.tolist()
    for s, cycles in zip(timeline.stalls, timeline.stalled, strict=True):
        found[engines[s.task], s.cause, s.cell, s.by] += cycles
    return found


def _blamed(program: TaskProgram, cause: Cause, cell: int, by: int) -> tuple[str, str]:
    """Returns the buffer that an engine stalls on, and the block that holds it; or "" and the name of the queue or the port."""
    if cause == "issue" and by == NOBODY:
        return "", "start of a block"
    if cause == "issue":
        return "", f"queue of {program.machine.unit_names[by]}"
    if cause == "port":
        return "", program.ports[cell].name
    return program.places.of_cell[cell].buffer.name, program.templates[program.variants[by].template].name


def _overlap(program: TaskProgram, timeline: ReplayTimeline) -> tuple[int, int]:
    """Returns (cycles with a DMA and another engine busy, cycles with a DMA busy)."""
    checkpoint()
    if not len(timeline.numbers):
        return 0, 0
    is_dma = np.array([isinstance(e, DmaEngine) for e in program.machine.engines])[timeline.engines]
    starts, ends = timeline.starts, timeline.ends
    edges = [np.array([r.start, r.end], np.int64) for r in timeline.repeats]
    times = moments(starts, ends, *edges)
    busy: list[npt.NDArray[np.bool_]] = []
    for chosen in (is_dma, ~is_dma):
        delta = np.zeros(len(times), np.int64)
        np.add.at(delta, np.searchsorted(times, starts[chosen]), 1)
        np.add.at(delta, np.searchsorted(times, ends[chosen]), -1)
        busy.append(np.cumsum(delta)[:-1] > 0)
    lengths = timeline.lengths(times)
    return int(lengths[busy[0] & busy[1]].sum()), int(lengths[busy[0]].sum())


def _memory(program: TaskProgram, timeline: ReplayTimeline, held: Occupancy) -> dict[str, MemoryReport]:
    places = program.places
    allocated: Counter[str] = Counter()
    for cell, placement in enumerate(places.of_cell):
        allocated[row_name(placement.memory, placement.bank_of(cell))] += placement.part_bytes
    found: dict[str, MemoryReport] = {}
    peaks = dict(zip(held.steps, timeline.real([s.peak_time for s in held.steps.values()]).tolist(), strict=True))
    for memory in program.machine.memories:
        for bank in range(memory.blocks):
            row = row_name(memory, bank)
            steps, use = held.steps[row], places.use[row]
            capacity = memory.capacity_bytes // memory.blocks
            found[row] = MemoryReport(
                memory.scope, capacity, use.end_bytes, use.live_bytes, steps.peak_live, peaks[row], allocated[row]
            )
    return found


def traffic_of(program: TaskProgram, counts: Mapping[int, int]) -> tuple[tuple[Traffic, ...], tuple[EngineAccess, ...]]:
    """Returns the copies of DMA engines by tensor, source and target scope, and the other accesses by engine and buffer: those of other
    engines, and biases and scales that copies read.
    """
    places = program.places
    copied: Counter[tuple[Buffer, str, str]] = Counter()
    accessed: Counter[tuple[str, str, str, bool]] = Counter()
    for number, count in counts.items():
        variant = program.variants[number]
        engine = program.machine.engines[variant.engine]
        if not isinstance(engine, DmaEngine):
            for t in variant.cost.touched:
                accessed[engine.name, t.buffer.name, places.by_buffer[t.buffer].memory.scope, t.written] += (
                    t.size_bytes * count
                )
            continue
        read, *operands = (t for t in variant.cost.touched if not t.written)
        for t in operands:
            accessed[engine.name, t.buffer.name, places.by_buffer[t.buffer].memory.scope, False] += t.size_bytes * count
        (written,) = (t for t in variant.cost.touched if t.written)
        source, target = places.by_buffer[read.buffer].memory, places.by_buffer[written.buffer].memory
        tensor = written.buffer if target.capacity_bytes > source.capacity_bytes else read.buffer
        # The elements that were read, as they are written: a padded copy writes more.
        moved = read.size_bytes // dt.size_bytes(read.buffer.dtype) * dt.size_bytes(written.buffer.dtype)
        copied[tensor, source.scope, target.scope] += moved * count
    rows = {(e, b, s): None for e, b, s, _ in accessed}
    return (
        tuple(Traffic(b.name, s, d, size, _least(program, b, size)) for (b, s, d), size in copied.items()),
        tuple(EngineAccess(*key, accessed[(*key, False)], accessed[(*key, True)]) for key in rows),
    )


def _least(program: TaskProgram, buffer: Buffer, moved: int) -> int:
    """Minimum traffic of a buffer in bytes: a parameter once, an intermediate nothing."""
    if not program.places.by_buffer[buffer].is_param:
        return 0
    size = dt.size_bytes(buffer.dtype)
    for extent in constant_shape(buffer):
        size *= extent
    return min(size, moved)


def _kinds(program: TaskProgram, counts: Mapping[int, int]) -> tuple[TaskKind, ...]:
    tasks: Counter[int] = Counter()
    cycles: Counter[int] = Counter()
    for number, count in counts.items():
        variant = program.variants[number]
        tasks[variant.template] += count
        cycles[variant.template] += count * variant.cost.duration
    engines = program.machine.engines
    return tuple(
        TaskKind(
            t.name,
            engines[t.engine].name,
            t.choices[0].reason,
            tasks[t.number],
            cycles[t.number],
            _by_block(program, t, cycles[t.number]),
        )
        for t in program.templates
    )


def _by_block(program: TaskProgram, template: Template, cycles: int) -> dict[str, int]:
    """Returns the cycles of a template for each of its blocks, in proportion to their iterations."""
    index = program.nest.index
    weights = {
        block.name: prod(build.int_value(loop.extent) or 1 for loop in index.loops_of(block.name))
        for block in template.blocks
        if index.has_block(block.name)
    }
    found: dict[str, int] = {}
    left, weight = cycles, sum(weights.values())
    for name, part in weights.items():
        found[name] = left * part // weight
        left, weight = left - found[name], weight - part
    return found


def energy_of(
    program: TaskProgram, counts: Mapping[int, int], of_ports: Mapping[int, int] | None = None
) -> dict[str, float]:
    """Energy in picojoules: the bytes in and out of each memory and the operations of each engine, at the machine's parameters. Memories
    outside of the cores are read `of_ports` times, the others as often as tasks run.
    """
    moved: Counter[str] = Counter()
    core, once = program.machine.core, of_ports or counts
    done: Counter[int] = Counter()
    for number, count in counts.items():
        variant = program.variants[number]
        done[variant.engine] += variant.cost.operations * count
        for t in variant.cost.touched:
            memory = program.places.by_buffer[t.buffer].memory
            times = once[number] if core is not None and memory.level != core.name else count
            moved[memory.name] += t.size_bytes * times
    found = {m.name: m.energy_pj_per_byte * moved[m.name] for m in program.machine.memories}
    for n, engine in enumerate(program.machine.engines):
        if not isinstance(engine, DmaEngine):
            found[engine.name] = engine.energy_pj_per_operation * done[n]
    return {name: pj for name, pj in found.items() if pj}


def bounds_of(
    program: TaskProgram, counts: Mapping[int, int], busy: list[int], of_all: Mapping[int, int] | None = None
) -> tuple[Bound, ...]:
    """Returns the work of each engine, of engines that share a unit, and of each port and bus, in cycles, the longest first. On a chip
    `counts` are the tasks of a core, and those `of_all` count for the ports of the chip; of a link counts the least of its busiest segment.
    """
    ports: Counter[str] = Counter()
    shared, kinds = program.machine.shared_levels, program.variants
    for number, count in counts.items():
        for port, cycles in kinds[number].cost.demands:
            if port.level not in shared:
                ports[port.name] += cycles * count
    if of_all and "" in shared:
        work = total_cycles(
            (*asked, count) for number, count in of_all.items() for asked in kinds[number].cost.port_work
        )
        ports.update({port.name: over(cycles, port.spread) for port, cycles in work.items() if port.level == ""})
    found = [Bound(e.name, "engine", cycles) for e, cycles in zip(program.machine.engines, busy, strict=True) if cycles]
    machine = program.machine
    for number, name in enumerate(machine.unit_names):
        shared = [cycles for unit, cycles in zip(machine.units, busy, strict=True) if unit == number and cycles]
        found += [Bound(name, "unit", sum(shared))] if len(shared) > 1 else []
    found += [Bound(name, "port", cycles) for name, cycles in ports.items()]
    return tuple(sorted(found, key=lambda b: -b.cycles))


def _conflicts(program: TaskProgram, counts: Mapping[int, int]) -> tuple[Lost, ...]:
    """Returns the cycles lost to bank conflicts, by block and buffers, the most first."""
    lost: dict[tuple[str, tuple[str, ...], str, str], list[int]] = {}
    for number, count in counts.items():
        variant = program.variants[number]
        for c in variant.cost.conflicts:
            key = program.templates[variant.template].name, tuple(b.name for b in c.buffers), c.kind, c.memory
            row = lost.setdefault(key, [0, 1, 0])
            row[0] += c.accesses * count
            row[1] = max(row[1], c.degree)
            row[2] += c.cycles * count
    return tuple(sorted((Lost(*key, *row) for key, row in lost.items()), key=lambda row: -row.cycles))


def _bursts(program: TaskProgram, counts: Mapping[int, int]) -> tuple[Moved, ...]:
    """Returns the bytes that vectors move in whole bursts, by block and buffer, the most first."""
    moved: dict[tuple[str, str, Literal["read", "write"], str], list[int]] = {}
    for number, count in counts.items():
        variant = program.variants[number]
        for s in variant.cost.spreads:
            memory = program.places.by_buffer[s.buffer].memory.name
            key = program.templates[variant.template].name, s.buffer.name, "write" if s.written else "read", memory
            row = moved.setdefault(key, [0, 0, 0])
            for n, amount in enumerate((s.accesses, s.wanted_bytes, s.moved_bytes)):
                row[n] += amount * count
    return tuple(sorted((Moved(*key, *row) for key, row in moved.items()), key=lambda row: -row.moved_bytes))


def _roofline(program: TaskProgram, counts: Mapping[int, int], of_ports: Mapping[int, int], cycles: int) -> Roofline:
    """Roofline of the program: operations of the computing engines over bytes in and out of the largest memory."""
    machine = program.machine
    far = machine.far
    operations = moved = 0
    for number, count in counts.items():
        variant = program.variants[number]
        if not isinstance(machine.engines[variant.engine], DmaEngine):
            operations += variant.cost.operations * count
        far_bytes = (t.size_bytes for t in variant.cost.touched if program.places.by_buffer[t.buffer].memory is far)
        moved += sum(far_bytes) * of_ports[number]
    width = far.read_bytes_per_cycle + (far.write_bytes_per_cycle if far.ports == "separate" else 0)
    width *= machine.cores // machine.cores_around(far.level)
    return Roofline(operations, moved, cycles, machine.cores * _peak(program), width)


def _peak(program: TaskProgram) -> float:
    """Peak operations per cycle of the fastest engine that has work."""
    engines = program.machine.engines
    return max((operations_per_cycle(engines[template.engine]) for template in program.templates), default=0.0)


def operations_per_cycle(engine: Engine) -> float:
    """Peak operations per cycle of a computing engine, at its native element width; 0 for a DMA."""
    match engine:
        case MatrixEngine():
            return 2 * engine.tile_rows * engine.tile_columns * engine.tile_depth / engine.cycles_per_tile
        case SystolicEngine():
            return 2 * engine.rows * engine.columns
        case VectorEngine():
            return engine.vector_bytes / FLOAT_BYTES / engine.cycles_per_operation
        case DmaEngine():
            return 0.0
        case _:
            return 1 / engine.cycles_per_operation
