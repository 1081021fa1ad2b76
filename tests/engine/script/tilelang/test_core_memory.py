"""Buffers of AI cores that share memory, and operations whose result is not computed, in the simulator."""

from __future__ import annotations

import numpy as np

from tilewright.engine.adopt import programs_in, read_nested_program
from tilewright.engine.execute import run
from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.ir import PrimFunc

PRODUCTS = """import tilelang
import tilelang.language as T


@tilelang.jit(pass_configs={OPTIONS})
def turns():
    @T.prim_func
    def main(A: T.Tensor((128, 64), "float16"), B: T.Tensor((64, 256), "float16"), C: T.Tensor((8, 128, 256), "float")):
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1((128, 64), "float16")
            b = T.alloc_L1((64, 256), "float16")
            first = T.alloc_L0C((128, 256), "float")
            second = T.alloc_L0C((128, 256), "float")
            with T.Scope("C"):
                T.copy(A[0, 0], a)
                T.copy(B[0, 0], b)
                for i in T.serial(4):
                    T.gemm_v0(a, b, first, init=True)
                    T.copy(first, C[2 * i, 0, 0])
                    T.gemm_v0(a, b, second, init=True)
                    T.copy(second, C[2 * i + 1, 0, 0])

    return main
"""
SORTED = """import tilelang.language as T


def sorted(N=64):
    @T.prim_func
    def main(A: T.Tensor((2, N), "float"), B: T.Tensor((2, N), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((N,), "float")
            b = T.alloc_ub((N,), "float")
            with T.Scope("V"):
                T.copy(A[vid, 0], a)
                T.tile.sort(b, a, N)
                T.copy(b, B[vid, 0])

    return main
"""
GUARDED = """try:
    import tilelang
    import tilelang.language as T

    OPTIONS = {tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
except ImportError:
    T = None
    OPTIONS = {}


@tilelang.jit(pass_configs=OPTIONS)
def filled(N=64):
    @T.prim_func
    def main(A: T.Tensor((2, 1), "float"), B: T.Tensor((2, N), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((1, 1), "float")
            b = T.alloc_ub((N,), "float")
            with T.Scope("V"):
                T.copy(A[vid, 0], a)
                T.tile.fill(b, a)
                T.copy(b, B[vid, 0])

    return main
"""
PLANNED = "tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True"


def read(text: str) -> PrimFunc:
    program = read_nested_program(programs_in(text, "kernel.py").programs[0], "kernel.py", {})[0].program
    assert isinstance(program, PrimFunc)
    return program


def simulated(text: str) -> Report:
    return simulate(read(text), load_machine("ascend-910b"))


def test_buffers_share_memory_if_the_text_says_so() -> None:
    assert simulated(PRODUCTS.replace("OPTIONS", "")).memory["wmma.accumulator"].peak_bytes == 2 * 128 * 256 * 4
    assert simulated(PRODUCTS.replace("OPTIONS", PLANNED)).memory["wmma.accumulator"].peak_bytes == 128 * 256 * 4


def test_an_operation_that_is_not_computed_takes_part_in_the_timeline() -> None:
    report = simulated(SORTED)
    assert "sort" in {template.choices[0].leaf.block.name for template in report.program.templates}
    assert report.engines["mte3"].waits[0].block == "sort"


def test_a_text_that_also_runs_without_tilelang_and_a_tile_of_one_value() -> None:
    a = np.array([[2], [3]], dtype="float32")
    np.testing.assert_array_equal(run(read(GUARDED), {"A": a})["B"], np.repeat(a, 64, 1))
