"""Growth of time and memory with the program: chains of elementwise blocks of 200, 700 and 3000 nodes. Needs islpy for `prove`.

Run: `python bench/growth.py [NAME…]`. Processor time in ms (the least of three), the peak of Python's allocations in MB, and the ratio of
times for 15 times the nodes: 15 is linear.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

STAGES = (29, 100, 430)
"""Seven nodes each."""


def chain_program(stages: int) -> str:
    """`stages` elementwise blocks in a row, about seven nodes each."""
    lines = [
        "@T.prim_func(s_tir=True)",
        'def main(X0: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32")):',
    ]
    lines += [f"    X{n} = T.sblock_alloc_buffer((64, 64))" for n in range(1, stages)]
    for n in range(stages):
        target = "Y" if n == stages - 1 else f"X{n + 1}"
        lines += [
            "    for i, j in T.grid(64, 64):", f'        with T.sblock("B{n}"):', '            vi, vj = T.axis.remap("SS", [i, j])',
            f"            T.reads(X{n}[vi, vj])", f"            T.writes({target}[vi, vj])",
            f"            {target}[vi, vj] = X{n}[vi, vj] + T.float32({n})",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


class Chain:
    """A chain of `stages` blocks, and the measured operations: each attribute is a call without arguments."""

    def __init__(self, stages: int) -> None:
        text = chain_program(stages)
        sch = Schedule(parse(text).program)
        self.machine = load_machine("matrix-vector-npu")
        self.name, self.consumer = f"B{stages // 2}", f"B{stages // 2 + 1}"
        self.loop = sch.get_loops(self.consumer)[0]
        self.sch = sch
        self.work: dict[str, Callable[[], object]] = {
            "parse": lambda: parse(text),
            "print": lambda: to_script(sch.mod),
            "schedule": lambda: Schedule(sch.func),
            "split": lambda: self.fresh().split(self.loop, [None, 8]),
            "compute_at": lambda: self.fresh().compute_at(self.name, self.loop),
            "compute_inline": lambda: self.fresh().compute_inline(self.name),
            "cache_read": lambda: self.fresh().cache_read(self.name, 0, "local"),
            "legal_targets": lambda: self.fresh().legal_targets(self.name),
            "prove": lambda: self.moved().prove(),
            "lower": lambda: lower(sch.func),
            "simulate": lambda: simulate(sch.func, self.machine),
        }

    def fresh(self) -> Schedule:
        """A schedule with empty caches, as after a call."""
        copy = self.sch.copy()
        copy.annotate(self.name, "note", 1)
        return copy

    def moved(self) -> Schedule:
        copy = self.sch.copy()
        copy.compute_at(self.name, self.loop)
        return copy


def cpu_ms(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return (time.thread_time() - start) * 1e3


def peak_mb(work: Callable[[], object]) -> float:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measured(work: Callable[[], object]) -> tuple[float, float] | None:
    """(ms, MB); None for a program that exceeds Python's recursion limit."""
    try:
        return min(cpu_ms(work) for _ in range(3)), peak_mb(work)
    except RecursionError:
        tracemalloc.stop()
        return None


def main() -> None:
    chains = [Chain(stages) for stages in STAGES]
    wanted = sys.argv[1:] or list(chains[0].work)
    print(f"{'':16}" + "".join(f"{7 * stages:>8} nodes{'':9}" for stages in STAGES) + "   growth")
    for name in wanted:
        found = [measured(chain.work[name]) for chain in chains]
        cells = "".join(f"{'too deep':>23}" if f is None else f"{f[0]:10.2f} ms {f[1]:6.2f} MB" for f in found)
        least, most = found[0], found[-1]
        print(f"{name:16}{cells} {most[0] / least[0] if least and most else float('nan'):7.1f}", flush=True)


if __name__ == "__main__":
    main()
