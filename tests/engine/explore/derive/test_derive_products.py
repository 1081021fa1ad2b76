"""Products whose iterators index a factor in steps, as in grouped convolutions, and programs with several copies of one buffer."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tilewright.engine.explore import (
    SCHEDULE_RULES,
    EvaluationRequest,
    Evaluator,
    Space,
    derive_space,
    product_of,
    space_of,
)
from tilewright.engine.explore.bounds.program_bound import program_bound
from tilewright.engine.explore.derive.draft import Group, ScheduleDraft
from tilewright.engine.explore.derive.main_block import main_group
from tilewright.engine.explore.derive.table import MAIN_RULES, apply_rules
from tilewright.engine.explore.search.estimator import Estimator
from tilewright.engine.explore.search.local_search import smaller_points
from tilewright.engine.hwsim import load_machine, read_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

GROUPED = """
@T.prim_func(s_tir=True)
def grouped(X: T.Buffer((16, 16, 128), "float16"), W: T.Buffer((3, 3, 32, 128), "float16"), Y: T.Buffer((14, 14, 128), "float32")):
    for y, x, f, p, q, r in T.grid(14, 14, 128, 3, 3, 32):
        with T.sblock("Y"):
            vy, vx, vf, vp, vq, vr = T.axis.remap("SSSRRR", [y, x, f, p, q, r])
            with T.init():
                Y[vy, vx, vf] = T.float32(0)
            Y[vy, vx, vf] = Y[vy, vx, vf] + T.Cast("float32", X[vy + vp, vx + vq, CHANNEL]) * T.Cast("float32", W[vp, vq, vr, vf])
