"""Chains of elementwise work, and buffers that several groups read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import tilewright
from tilewright.engine.explore import DerivedSpace, EvaluationRequest, Evaluator, derive_space
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

NPU = load_machine("dual-bank-npu")
TWO_SUMS = """
@T.prim_func(s_tir=True)
def sums(X: T.Buffer((30, 40), "float32"), R: T.Buffer((30,), "float32"), C: T.Buffer((40,), "float32")):
    for i, k in T.grid(30, 40):
        with T.sblock("R"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = T.min_value("float32")
            R[vi] = T.max(R[vi], X[vi, vk])
    for j, k in T.grid(40, 30):
        with T.sblock("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + X[vk, vj]
"""
NORMALIZED = """
@T.prim_func(s_tir=True)
def normalized(X: T.Buffer((4, 64), "float32"), m: T.Buffer((4,), "float32"), v: T.Buffer((4,), "float32"),
               Y: T.Buffer((4, 64), "float32")):
    centred = T.sblock_alloc_buffer((4, 64))
    root = T.sblock_alloc_buffer((4,))
    for i, j in T.grid(4, 64):
        with T.sblock("centred"):
            vi, vj = T.axis.remap("SS", [i, j])
            centred[vi, vj] = X[vi, vj] - m[vi]
    for i in range(4):
        with T.sblock("root"):
            vi = T.axis.spatial(4, i)
            root[vi] = T.sqrt(v[vi])
    for i, j in T.grid(4, 64):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = centred[vi, vj] / root[vi]
"""
CAST = """
@T.prim_func(s_tir=True)
def cast(X: T.Buffer((16, 16), "float16"), W: T.Buffer((16, 16), "float16"), Y: T.Buffer((16, 16), "float32")):
    wide = T.sblock_alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.sblock("wide"):
            vi, vj = T.axis.remap("SS", [i, j])
            wide[vi, vj] = T.Cast("float32", X[vi, vj])
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + wide[vi, vk] * T.Cast("float32", W[vk, vj])
"""

HALVES = """
@T.prim_func(s_tir=True)
def halves(X: T.Buffer((64, 128), "float16"), W: T.Buffer((64, 128), "float16"), Y: T.Buffer((64, 256), "float16")):
    for i, j in T.grid(64, 128):
        with T.sblock("low"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.max(X[vi, vj], T.float16(0))
    for i, j in T.grid(64, 128):
        with T.sblock("high"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj + 128] = W[vi, vj] * T.float16(2)
"""

SCAN = """
@T.prim_func(s_tir=True)
def scan(X: T.Buffer((32, 128), "float32"), Y: T.Buffer((32, 128), "float32")):
    for i, j in T.grid(32, 128):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj], Y[T.max(vi - 1, 0), vj])
            T.writes(Y[vi, vj])
            Y[vi, vj] = T.if_then_else(vi >= 1, Y[vi - 1, vj] + X[vi, vj], X[vi, vj])
"""


@cache
def derived(text: str) -> DerivedSpace:
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    found = derive_space(program, NPU)
    outcome = Evaluator(found.space, NPU, ("cycles",)).tried(EvaluationRequest(0, found.space.default))
    assert outcome.fits, outcome.message
    assert found.space.schedule_at(found.space.default).schedule.check().status == "proved"
    return found


@pytest.mark.slow
def test_each_group_has_its_own_copies_of_a_shared_buffer() -> None:
    text = derived(TWO_SUMS).text
    assert "consumer_blocks=[R])" in text and "consumer_blocks=[C])" in text
    assert "on scalar" not in text


@pytest.mark.slow
def test_elementwise_blocks_are_inlined_without_recomputation() -> None:
    found = derived(NORMALIZED)
    assert "centred inlined" in found.decisions
    assert 'compute_inline("root")' not in found.text, "a root for each element"


@pytest.mark.slow
def test_small_operands_are_copied_once() -> None:
    found = derived(NORMALIZED)
    assert {"m copied at the start", "v copied at the start"} <= {*found.decisions}
    assert any(d.startswith("X copied at loop") for d in found.decisions)


@pytest.mark.slow
def test_an_inlined_cast_leaves_narrow_factors() -> None:
    assert 'sch.compute_inline("wide")' in derived(CAST).text


@pytest.mark.slow
def test_gpu_transpose_has_no_bank_conflicts() -> None:
    notebook = tilewright.load(Path(__file__).parents[3] / "hand" / "grid" / "gpu_transpose.py")
    assert isinstance(notebook.program, PrimFunc) and notebook.machine is not None and notebook.schedule is not None
    found = derive_space(notebook.program, notebook.machine)
    assert 'cache_read(B, "A", "shared.dyn")' in found.text and "sch.storage_align(A_in, 0, 0, 32, 1)" in found.text
    outcome = Evaluator(found.space, notebook.machine, ("cycles",)).tried(EvaluationRequest(0, found.space.default))
    assert outcome.fits and outcome.figures is not None
    assert outcome.figures.cycles <= tilewright.simulate(notebook.schedule, notebook.machine).cycles


@pytest.mark.slow
def test_blocks_that_write_parts_of_one_result_compute_them_on_chip() -> None:
    found = derived(HALVES)
    report = tilewright.simulate(found.space.schedule_at(found.space.default).schedule, NPU)
    assert found.text.count("sch.reindex(") == 2
    assert report.engines["scalar"].busy == 0
    assert report.cycles < 2 * report.bounds[0].cycles


@pytest.mark.slow
def test_a_scan_of_columns_is_computed_on_chip() -> None:
    found = derived(SCAN)
    report = tilewright.simulate(found.space.schedule_at(found.space.default).schedule, NPU)
    assert report.engines["scalar"].busy == 0
    assert report.cycles < 2 * report.bounds[0].cycles
