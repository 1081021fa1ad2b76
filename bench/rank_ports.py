"""The port model of compiled code on this computer: its cycles and the simulator's against measured times, for random schedules.

    python bench/rank_ports.py OUT.json               # seven kernels, 10 schedules each: needs TVM and llvm-mca
    python bench/rank_ports.py OUT.json --table       # what it wrote as Markdown

Schedules are drawn at random: splits of all loops, an order of them, vectorized and unrolled inner loops. Times are processor time, the
median of up to 21 samples of alternating rounds (`engine/measure`). The clock is measured by a loop of dependent additions.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import Block, For, IRModule, PrimFunc, TilewrightError, build, walk
from tilewright.engine.measure import Candidate, kendall_tau, measure
from tilewright.engine.measure.ports import clock_hz, find_mca, port_cycles
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

HEAD = "from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\n"
KERNELS = {
    "matmul": """def f(A: T.Buffer((48, 64), "float32"), B: T.Buffer((64, 80), "float32"), C: T.Buffer((48, 80), "float32")):
    for i, j, k in T.grid(48, 80, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    "convolution": """def f(A: T.Buffer((10, 10, 16), "float32"), B: T.Buffer((3, 3, 16, 32), "float32"),
      C: T.Buffer((8, 8, 32), "float32")):
    for y, x, f, dy, dx, c in T.grid(8, 8, 32, 3, 3, 16):
        with T.sblock("C"):
            vy, vx, vf, vdy, vdx, vc = T.axis.remap("SSSRRR", [y, x, f, dy, dx, c])
            with T.init():
                C[vy, vx, vf] = T.float32(0)
            C[vy, vx, vf] = C[vy, vx, vf] + A[vy + vdy, vx + vdx, vc] * B[vdy, vdx, vc, vf]
""",
    "depthwise": """def f(A: T.Buffer((18, 18, 64), "float32"), B: T.Buffer((3, 3, 64), "float32"), C: T.Buffer((16, 16, 64), "float32")):
    for y, x, c, dy, dx in T.grid(16, 16, 64, 3, 3):
        with T.sblock("C"):
            vy, vx, vc, vdy, vdx = T.axis.remap("SSSRR", [y, x, c, dy, dx])
            with T.init():
                C[vy, vx, vc] = T.float32(0)
            C[vy, vx, vc] = C[vy, vx, vc] + A[vy + vdy, vx + vdx, vc] * B[vdy, vdx, vc]
""",
    "transpose": """def f(A: T.Buffer((160, 192), "float32"), C: T.Buffer((192, 160), "float32")):
    for i, j in T.grid(192, 160):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj, vi]
""",
    "stencil": """def f(A: T.Buffer((98, 162), "float32"), C: T.Buffer((96, 160), "float32")):
    for i, j in T.grid(96, 160):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = (A[vi, vj + 1] + A[vi + 2, vj + 1] + A[vi + 1, vj] + A[vi + 1, vj + 2]) * T.float32(0.25) + A[vi + 1, vj + 1]
""",
    "softmax": """def f(A: T.Buffer((16, 256), "float32"), C: T.Buffer((16, 256), "float32")):
    top = T.alloc_buffer((16,), "float32")
    part = T.alloc_buffer((16, 256), "float32")
    total = T.alloc_buffer((16,), "float32")
    for i, k in T.grid(16, 256):
        with T.sblock("top"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                top[vi] = T.float32(-3e38)
            top[vi] = T.max(top[vi], A[vi, vk])
    for i, j in T.grid(16, 256):
        with T.sblock("part"):
            vi, vj = T.axis.remap("SS", [i, j])
            part[vi, vj] = T.exp(A[vi, vj] - top[vi])
    for i, k in T.grid(16, 256):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + part[vi, vk]
    for i, j in T.grid(16, 256):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = part[vi, vj] / total[vi]
""",
    "layer norm": """def f(A: T.Buffer((16, 256), "float32"), C: T.Buffer((16, 256), "float32")):
    total = T.alloc_buffer((16,), "float32")
    square = T.alloc_buffer((16,), "float32")
    for i, k in T.grid(16, 256):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + A[vi, vk]
    for i, k in T.grid(16, 256):
        with T.sblock("square"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                square[vi] = T.float32(0)
            square[vi] = square[vi] + A[vi, vk] * A[vi, vk]
    for i, j in T.grid(16, 256):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = (A[vi, vj] - total[vi] / T.float32(256)) / T.sqrt(square[vi] / T.float32(256) + T.float32(1e-5))
""",
}  # fmt: skip
SCHEDULES = 10
MACHINE = "cpu-core"


def program(text: str) -> PrimFunc:
    found = parse(HEAD + text).program
    func = found.functions[0] if isinstance(found, IRModule) else found
    assert isinstance(func, PrimFunc)
    return func