"""
NARROW_GROUPS = """
@T.prim_func(s_tir=True)
def narrow(X: T.Buffer((136, 28, 28), "float32"), W: T.Buffer((136, 34), "float32"), Y: T.Buffer((136, 28, 28), "float32")):
    P = T.sblock_alloc_buffer((136, 28, 28))
    for c, y, x in T.grid(136, 28, 28):
        with T.sblock("P"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = X[vc, vy, vx]
    for f, y, x, r in T.grid(136, 28, 28, 34):
        with T.sblock("Y"):
            vf, vy, vx, vr = T.axis.remap("SSSR", [f, y, x, r])
            with T.init():
                Y[vf, vy, vx] = T.float32(0)
            Y[vf, vy, vx] = Y[vf, vy, vx] + P[vf // 34 * 34 + vr, vy, vx] * W[vf, vr]
"""
GEMM = """
@T.prim_func(s_tir=True)
def gemm(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32"), C: T.Buffer((256, 256), "float32")):
    for i, j, k in T.grid(256, 256, 256):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
LONG_ROWS = """
@T.prim_func(s_tir=True)
def softmax(X: T.Buffer((1, 16384), "float32"), Y: T.Buffer((1, 16384), "float32")):
    largest = T.sblock_alloc_buffer((1,))
    power = T.sblock_alloc_buffer((1, 16384))
    total = T.sblock_alloc_buffer((1,))
    for i, j in T.grid(1, 16384):
        with T.sblock("largest"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                largest[vi] = T.min_value("float32")
            largest[vi] = T.max(largest[vi], X[vi, vj])
    for i, j in T.grid(1, 16384):
        with T.sblock("power"):
            vi, vj = T.axis.remap("SS", [i, j])
            power[vi, vj] = T.exp(X[vi, vj] - largest[vi])
    for i, j in T.grid(1, 16384):
        with T.sblock("total"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + power[vi, vj]
    for i, j in T.grid(1, 16384):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = power[vi, vj] / total[vi]
"""
NPU = "dual-bank-npu"


def program(text: str) -> PrimFunc:
    found = parse(text).program
    assert isinstance(found, PrimFunc)
    return found


def sketch(text: str) -> Space:
    """The space of the sketch of a product that tiles its three loops."""
    draft = ScheduleDraft(program(text), load_machine(NPU), {}, "sch", None)
    apply_rules(draft, [Group(("C",), ("i", "j", "k"))], SCHEDULE_RULES)
    return space_of(program(text), draft.builder.calls)


@pytest.mark.parametrize(
    ("channel", "columns", "most"),
    [
        ("vf // 32 * 32 + vr", 32, 32),
        ("vf // 64 * 64 + vr", 64, 64),
        ("vf % 4 * 32 + vr", 1, 32),
        ("vf + vr - vf", 128, 128),
        ("T.min(vf, 96) + vr", 1, 128),
    ],
)
def test_iterator_that_strides_a_factor_is_a_column(channel: str, columns: int, most: int) -> None:
    index = Schedule(program(GROUPED.replace("CHANNEL", channel))).index
    product = product_of(index, "Y")
    assert product is not None
    found = {v.name: n for v, n in product.columns.items()}
    assert found.get("vf", 1) == columns
    assert product.most[1] == most
    assert product.count == 14 * 14 * 128 * 9 * 32


STEPS = """
name = "three levels"
clock_hz = 1_000_000_000

[memories.dram]
scopes = ["global"]
capacity_bytes = 1_000_000_000
read_bytes_per_cycle = 8
write_bytes_per_cycle = 8

[memories.l1]
scopes = ["local.l1"]
capacity_bytes = 1_048_576
read_bytes_per_cycle = 256
write_bytes_per_cycle = 256

[memories.l0a]
scopes = ["local.l0a"]
capacity_bytes = 16_384
read_bytes_per_cycle = 256
write_bytes_per_cycle = 256

[memories.l0w]
scopes = ["local.l0w"]
capacity_bytes = 16_384
read_bytes_per_cycle = 256
write_bytes_per_cycle = 256

[memories.sums]
scopes = ["local.sums"]
capacity_bytes = 65_536
read_bytes_per_cycle = 256
write_bytes_per_cycle = 256

[engines.outer]
kind = "dma"
reads = ["dram", "sums"]
writes = ["l1", "dram"]
bytes_per_cycle = 8

[engines.inner]
kind = "dma"
reads = ["l1"]
writes = ["l0a", "l0w"]
bytes_per_cycle = 256

[engines.cube]
kind = "matrix"
reads = ["l0a", "l0w", "sums"]
writes = ["sums"]
tile_rows = 16
tile_columns = 16
tile_depth = 4
cycles_per_tile = 1
element_bytes = 1

[engines.scalar]
kind = "scalar"
reads = ["dram", "l1", "l0a", "l0w", "sums"]
writes = ["dram", "l1", "l0a", "l0w", "sums"]
cycles_per_operation = 1
"""

INT8 = """
@T.prim_func(s_tir=True)
def main(a: T.Buffer((128, 128), "int8"), b: T.Buffer((128, 128), "int8"), c: T.Buffer((128, 128), "int32")):
    for i, j, k in T.grid(128, 128, 128):
        with T.sblock("c"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                c[vi, vj] = 0
            c[vi, vj] = c[vi, vj] + T.Cast("int32", a[vi, vk]) * T.Cast("int32", b[vk, vj])
"""


def test_operands_pass_the_memory_between_when_a_scalar_engine_reaches_all() -> None:
    machine = read_machine(STEPS)
    draft = ScheduleDraft(program(INT8), machine, {}, "sch", None)
    apply_rules(draft, [main_group(draft)], MAIN_RULES)
    report = simulate(draft.builder.schedule.func, machine)
    assert report.engines["scalar"].tasks == 0
    assert report.engines["inner"].tasks > 0
    assert draft.builder.text.count('"local.l1"') == 2


@pytest.mark.slow
def test_tiles_of_a_grouped_convolution_stay_in_a_group() -> None:
    func = program(GROUPED.replace("CHANNEL", "vf // 32 * 32 + vr"))
    machine = load_machine(NPU)
    found = derive_space(func, machine)
    assert "Y on matrix: a product" in found.decisions
    outcome = Evaluator(found.space, machine, ("cycles",)).tried(EvaluationRequest(0, found.space.default))
    bound = program_bound(func, machine)
    assert outcome.fits and outcome.figures is not None
    assert bound.cycles <= outcome.figures.cycles <= 2 * bound.cycles
    assert found.space.schedule_at(found.space.default).schedule.check().status == "proved"


@pytest.mark.slow
def test_indivisible_groups_are_tiled_and_their_copy_inlined() -> None:
    func = program(NARROW_GROUPS)
    machine = load_machine(NPU)
    found = derive_space(func, machine)
    assert "P inlined" in found.decisions
    outcome = Evaluator(found.space, machine, ("cycles",)).tried(EvaluationRequest(0, found.space.default))
    assert outcome.fits and outcome.figures is not None
    assert outcome.figures.cycles <= 3 * program_bound(func, machine).cycles
    assert found.space.schedule_at(found.space.default).schedule.check().status == "proved"


def test_bound_counts_the_passes_of_wide_factors() -> None:
    bound = program_bound(program(GEMM), load_machine(NPU))
    in_four_passes = 4 * 256**3 // 1024
    assert 0.9 * in_four_passes < bound.work <= in_four_passes


def test_cast_that_may_be_inlined_counts_no_passes() -> None:
    text = (
        GEMM.replace('A: T.Buffer((256, 256), "float32")', 'Z: T.Buffer((256, 256), "float16")')
        .replace(
            "    for i, j, k",
            """    A = T.sblock_alloc_buffer((256, 256))
    for i, j in T.grid(256, 256):
        with T.sblock("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.Cast("float32", Z[vi, vj])
    for i, j, k""",
        )
        .replace('B: T.Buffer((256, 256), "float32")', 'B: T.Buffer((256, 256), "float16")')
    )
    bound = program_bound(program(text), load_machine(NPU))
    assert bound.work <= 256**3 // 1024


@pytest.mark.slow
def test_each_copy_of_a_buffer_has_its_own_choices() -> None:
    found = derive_space(program(LONG_ROWS), load_machine(NPU))
    names = [hole.name for hole in found.space.holes]
    assert len(names) == len(set(names))
    outcome = Evaluator(found.space, load_machine(NPU), ("cycles",)).tried(EvaluationRequest(0, found.space.default))
    assert outcome.fits, outcome.message


def test_large_tiles_of_sums_may_use_another_memory() -> None:
    text = GEMM.replace("256", "2048")
    for factor in ("A[vi, vk]", "B[vk, vj]"):
        text = text.replace(factor, f'T.Cast("float32", {factor})')
    for name in "AB":
        text = text.replace(f'{name}: T.Buffer((2048, 2048), "float32")', f'{name}: T.Buffer((2048, 2048), "float16")')
    space = sketch(text)
    scopes = next(hole for hole in space.holes if hole.name == "C scope")
    assert {*scopes.values} == {"local.acc", "local.vtcm"}
    sums = {"tile i": 128, "tile j": 256, "tile k": 64, "C scope": "local.vtcm", "C slots": 1}
    point = space.point_of({**sums, "stages of k_o": [0, 0, 1], "stages of j_o": [0, 0]})
    outcome = Evaluator(space, load_machine(NPU), ("cycles",)).tried(EvaluationRequest(0, point))
    assert outcome.fits and outcome.figures is not None
    assert outcome.figures.cycles < 1.2 * 2048**3 / 1024


def test_loops_around_a_pipelined_loop_may_be_pipelined_too() -> None:
    assert {"stages of k_o", "stages of j_o"} <= {hole.name for hole in sketch(GEMM).holes}


def test_smaller_points_need_ever_less_memory() -> None:
    space, machine = sketch(GEMM), load_machine(NPU)
    estimator = Estimator(space, machine)
    largest = tuple(max(range(len(h.values)), key=lambda n: str(h.values[n]).zfill(9)) for h in space.holes)
    estimates = [estimator.at(p) for p in smaller_points(estimator, largest)]
    filled = [max(e.filled.values()) for e in estimates if e is not None]
    assert len(filled) == len(estimates) > 3
    assert all(later < before for before, later in pairwise(filled))
    assert filled[-1] <= 0.5 < filled[0]
