"""In a kernel of several groups of warps, each group has rows of its own."""

from __future__ import annotations

from functools import cache

import pytest

from tilewright.app.views.timeline.data import TimelineData
from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.script import parse

GEMM = """\
import tilelang.language as T


@T.prim_func
def main(A: T.Tensor((128, 256), T.float16), B: T.Tensor((256, 128), T.float16), C: T.Tensor((128, 128), T.float32)):
    with T.Kernel(1, threads=256) as bx:
        A_shared = T.alloc_shared((2, 128, 64), T.float16)
        B_shared = T.alloc_shared((2, 64, 128), T.float16)
        C_local = T.alloc_fragment((128, 128), T.float32)
        full = T.alloc_barrier(arrive_count=[128, 128])
        free = T.alloc_barrier(arrive_count=[128, 128])
        with T.ws(1):
            for k in T.serial(4):
                T.mbarrier_wait_parity(free[k % 2], (k // 2 + 1) % 2)
                T.copy(A[0, k * 64], A_shared[k % 2, :, :])
                T.copy(B[k * 64, 0], B_shared[k % 2, :, :])
                T.mbarrier_arrive(full[k % 2])
        with T.ws(0):
            T.clear(C_local)
            for k in T.serial(4):
                T.mbarrier_wait_parity(full[k % 2], k // 2 % 2)
                T.gemm(A_shared[k % 2, :, :], B_shared[k % 2, :, :], C_local)
                T.mbarrier_arrive(free[k % 2])
            T.copy(C_local, C)
"""


@cache
def report(text: str) -> Report:
    program = parse(text).program
    return simulate(program, load_machine("sm90"))  # type: ignore[arg-type]


def test_each_group_has_its_engines_in_rows_of_its_own() -> None:
    found = report(GEMM)
    data = TimelineData(found)
    assert data.engines == ["tensor 0–127", "lanes 0–127", "tma 128–255"]
    assert [work.busy for work in data.work] == [found.engines[lane.engine].busy for lane in data.lanes]
    assert sum(work.tasks for work in data.work) == sum(engine.tasks for engine in found.engines.values())
    waits = {(data.engines[wait.lane], wait.cause) for wait in data.waits}
    assert ("tensor 0–127", "data") in waits


def test_an_engine_of_two_groups_is_two_rows_that_wait_for_each_other() -> None:
    also = "        with T.ws(1):\n            T.clear(C[0:8, 0:8])\n"
    data = TimelineData(report(GEMM + also))
    assert {"lanes 0–127", "lanes 128–255"} < set(data.engines)
    assert ("lanes 0–127", "unit", "lanes 128–255") in {(data.engines[w.lane], w.cause, w.what) for w in data.waits}


@pytest.mark.parametrize("branch", ["with T.ws(0):", "if T.get_thread_binding() < 8:"])
def test_one_group_alone_is_no_row(branch: str) -> None:
    text = (
        GEMM[: GEMM.index("        with T.ws(1):")]
        + f"        {branch}\n            T.copy(A[0, 0], A_shared[0, :, :])\n"
    )
    assert TimelineData(report(text)).engines == ["tma"]