def drawn(func: PrimFunc, seed: int) -> Schedule:
    """A random schedule: splits and an order of the loops of each block, inner ones vectorized or unrolled; without refused calls."""
    dice = random.Random(seed)
    schedule = Schedule(func)
    for block in names(func):
        loops: list[Any] = []
        for loop in schedule.get_loops(block):
            extent = build.int_value(schedule.index.loop(loop).extent) or 1
            factors = [f for f in (2, 4, 5, 7, 8, 16, 32, 64) if extent % f == 0 and f < extent]
            if factors and dice.random() < 0.7:
                loops += schedule.split(loop, [None, dice.choice(factors)])
            else:
                loops.append(loop)
        dice.shuffle(loops)
        attempt(schedule, "reorder", *loops)
        order = schedule.get_loops(block)
        if dice.random() < 0.6:
            attempt(schedule, "vectorize", order[-1])
        if len(order) > 1 and dice.random() < 0.4:
            attempt(schedule, "unroll", order[-2])
    return schedule


def names(func: PrimFunc) -> list[str]:
    return [n.name for n in walk(func.body) if isinstance(n, Block) and n.name not in ("root", "")]


def attempt(schedule: Schedule, call: str, *arguments: Any) -> None:
    with suppress(TilewrightError):
        getattr(schedule, call)(*arguments)


def small(func: PrimFunc) -> bool:
    """Whether unrolled and vectorized loops stay small enough to compile."""
    size = 1
    for loop in walk(func.body):
        if isinstance(loop, For) and loop.kind in ("unrolled", "vectorized"):
            size = max(size, build.int_value(loop.extent) or 1)
    return size <= 64


def ranked(name: str, text: str, cpu: str, mca: str) -> dict[str, Any]:
    func = program(text)
    schedules: list[Schedule] = []
    seed = 0
    while len(schedules) < SCHEDULES:
        seed += 1
        schedule = drawn(func, seed)
        if small(schedule.func):
            schedules.append(schedule)
    candidates = [Candidate.of(f"{n}", schedule, {}) for n, schedule in enumerate(schedules)]
    measured = measure(candidates, seconds=1.2, with_assembly=True)
    again = measure(candidates, seconds=1.2)
    machine = load_machine(MACHINE)
    rows: list[dict[str, Any]] = []
    for candidate, row, other in zip(candidates, measured.rows, again.rows, strict=True):
        if row.warm is None or other.warm is None or row.difference:
            print(name, row.name, row.refusal or row.difference, flush=True)
            continue
        try:
            ports = port_cycles(row.assembly, cpu, mca)
        except TilewrightError as error:
            print(name, row.name, error.refusal.message, error.refusal.found, flush=True)
            continue
        report = simulate(candidate.func, machine, max_accesses=1 << 17)
        rows.append(
            {
                "measured_us": row.warm.median, "again_us": other.warm.median, "ports": ports.ports,
                "chain": ports.chain, "simulated": report.cycles, "instructions": ports.instructions,
            }
        )  # fmt: skip
    return {"kernel": name, "busy": measured.busy, "rows": rows}


def table(found: list[dict[str, Any]], clock: float) -> str:
    lines = [
        f"clock {clock / 1e9:.2f} GHz",
        "| kernel | schedules | tau, simulator | tau, ports | tau, both runs | within 1.5x | median ratio | range of 95 % "
        "| best predicted / fastest |",
        "|---|---:|---:|---:|---:|---:|---:|---|---:|",
    ]
    for each in found:
        rows = each["rows"]
        times = [r["measured_us"] for r in rows]
        predicted = [max(r["ports"], r["chain"]) / clock * 1e6 for r in rows]
        ratios = sorted(p / t for p, t in zip(predicted, times, strict=True))
        best = times[min(range(len(rows)), key=lambda n: predicted[n])]
        near = sum(1 / 1.5 <= r <= 1.5 for r in ratios) / len(ratios)
        low, high = ratios[int(len(ratios) * 0.025)], ratios[min(len(ratios) - 1, int(len(ratios) * 0.975))]
        cells = [
            each["kernel"], str(len(rows)), f"{kendall_tau([r['simulated'] for r in rows], times):.2f}",
            f"{kendall_tau(predicted, times):.2f}", f"{kendall_tau([r['again_us'] for r in rows], times):.2f}", f"{near:.0%}",
            f"{ratios[len(ratios) // 2]:.2f}", f"{low:.2f} to {high:.2f}", f"{best / min(times):.2f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="OUT.json", type=Path)
    parser.add_argument("--table", action="store_true", help="print what the file has")
    parser.add_argument("--cpu", default="znver4", help="the processor by LLVM's name (default: znver4)")
    parser.add_argument("--only", default="", help="one kernel")
    arguments = parser.parse_args()
    if arguments.table:
        found = json.loads(arguments.file.read_text())
        print(table(found["kernels"], found["clock_hz"]))
        return
    mca = find_mca(arguments.cpu)
    if mca is None:
        sys.exit(f"no llvm-mca for {arguments.cpu}")
    kernels: list[dict[str, Any]] = []
    clock = clock_hz()
    for name, text in KERNELS.items():
        if arguments.only in ("", name):
            kernels.append(ranked(name, text, arguments.cpu, mca))
            arguments.file.write_text(
                json.dumps({"cpu": arguments.cpu, "clock_hz": clock, "kernels": kernels}, indent=1)
            )
            print(table(kernels[-1:], clock), flush=True)


if __name__ == "__main__":
    main()
