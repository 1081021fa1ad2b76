"""Time of a report: against SCALE-Sim and ZigZag on the same GEMMs, from 10^3 to 10^12 tiles, from 512^3 to 4096^3 and stage by stage, for
the examples, for matmuls behind caches; and the tasks per second of a replay that skips nothing.

    python bench/simulate.py [beside] [growth] [cubes] [examples] [caches] [chips] [replay]
    python bench/simulate.py beside --scalesim scalesim/bin/python --zigzag zigzag/bin/python --size 512

The other tools are timed in this run if their Pythons are given (`record_scalesim.py` and `record_zigzag.py` explain their setup);
otherwise their seconds are recorded ones, marked with their machine. SCALE-Sim simulates every operand element, cycle by cycle;
ZigZag evaluates a formula; neither has a timeline. Times are processor time, on this machine in this run: compare the ratios.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import tilewright
from tilewright.app.document import evaluate, read_document
from tilewright.engine.hwsim import MAX_TASKS, Machine, MachineError, load_machine, read_machine, simulate
from tilewright.engine.hwsim.access.bank_conflicts import cached_conflicts
from tilewright.engine.hwsim.access.placement import place
from tilewright.engine.hwsim.replay.clocks import Clocks
from tilewright.engine.hwsim.replay.occupancy import occupancy
from tilewright.engine.hwsim.replay.steady import clocks_of, replay_tasks
from tilewright.engine.hwsim.replay.timeline import timeline_of
from tilewright.engine.hwsim.simulate import tasks_of
from tilewright.engine.hwsim.tasks.nest import read_nest
from tilewright.engine.hwsim.tasks.tree import make_tasks
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lower import planned
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

T = TypeVar("T")
HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "static" / "examples"
ROUNDS = 20
RECORDED = HERE.parent / "tests" / "conformance" / "recorded"
DATAFLOWS = {"os": "output_stationary", "ws": "weight_stationary", "is": "input_stationary"}
TILE = (64, 64, 128)

SOURCE = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({k}, {n}), "{dtype}"), C: T.Buffer(({m}, {n}), "{sum}")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.{sum}(0)
            C[vi, vj] = C[vi, vj] + T.Cast("{sum}", A[vi, vk]) * T.Cast("{sum}", B[vk, vj])
"""

ARRAY = """
name = "array-32"
clock_hz = 1_000_000_000

[memories.sram]
scopes = ["global", "local.vtcm", "local.acc"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = 1_048_576
write_bytes_per_cycle = 1_048_576

[engines.dma]
kind = "dma"
reads = ["sram"]
writes = ["sram"]
bytes_per_cycle = 1_048_576

[engines.array]
kind = "systolic"
reads = ["sram"]
writes = ["sram"]
rows = 32
columns = 32
dataflow = "{dataflow}"
element_bytes = 1
"""


def matmul(m: int, n: int, k: int, dtype: str = "int8", total: str = "int32") -> PrimFunc:
    program = parse(SOURCE.format(m=m, n=n, k=k, dtype=dtype, sum=total)).program
    assert isinstance(program, PrimFunc)
    return program


def tiled_matmul(program: PrimFunc, tile: tuple[int, int, int] = TILE) -> PrimFunc:
    """A tiled matmul, operands staged to two slots each, the result copied out once."""
    sch = Schedule(program)
    loops = [sch.split(loop, factors=[None, size]) for loop, size in zip(sch.get_loops("C"), tile, strict=True)]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    copies = [sch.cache_read("C", operand, "local.vtcm") for operand in (0, 1)]
    out = sch.cache_write("C", 0, "local.acc")
    for copy in copies:
        sch.compute_at(copy, loops[2][0])
        sch.double_buffer(copy)
    sch.reverse_compute_at(out, loops[1][0])
    return sch.func


def half_tiled(m: int, n: int, k: int) -> PrimFunc:
    """Half-precision operands, as on dual-bank-npu."""
    return tiled_matmul(matmul(m, n, k, "float16", "float32"))


