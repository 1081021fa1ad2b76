"""How fast hwsim is: tasks replayed per second, and where the time of one report goes, as matmuls grow.

Run: `python bench/hwsim.py`. Times are of this machine and this run; the ratios are what to compare.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from tilewright.engine.hwsim import Machine, load_machine, simulate
from tilewright.engine.hwsim.nest import read_nest
from tilewright.engine.hwsim.occupancy import occupancy
from tilewright.engine.hwsim.place import place
from tilewright.engine.hwsim.replay import replay
from tilewright.engine.hwsim.tasks import make_tasks
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lower import plan
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

T = TypeVar("T")

SOURCE = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer(({n}, {n}), "float16"), B: T.Buffer(({n}, {n}), "float16"), C: T.Buffer(({n}, {n}), "float32")):
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
"""


def tiled_matmul(n: int) -> PrimFunc:
    """n^3, tiles of 64 x 64 x 128, operands staged to two slots each."""
    sch = Schedule(parse(SOURCE.format(n=n)).program)
    i, j, k = sch.get_loops("C")
    io, ii = sch.split(i, factors=[None, 64])
    jo, ji = sch.split(j, factors=[None, 64])
    ko, ki = sch.split(k, factors=[None, 128])
    sch.reorder(io, jo, ko, ii, ji, ki)
    copies = [sch.cache_read("C", operand, "local.vtcm") for operand in (0, 1)]
    out = sch.cache_write("C", 0, "local.acc")
    for copy in copies:
        sch.compute_at(copy, ko)
        sch.double_buffer(copy)
    sch.reverse_compute_at(out, jo)
    return sch.func


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """The result, and the shortest of three runs in milliseconds."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return result, best * 1000


def row(n: int, machine: Machine) -> str:
    func = tiled_matmul(n)
    planned, planning = timed(lambda: plan(func))
    nest, reading = timed(lambda: read_nest(planned))
    program, making = timed(lambda: make_tasks(nest, place(machine, nest)))
    variants = [v.replay for v in program.variants]
    timeline, replaying = timed(
        lambda: replay(variants, program.sequence, len(machine.engines), len(program.places.of_cell))
    )
    _, holding = timed(lambda: occupancy(program, timeline))
    report, whole = timed(lambda: simulate(func, machine))
    tasks = len(program.sequence)
    return (
        f"{n:5} {tasks:8} {report.cycles:13} {report.ratio:6.3f} {planning:7.1f} {reading:7.1f} {making:7.1f} {replaying:8.1f} "
        f"{holding:9.1f} {whole:8.1f} {tasks / replaying / 1000:7.2f}"
    )


def main() -> None:
    machine = load_machine("dual-bank-npu")
    print("n^3, tiles 64 x 64 x 128 on dual-bank-npu; times in ms, shortest of three")
    print("    n    tasks        cycles  ratio    plan    read   tasks   replay occupancy   report Mtask/s")
    for n in (256, 512, 1024, 2048, 4096):
        print(row(n, machine), flush=True)


if __name__ == "__main__":
    main()
