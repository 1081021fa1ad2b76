"""Steps of schedules that TVM's meta schedule makes: same program as TVM, and TVM's compiled result keeps its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.programs.sources import MATMUL
from support.tvm.oracle import Calls, assert_agrees, tvm_parse, tvm_schedule

from tilewright.engine.schedule import Schedule

tvm = pytest.importorskip("tvm")
pytestmark = pytest.mark.tvm

ROW_MAX = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 40), "float32"), B: T.Buffer((6, 40), "float32")):
    M = T.sblock_alloc_buffer((6,))
    for i, k in T.grid(6, 40):
        with T.sblock("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32(-1e30)
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(6, 40):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] - M[vi]
"""
NORM = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((2, 30, 40), "float32"), B: T.Buffer((2,), "float32")):
    C = T.sblock_alloc_buffer((2,))
    for b, i, j in T.grid(2, 30, 40):
        with T.sblock("C"):
            vb, vi, vj = T.axis.remap("SRR", [b, i, j])
            with T.init():
                C[vb] = T.float32(0)
            C[vb] = C[vb] + A[vb, vi, vj] * A[vb, vi, vj]
    for b in range(2):
        with T.sblock("B"):
            vb = T.axis.spatial(2, b)
            B[vb] = T.sqrt(C[vb])
"""


def maximum_in_each_parallel_iteration(sch: Any) -> None:
    block = sch.get_sblock("M")
    sch.compute_at(block, sch.get_loops(sch.get_sblock("B"))[1], preserve_unit_loops=True)
    sch.parallel(sch.fuse(*sch.get_loops(sch.get_sblock("B"))))
    sch.decompose_reduction(block, sch.get_loops(block)[-1])


def copy_in_the_reduction(sch: Any) -> None:
    block = sch.get_sblock("C")
    copy = sch.cache_write(block, 0, "global")
    i, j, k = sch.get_loops(block)
    sch.reorder(i, k, j)
    sch.reverse_compute_at(copy, k, preserve_unit_loops=True)
    sch.decompose_reduction(block, k)


def partial_sums_of_fused_axes(sch: Any) -> None:
    block = sch.get_sblock("C")
    _, i, j = sch.get_loops(block)
    partial = sch.rfactor(sch.split(sch.fuse(i, j), factors=[300, 4])[1], 1)
    sch.compute_at(block, sch.get_loops(sch.get_sblock("B"))[0], preserve_unit_loops=True)
    sch.compute_at(partial, sch.get_loops(block)[0], preserve_unit_loops=True)


CASES: dict[str, tuple[str, Calls]] = {
    "a private maximum, decomposed": (ROW_MAX, maximum_in_each_parallel_iteration),
    "a copy of partial sums": (MATMUL, copy_in_the_reduction),
    "rfactor of fused axes": (NORM, partial_sums_of_fused_axes),
}
SAME_TEXT = ("a private maximum, decomposed", "a copy of partial sums")


@pytest.mark.parametrize("name", SAME_TEXT)
def test_given_steps_of_a_tuned_schedule_when_called_then_as_tvm(name: str) -> None:
    assert_agrees(*CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_given_steps_of_a_tuned_schedule_when_called_then_the_values_are_kept_here_and_in_tvm(name: str) -> None:
    text, calls = CASES[name]
    ours, theirs = Schedule(text), tvm_schedule(text)
    theirs.work_on(theirs.mod.get_global_vars()[0].name_hint)
    calls(ours)
    calls(theirs)
    assert ours.check().status == "proved"
    random = np.random.default_rng(0)
    shapes = [tuple(axis.value for axis in buffer.shape) for buffer in ours.func.buffers]  # pyright: ignore[reportAttributeAccessIssue]
    arrays = [random.standard_normal(shape).astype("float32") for shape in shapes]
    np.testing.assert_allclose(_result(theirs.mod, arrays), _result(tvm_parse(text), arrays), rtol=1e-4, atol=1e-4)


def _result(module: Any, arrays: list[Any]) -> Any:
    given = [tvm.runtime.tensor(array) for array in arrays]
    tvm.compile(module, target="llvm")(*given)
    return given[-1].numpy()
