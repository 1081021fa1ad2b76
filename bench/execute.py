"""Speed of the NumPy executor: matmuls tiled, staged, cut unevenly and lowered, beside NumPy's own product.

Run: `python bench/execute.py`. Times depend on the machine, the best of three; compare the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tilewright.engine.execute import random_inputs, run, verify
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lower import lower, plan
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

SOURCE = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer(({m}, {k}), "float32"), B: T.Buffer(({k}, {n}), "float32"), C: T.Buffer(({m}, {n}), "float32")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def matmul(m: int, n: int, k: int) -> PrimFunc:
    program = parse(SOURCE.format(m=m, n=n, k=k)).program
    assert isinstance(program, PrimFunc)
    return program


def tiled(shape: tuple[int, int, int], tile: int, staged: bool) -> PrimFunc:
    """Cubic tiles; `staged`: both operands copied to a near memory for each tile."""
    sch = Schedule(matmul(*shape))
    (i0, i1), (j0, j1), (k0, k1) = (sch.split(loop, [None, tile]) for loop in sch.get_loops("C"))
    sch.reorder(i0, j0, k0, i1, j1, k1)
    if staged:
        for operand in (0, 1):
            sch.compute_at(sch.cache_read("C", operand, "shared"), k0)
    return sch.func


def best_of_three(work: Callable[[], object]) -> float:
    """Seconds."""
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def show(label: str, func: PrimFunc, original: PrimFunc) -> None:
    inputs = random_inputs(original)
    seconds = best_of_three(lambda: run(func, inputs))
    print(f"{label:58s} {seconds * 1e3:9.1f} ms   {verify(func, original).status}")


def main() -> None:
    even, uneven = (256, 256, 512), (250, 254, 510)
    origin, odd = matmul(*even), matmul(*uneven)
    inputs = random_inputs(origin)
    print(f"{'numpy A @ B, 256x256x512':58s} {best_of_three(lambda: inputs['A'] @ inputs['B']) * 1e3:9.1f} ms")
    show("matmul 256x256x512", origin, origin)
    for tile in (64, 16, 8):
        show(f"tiles of {tile}", tiled(even, tile, False), origin)
        show(f"tiles of {tile}, operands staged", tiled(even, tile, True), origin)
        show(f"tiles of {tile}, operands staged, planned", plan(tiled(even, tile, True)), origin)
        show(f"tiles of {tile}, operands staged, lowered", lower(tiled(even, tile, True)), origin)
        show(f"tiles of {tile} on 250x254x510, operands staged", tiled(uneven, tile, True), odd)
        show(f"tiles of {tile} on 250x254x510, operands staged, lowered", lower(tiled(uneven, tile, True)), odd)


if __name__ == "__main__":
    main()