def timed(function: Callable[..., T], *arguments: Any, rounds: int = 3) -> tuple[T, float]:
    """The result, and the shortest of some runs in seconds of processor time, which excludes other load."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        result = function(*arguments)
        best = min(best, time.process_time() - start)
    return result, best


def output_of(python: str, script: str, *arguments: object) -> Any:
    """The output of a recording script in its own environment."""
    command = [python, str(HERE / script), *map(str, arguments)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def recording(name: str) -> dict[str, Any]:
    return json.loads((RECORDED / name).read_text())


def beside(sizes: list[int], scalesim: str | None, zigzag: str | None) -> None:
    """One GEMM on a 32 x 32 array: cycles and seconds of each tool; ZigZag's for the tiles of `tiled_matmul`."""
    known = recording("scalesim_large.json")
    print(f"SCALE-Sim {known['version']}: {'this run' if scalesim else 'recorded on ' + known['machine']}")
    print("    n dataflow  whole ms  tiled ms     cycles  SCALE-Sim's last cycle  SCALE-Sim s  / whole  / tiled")
    for n in sizes:
        whole, tiled = matmul(n, n, n), tiled_matmul(matmul(n, n, n))
        for short, dataflow in DATAFLOWS.items():
            machine = read_machine(ARRAY.format(dataflow=dataflow), "array.toml")
            report, one = timed(simulate, whole, machine)
            _, many = timed(simulate, tiled, machine)
            if scalesim is not None:
                found = [output_of(scalesim, "record_scalesim.py", "--print", 32, 32, short, n, n, n)]
            else:
                found = [r for r in known["rows"] if (r["n"], r["dataflow"]) == (n, short)]
            there = f"{'not recorded':>23}"
            if found:
                cycles, seconds = found[0]["compute_cycles"], found[0]["seconds"]
                there = f"{cycles:23} {seconds:12.1f} {seconds / one:8.0f} {seconds / many:8.0f}"
            print(f"{n:5} {short:8} {one * 1e3:9.1f} {many * 1e3:9.1f} {report.cycles:10} {there}", flush=True)
    times = recording("zigzag_times.json")
    rows = output_of(zigzag, "record_zigzag.py", "--times", "--print-only") if zigzag else times["rows"]
    imported, *gemms = rows
    print(
        f"\nZigZag {times['version']}: {'this run' if zigzag else 'recorded on ' + times['machine']}; its import takes",
        imported["seconds"],
    )
    print("    n  tiled ms  ZigZag s, mapping given  ZigZag s, mapping searched")
    machine = load_machine("dual-bank-npu")
    for row in gemms:
        func = half_tiled(row["n"], row["n"], row["n"])
        _, here = timed(simulate, func, machine)
        print(f"{row['n']:5} {here * 1e3:9.1f} {row['seconds']:24.3f} {row['search_seconds']:27.3f}", flush=True)


