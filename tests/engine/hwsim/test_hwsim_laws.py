"""Laws of reports, on random programs under random schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import prod

from hypothesis import assume, given
from hypothesis import strategies as st
from support.profile import few
from support.programs.loop_programs import loop_programs
from support.programs.random_programs import programs
from support.programs.sources import matmul
from support.schedules.calls import apply, calls
from support.schedules.integers import value
from support.simulator.machines import only, roomy

from tilewright.engine.hwsim import MachineError, Report, load_machine, simulate
from tilewright.engine.hwsim.replay.steady import replay_tasks
from tilewright.engine.hwsim.replay.timeline import timeline_of
from tilewright.engine.hwsim.simulate import tasks_of
from tilewright.engine.hwsim.tasks.tree import TaskLoop
from tilewright.engine.ir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
    build,
    dtype,
    walk,
)
from tilewright.engine.lower import PIPELINE_KEYS, LowerError, allocations, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse


@st.composite
def scheduled(draw: st.DrawFn, most: int = 6) -> PrimFunc:
    """A random program after random calls."""
    sch = Schedule(draw(programs()))
    for _ in range(draw(st.integers(0, most))):
        try:
            apply(sch, draw(calls(sch)))
        except ScheduleError:
            continue
    assume(_lowers(sch.func))
    return sch.func


def _lowers(func: PrimFunc) -> bool:
    """Whether annotations of earlier calls, such as a pipeline, are still valid after later ones."""
    try:
        lower(func)
    except LowerError:
        return False
    return True


def stores_run(func: PrimFunc) -> Counter[str]:
    """The number of stores to each buffer, without initialisations, by running every loop. In a pipeline these count as stores."""
    loops = [n for n in walk(func.body) if isinstance(n, For)]
    assume(not any(key in PIPELINE_KEYS for loop in loops for key, _ in loop.annotations))
    found: Counter[str] = Counter()

    def run(stmt: Stmt, env: dict) -> None:
        match stmt:
            case SeqStmt():
                for s in stmt.seq:
                    run(s, env)
            case For():
                low, count = value(stmt.min, env), value(stmt.extent, env)
                for i in range(low, low + count):
                    run(stmt.body, {**env, stmt.loop_var: i})
            case BlockRealize():
                if value(stmt.predicate, env):
                    bound = {
                        iv.var: value(v, env) for iv, v in zip(stmt.block.iter_vars, stmt.iter_values, strict=True)
                    }
                    run(stmt.block.body, {**env, **bound})
            case IfThenElse():
                if value(stmt.condition, env):
                    run(stmt.then_case, env)
                elif stmt.else_case is not None:
                    run(stmt.else_case, env)
            case LetStmt():
                # Loads decide no loop and no branch in these programs.
                known = not any(isinstance(n, BufferLoad) for n in walk(stmt.value))
                run(stmt.body, {**env, stmt.var: value(stmt.value, env)} if known else env)
            case BufferStore():
                found[views.get(stmt.buffer, stmt.buffer).name] += 1
            case Evaluate(value=Call(op="assume")):
                pass
            case _:
                assert build.is_noop(stmt)

    matches = [m for n in walk(func.body) if isinstance(n, Block) for m in n.match_buffers]
    views = {m.buffer: m.source.buffer for m in matches}
    while any(source in views for source in views.values()):
        views = {buffer: views.get(source, source) for buffer, source in views.items()}
    run(func.body, {})
    return found


def written_bytes(report: Report) -> Counter[str]:
    found: Counter[str] = Counter()
    for access in report.accesses:
        found[access.buffer] += access.written_bytes
    return +found


def threads_meet(func: PrimFunc) -> bool:
    """Whether threads may execute once what the loops repeat: virtual threads, and nested loops of one tag."""

    def tags(stmt: Stmt | None) -> list[str]:
        return [n.thread_tag for n in walk(stmt) if isinstance(n, For) and n.thread_tag] if stmt is not None else []

    loops = [n for n in walk(func.body) if isinstance(n, For) and n.thread_tag]
    return any(n.thread_tag.startswith("vthread") or n.thread_tag in tags(n.body) for n in loops if n.thread_tag)


def sizes(func: PrimFunc) -> dict[str, int]:
    buffers = [*func.buffers, *(b for n in walk(func.body) if isinstance(n, Block) for b in n.alloc_buffers)]
    return {b.name: dtype.size_bytes(b.dtype) for b in buffers}


@few(4)
@given(scheduled())
def test_law_every_store_is_in_exactly_one_task(func: PrimFunc):
    """On a machine with only a scalar engine, the bytes written are those of the executed stores, with edges, predicates and layouts."""
    size = sizes(func)
    wanted = Counter({name: count * size[name] for name, count in stores_run(func).items()})
    written = written_bytes(simulate(func, only(roomy(), "scalar")))
    assert written <= wanted if threads_meet(func) else written == wanted


@few(4)
@given(scheduled())
def test_law_copies_move_the_bytes_of_their_stores(func: PrimFunc):
    size = sizes(func)
    report = simulate(func, only(roomy(), "dma", "scalar"))
    moved = sum(t.bytes for t in report.traffic) + sum(written_bytes(report).values())
    wanted = sum(count * size[name] for name, count in stores_run(func).items())
    assert moved <= wanted if threads_meet(func) else moved == wanted


@few(4)
@given(scheduled())
def test_law_buffers_have_the_sizes_and_slots_of_lowering(func: PrimFunc):
    """Once for each thread that has a private copy."""
    placed = {p.buffer.name: p for p in tasks_of(func, roomy()).places.placements if not p.is_param}
    for allocation in allocations(func):
        placement, lowered = placed[allocation.buffer.name], allocation.lowered
        assert placement.slots == allocation.slots
        copies = prod(loop.extent for loop in placement.site.threads)
        assert placement.total_bytes == copies * _bytes_of(lowered)
        if lowered.axis_separators:
            assert placement.slots * placement.parts == lowered.shape[0].value


@few(4)
@given(scheduled())
def test_law_tasks_are_those_of_every_iteration_in_program_order(func: PrimFunc):
    """By walking every loop; the replay decides which iterations are equivalent or empty."""
    program = tasks_of(func, roomy())

    def walked(nodes, at: dict) -> Iterator[tuple[int, tuple[int, ...]]]:
        for node in nodes:
            if isinstance(node, TaskLoop):
                for indices in product(*(range(loop.extent) for loop in node.loops)):
                    yield from walked(
                        node.children, {**at, **dict(zip((loop.var for loop in node.loops), indices, strict=True))}
                    )
            elif (number := node.variants.at(at)) >= 0:
                yield number, tuple(at.values())

    every = list(walked(program.tree, {}))
    line = simulate(func, roomy(), whole=0).timeline
    fresh = tasks_of(func, roomy())
    played = timeline_of(fresh, replay_tasks(fresh, whole=0))
    unrolled = [(fresh.variants[int(played.numbers[r.row])].cost, r.place) for r in played.unrolled()]
    assert [(c.duration, c.operations, place) for c, place in unrolled] == [
        (program.variants[n].cost.duration, program.variants[n].cost.operations, place) for n, place in every
    ]
    assert int(line.times.sum()) == len(every)


@few(4)
@given(scheduled(), st.sampled_from(["dual-bank-npu", "matrix-vector-npu", "vta", "gpu-sm", "roomy", "tight"]))
def test_law_reports_do_not_depend_on_skipping(func: PrimFunc, name: str):
    own = {"roomy": roomy(), "tight": roomy().replace("pad.capacity_bytes", 32)}
    machine = own[name] if name in own else load_machine(name)
    try:
        plain = simulate(func, machine, whole=10**9)
    except MachineError:
        return
    assert simulate(func, machine, whole=0).to_json() == plain.to_json()


def assert_adds_up(report: Report) -> None:
    assert report.cycles >= report.bound
    assert 0 <= report.overlap_cycles <= report.dma_cycles <= report.cycles
    for engine in report.engines.values():
        assert engine.busy + sum(engine.stall.values()) == report.cycles
        assert all(cycles >= 0 for cycles in engine.stall.values())
        assert sum(w.cycles for w in engine.waits) == sum(engine.stall.values()) - engine.stall["idle"]
    tasks = list(report.segments.between())  # repeats one by one
    assert sum(e.tasks for e in report.engines.values()) == len(tasks)
    assert max((s.ready for s in tasks), default=0) == report.cycles


@few(4)
@given(scheduled())
def test_law_reports_add_up_and_are_deterministic(func: PrimFunc):
    report = simulate(func, roomy())
    assert_adds_up(report)
    assert simulate(func, roomy()).to_json() == report.to_json()


@few(4)
@given(scheduled())
def test_law_an_engine_does_one_task_at_a_time_in_program_order(func: PrimFunc):
    free: dict[str, int] = {}
    for s in simulate(func, roomy()).segments:
        assert free.get(s.engine, 0) <= s.start < s.end <= s.ready
        free[s.engine] = s.end


@few(4)
@given(scheduled())
def test_law_memory_holds_the_live_tiles(func: PrimFunc):
    report = simulate(func, roomy())
    lives = report.occupancy.tiles
    for name, steps in report.occupancy.steps.items():
        memory = report.memory[name]
        assert steps.times == sorted(set(steps.times)) and steps.times[0] == 0
        assert steps.allocated[-1] == steps.live[-1] == 0 or report.cycles == 0
        assert memory.peak_live_bytes <= max(steps.allocated) <= memory.peak_bytes <= memory.allocated_bytes
        assert memory.used_bytes <= memory.peak_bytes
        assert all(0 <= live <= allocated for live, allocated in zip(steps.live, steps.allocated, strict=True))
        params = sum(_bytes_of(b) for b in func.buffers) if name == "global" else 0
        for time, live in zip(steps.times[:-1], steps.live[:-1], strict=True):
            held = sum(t.size_bytes for t in lives if t.row == name and t.start <= time < t.end)
            assert live == held + params
    for tile in lives:
        assert tile.start <= tile.filled <= tile.end


def _bytes_of(buffer) -> int:
    size = dtype.size_bytes(buffer.dtype)
    for extent in buffer.shape:
        size *= extent.value
    return size


@few(4)
@given(scheduled(), st.sampled_from(["memories.ddr.read_bytes_per_cycle", "memories.ddr.write_bytes_per_cycle"]))
def test_law_more_bandwidth_is_never_slower(func: PrimFunc, port: str):
    """Because every engine keeps its order: start times are monotone in durations."""
    slow = roomy().replace("engines.dma.bytes_per_cycle", 64)
    assert simulate(func, slow.replace(port, 32)).cycles <= simulate(func, slow).cycles


@few(4)
@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 40), st.integers(1, 16))
def test_law_a_second_slot_is_never_slower_on_one_chain(steps: int, tiles: int, mac: int, bandwidth: int):
    machine = roomy().replace("matrix.cycles_per_tile", mac).replace("ddr.read_bytes_per_cycle", bandwidth)

    def cycles(double: bool) -> int:
        sch = Schedule(parse(matmul(8 * tiles, 8, 8 * steps)).program)
        i, j, k = sch.get_loops("C")
        io, ii = sch.split(i, factors=[None, 8])
        ko, ki = sch.split(k, factors=[None, 8])
        sch.reorder(io, ko, ii, j, ki)
        for n in (0, 1):
            copy = sch.cache_read("C", n, "local")
            sch.compute_at(copy, ko)
            if double and steps * tiles > 1:
                sch.double_buffer(copy)
        sch.reverse_compute_at(sch.cache_write("C", 0, "local"), io)
        return simulate(sch.func, machine).cycles

    assert cycles(True) <= cycles(False)


@given(loop_programs())
def test_law_programs_are_reported_or_refused(func: PrimFunc):
    assume(
        not any(isinstance(n, For) and any(isinstance(m, BufferLoad) for m in walk(n.extent)) for n in walk(func.body))
    )
    try:
        report = simulate(func, roomy())
    except (MachineError, LowerError) as refused:
        assert refused.code and refused.refusal.message
        return
    assert_adds_up(report)
