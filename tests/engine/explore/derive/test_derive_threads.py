"""Derived schedules for GPUs: thread blocks, reductions across threads, and products on tensor cores in warps."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import pytest
from support.programs.real_programs import REAL
from support.programs.sources import ROWS

import tilewright
from tilewright.app.document.intrinsics import read_intrinsics
from tilewright.engine.analysis import ProgramIndex
from tilewright.engine.explore import DerivedSpace, EvaluationRequest, Evaluator, derive_space
from tilewright.engine.explore.derive.draft import executes_threads
from tilewright.engine.hwsim import estimate_cost, load_machine, simulate
from tilewright.engine.ir import BufferStore, PrimFunc, free_vars
from tilewright.engine.schedule import Intrinsics, Schedule
from tilewright.engine.script import parse

GPU = load_machine("gpu-sm")
HAND = Path(__file__).parents[3] / "hand"

GEMM = """
@T.prim_func(s_tir=True)
def gemm(A: T.Buffer((64, 64), "{operand}"), B: T.Buffer((64, 64), "{operand}"), D: T.Buffer((64, 64), "float32")):
    C = T.sblock_alloc_buffer((64, 64))
    for i, j, k in T.grid(64, 64, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(64, 64):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""

TOTAL = """
@T.prim_func(s_tir=True)
def total(X: T.Buffer((2, 4096), "float32"), Y: T.Buffer((2,), "float32")):
    for i, k in T.grid(2, 4096):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]
"""

TEXTS = {
    "rows": ROWS,
    "softmax": REAL["softmax"].text,
    "layer_norm": REAL["layer_norm"].text,
    "total": TOTAL,
    "float16": GEMM.format(operand="float16"),
    "float32": GEMM.format(operand="float32").replace(
        'T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])', "A[vi, vk] * B[vk, vj]"
    ),
}


@cache
def derived(name: str) -> DerivedSpace:
    found = parse(TEXTS[name]).program
    assert isinstance(found, PrimFunc)
    return derive_space(found, GPU, intrinsics=Intrinsics())


def tags_of(index: ProgramIndex, name: str) -> set[str]:
    return {loop.thread_tag or "" for loop in index.loops_of(name)}


def default_schedule(name: str) -> Schedule:
    space = derived(name).space
    return space.schedule_at(space.default).schedule


SLOW = pytest.mark.slow
SAMPLED = [pytest.param(name, marks=SLOW) for name in ("softmax", "layer_norm", "total", "float16")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows", *SAMPLED])
def test_all_work_of_the_default_is_in_thread_blocks(name: str) -> None:
    sch = default_schedule(name)
    outcome = Evaluator(derived(name).space, GPU, ("cycles",)).tried(EvaluationRequest(0, derived(name).space.default))
    assert outcome.fits
    assert sch.check().status in ("proved", "tested")
    for block in sch.index.block_names[1:]:
        assert "blockIdx.x" in tags_of(sch.index, block), block
        if not any("wmma" in b.buffer.scope for b in (*sch.index.block(block).reads, *sch.index.block(block).writes)):
            assert "threadIdx.x" in tags_of(sch.index, block), block


@pytest.mark.parametrize("name", ["rows", *SAMPLED])
def test_threads_exchange_in_shared_memory(name: str) -> None:
    sch = default_schedule(name)
    written = [w.buffer for b in sch.index.block_names[1:] for w in sch.index.block(b).writes]
    assert {b.scope.partition(".")[0] for b in written} <= {"global", "shared", "wmma"}


@pytest.mark.parametrize(
    ("name", "block"),
    [("rows", "S"), pytest.param("softmax", "largest", marks=SLOW), pytest.param("total", "Y", marks=SLOW)],
)
def test_reduction_along_rows_runs_across_threads(name: str, block: str) -> None:
    sch = default_schedule(name)
    realize = sch.index.realize(block)
    threads = [loop.loop_var for loop in sch.index.loops_of(block) if loop.thread_tag == "threadIdx.x"]
    kinds = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    assert threads and any(threads[0] in free_vars(value) for iv, value in kinds if iv.iter_type == "reduce")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows", *SAMPLED[:3:2]])
def test_no_tile_size_and_no_number_of_threads_is_refused(name: str) -> None:
    space = derived(name).space
    evaluator = Evaluator(space, GPU, ("cycles",))
    points = list(product(*(range(len(hole.values)) for hole in space.holes)))
    outcomes = [
        evaluator.tried(EvaluationRequest(n, point)) for n, point in enumerate(points[:: max(1, len(points) // 12)])
    ]
    assert {o.status for o in outcomes} <= {"fits", "over"}


@SLOW
def test_float16_product_uses_fragments_and_shared_memory() -> None:
    text = derived("float16").text
    for scope in ("wmma.accumulator", "wmma.matrix_a", "wmma.matrix_b", "shared.dyn"):
        assert f'"{scope}"' in text
    assert 'sch.bind(C_warp, "threadIdx.y")' in text
    assert any("none of the registered ones" in one for one in derived("float16").left_out)


@SLOW
def test_product_that_fragments_cannot_hold_is_computed_by_threads() -> None:
    found = derived("float32")
    assert 'sch.bind(C_x, "threadIdx.x")' in found.text
    assert any(one.startswith("C on lanes: no product of float16 fragments") for one in found.decisions)


@SLOW
def test_the_blocks_of_a_chip_are_its_tiles() -> None:
    chip = load_machine("a100")
    program = parse(TEXTS["float16"].replace("64", "512")).program
    assert isinstance(program, PrimFunc)
    found = derive_space(program, chip, intrinsics=Intrinsics())
    assert 'sch.bind(grid, "blockIdx.x")' in found.text
    (kept,) = (hole for hole in found.space.holes if hole.name == "tiles per block")
    assert kept.values[0] == 1
    sch = found.space.schedule_at(found.space.default).schedule
    report, estimate = simulate(sch.func, chip), estimate_cost(sch.index, chip)
    assert report.chip is not None and report.chip.launches[0].blocks > 1
    assert report.cycles / 3 < estimate.cycles < 3 * report.cycles


def test_only_machines_with_shared_memory_have_threads() -> None:
    others = ("cpu-core", "dual-bank-npu", "gemmini", "matrix-vector-npu", "vta", "tpu-v1")
    assert executes_threads(GPU) and not any(executes_threads(load_machine(name)) for name in others)


@SLOW
def test_registered_intrinsics_replace_all_parts_of_a_product() -> None:
    notebook = tilewright.load(HAND / "gemm" / "gpu_gemm.py")
    assert isinstance(notebook.program, PrimFunc) and notebook.schedule is not None
    intrinsics = read_intrinsics(notebook.document)
    found = derive_space(notebook.program, GPU, intrinsics=intrinsics)
    sch = found.space.schedule_at(found.space.default).schedule
    assert len(sch.tensorized) == 5
    leaves = [b for b in sch.index.block_names[1:] if isinstance(sch.index.block(b).body, BufferStore)]
    assert {b.partition(".")[0] for b in leaves} == {"A_shared", "B_shared"}
    outcome = Evaluator(found.space, GPU, ("cycles",)).tried(EvaluationRequest(0, found.space.default))
    assert outcome.fits and outcome.figures is not None
    assert outcome.figures.cycles <= 1.05 * tilewright.simulate(notebook.schedule, GPU).cycles