def growth(most: int) -> None:
    """Tiles of 64 x 64 x 128 on dual-bank-npu, ten times more from row to row."""
    machine = load_machine("dual-bank-npu")
    rows: list[tuple[int, list[int], PrimFunc]] = []
    for exponent in range(3, most + 1):
        trips = [10 ** ((exponent + i) // 3) for i in range(3)]
        rows.append((exponent, trips, half_tiled(*(trip * size for trip, size in zip(trips, TILE, strict=True)))))
    times = in_turns([partial(reported, func, machine) for _, _, func in rows])
    print("10^x tiles      trips (m, n, k)             cycles  report ms")
    for (exponent, trips, func), seconds in zip(rows, times, strict=True):
        print(f"{exponent:10} {trips!s:>20} {reported(func, machine):>18} {seconds * 1e3:10.1f}", flush=True)


def reported(func: PrimFunc, machine: Machine) -> str:
    """The cycles, or the reason why there are none."""
    try:
        return str(simulate(func, machine).cycles)
    except MachineError as error:
        return error.refusal.code


def in_turns(functions: Sequence[Callable[[], object]]) -> list[float]:
    """The shortest of some runs of each, in seconds of processor time, measured alternately: other load slows all of them."""
    best = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        best = [min(known, timed(function, rounds=1)[1]) for known, function in zip(best, functions, strict=True)]
    return best


def cubes() -> None:
    """n^3 on dual-bank-npu: the stages of a report, in ms. A notebook already has the plan; the last column includes it."""
    machine = load_machine("dual-bank-npu")
    sizes = (256, 512, 1024, 2048, 4096)
    funcs = [half_tiled(n, n, n) for n in sizes]
    reports = in_turns([partial(simulate, func, machine) for func in funcs])
    print("    n    tasks  played     plan     read    tasks     play  timeline  occupancy   report")
    for n, func, whole in zip(sizes, funcs, reports, strict=True):
        plan, planning = timed(planned, func)
        nest, reading = timed(read_nest, plan.func)
        program, making = timed(lambda func=func, nest=nest: make_tasks(func, nest, place(machine, nest)))
        played, playing = timed(replay_tasks, program)
        timeline, lining = timed(timeline_of, program, played)
        _, holding = timed(occupancy, program, timeline)
        stages = (planning, reading, making, playing, lining, holding, whole)
        count = f"{int(timeline.times.sum()):9} {len(played.places):7}"
        print(f"{n:5}{count}", "".join(f"{seconds * 1e3:9.1f}" for seconds in stages), flush=True)


def examples() -> None:
    """The examples, the programs of docs/seeds.md and others, in ms: the plan, which notebook and lowering share, then the report after it.

    "first" is with an empty cache of address patterns, as after a start; "again" as after each step in a notebook."""
    print("example                       tasks  played     plan    first    again")
    for path in sorted(EXAMPLES.glob("*.py")):
        notebook = tilewright.load(path)
        assert notebook.schedule is not None
        func = notebook.schedule.described
        plan, planning = timed(planned, func, rounds=ROUNDS)
        reported = partial(simulate, func, notebook.machine, known_plan=plan)
        first = min(timed_cold(reported) for _ in range(ROUNDS))
        report, again = timed(reported, rounds=ROUNDS)
        tasks = sum(t.tasks for t in report.tasks)
        cells = "".join(f"{seconds * 1e3:9.1f}" for seconds in (planning, first, again))
        print(f"{path.stem:28} {tasks:6} {len(report.segments):7}{cells}", flush=True)


def caches() -> None:
    """n^3 of float32 behind the caches of cpu-core, as written and in tiles of 32^3: accesses, simulated ones, misses."""
    machine = load_machine("cpu-core")
    print("    n  tile       accesses  simulated     L1 misses     L2 misses     L3 misses   seconds")
    for n in (128, 256, 512, 1024):
        for tile in (0, 32):
            sch = Schedule(matmul(n, n, n, "float32", "float32"))
            if tile:
                loops = [sch.split(loop, factors=[None, tile]) for loop in sch.get_loops("C")]
                sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
            report, seconds = timed(partial(simulate, sch.func, machine, max_accesses=1 << 25))
            found = report.caches
            assert found is not None
            totals = [found.total(cache.name) for cache in machine.caches]
            missed = [total.read_misses + total.write_misses for total in totals]
            cells = "".join(f" {count:13,}" for count in missed)
            print(f"{n:5} {tile or '':5} {found.accesses:14,} {found.simulated:10,}{cells} {seconds:9.2f}", flush=True)


def chips() -> None:
    """A GEMM in tiles of 128 x 128 x 32 on chips with SMs of an A100, as `tilelang_gemm_a100`: cost by cores, with 9 blocks each, and by
    blocks on 108 cores. The bandwidth grows with the cores."""
    text = (EXAMPLES / "tilelang_gemm_a100.py").read_text(encoding="utf-8")
    print("  cores     blocks         cycles  replayed  exact   seconds  times the first")
    first = 0.0
    for cores, blocks in (
        (1, 9),
        (16, 16 * 9),
        (132, 132 * 9),
        (1024, 1024 * 9),
        (108, 10**3),
        (108, 10**4),
        (108, 10**6),
    ):
        document = read_document(text.replace("M=4096, N=4096", f"M=128, N={128 * blocks}"))
        schedule = evaluate(document).schedule
        assert schedule is not None
        machine = load_machine("a100").replace("levels.sm.count", cores)
        for key in ("read_bytes_per_cycle", "write_bytes_per_cycle"):
            machine = machine.replace(f"memories.hbm.{key}", 47 * cores)
        plan = planned(schedule.func)
        report, seconds = timed(partial(simulate, schedule.func, machine, known_plan=plan, whole=0), rounds=ROUNDS)
        first = first or seconds
        found = f"{report.cycles:14,} {len(report.segments):9,}  {'no' if report.unknown else 'yes':5}"
        print(f"{cores:7,} {blocks:10,} {found} {seconds:9.4f} {seconds / first:8.2f}", flush=True)


def timed_cold(function: Callable[[], object]) -> float:
    cached_conflicts.cache_clear()
    return timed(function, rounds=1)[1]


def replay() -> None:
    """Every task replayed, nothing skipped: with clocks alone, and as in reports, with shared ports. "waited" is the share of tasks that
    wait for bursts of others."""
    print("                                  tasks      cycles  clocks Mtask/s  ports  waited  with ports Mtask/s")
    machine = load_machine("dual-bank-npu")
    for n in (512, 1024, 2048):
        func = half_tiled(n, n, n)
        replayed(f"matmul {n}", func, machine)
        replayed(f"matmul {n}, one port of vtcm", func, machine.replace("memories.vtcm.ports", "shared"))
    for name in ("vta_gemm", "gemmini_gemm"):
        notebook = tilewright.load(EXAMPLES / f"{name}.py")
        assert notebook.schedule is not None and notebook.machine is not None
        replayed(name, notebook.schedule.described, notebook.machine)


def replayed(name: str, func: PrimFunc, machine: Machine) -> None:
    program = tasks_of(func, machine)
    numbers = replay_tasks(program, whole=MAX_TASKS).clocks.numbers
    table, count = [v.replay for v in program.variants], len(numbers)
    plain, one = timed(lambda: played(Clocks(table, machine.queues, len(program.places.of_cell)), numbers))
    both, two = timed(lambda: played(clocks_of(program, table), numbers))
    clocks = replay_tasks(program, whole=MAX_TASKS).clocks
    waited = sum(stall.cause == "port" for stall in clocks.stalls) / count
    figures = f"{count / one / 1e6:15.2f} {len(program.ports):6} {waited:6.0%} {count / two / 1e6:19.2f}"
    print(f"{name:30} {count:8} {both:11} {figures}", flush=True)
    assert plain <= both


def played(clocks: Clocks, numbers: list[int]) -> int:
    issue = clocks.issue
    for number in numbers:
        issue(number)
    return clocks.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "tables",
        nargs="*",
        help="beside, growth, cubes, examples, caches, chips, replay; all of them when none is named",
    )
    parser.add_argument("--scalesim", metavar="PYTHON", help="the Python of an environment with SCALE-Sim")
    parser.add_argument("--zigzag", metavar="PYTHON", help="the Python of an environment with ZigZag")
    parser.add_argument("--size", type=int, nargs="*", default=[512, 1024], help="n of the GEMMs beside SCALE-Sim")
    parser.add_argument("--most", type=int, default=12, help="growth: the largest power of ten")
    args = parser.parse_args()
    tables = args.tables or ["beside", "growth", "cubes", "examples", "caches", "chips", "replay"]
    if "beside" in tables:
        beside(args.size, args.scalesim, args.zigzag)
    if "growth" in tables:
        growth(args.most)
    if "cubes" in tables:
        cubes()
    if "examples" in tables:
        examples()
    if "caches" in tables:
        caches()
    if "chips" in tables:
        chips()
    if "replay" in tables:
        replay()


if __name__ == "__main__":
    main()
