"""Programs in TVM's usual form for GPUs: the tasks of thread blocks, against hand calculations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import few
from support.programs.sources import matmul
from support.simulator.same_threads import StagedRows, staged_rows

from tilewright.engine.hwsim import MachineError, Report, load_machine, simulate
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def on_gpu(sch: Schedule) -> Report:
    return simulate(sch.func, load_machine("gpu-sm"))


def kinds(report: Report) -> list[tuple[str, str, int, int]]:
    return [(t.block, t.engine, t.tasks, t.cycles) for t in report.tasks]


def tiled(virtual: bool = False, rows: int = 128, columns: int = 128, depth: int = 64) -> Schedule:
    """A product in blocks of 32 x 32: 16 x 16 threads of 2 x 2 elements each, operands staged by 8 of the depth.

    With `virtual` threads an element of each quarter of the block is a thread's, else four next to each other.
    """
    sch = Schedule(parse(matmul(rows, columns, depth)).program)
    *sides, sum_loop = sch.get_loops("C")
    around: list[str] = []
    threads: list[str] = []
    own: list[str] = []
    for axis, loop in zip("yx", sides, strict=True):
        block, *parts = sch.split(loop, [None, 2, 16] if virtual else [None, 16, 2])
        part, thread = parts if virtual else reversed(parts)
        sch.bind(block, f"blockIdx.{axis}")
        sch.bind(thread, f"threadIdx.{axis}")
        if virtual:
            sch.bind(part, f"vthread.{axis}")
        around.append(block)
        threads.append(thread)
        own.append(part)
    outer, inner = sch.split(sum_loop, [None, 8])
    sch.reorder(*around, *(own + threads if virtual else threads), outer, inner, *(() if virtual else own))
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), threads[1])
    for operand in (0, 1):
        copy = sch.cache_read("C", operand, "shared")
        sch.compute_at(copy, outer)
        _, y, x = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, 16, 16])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    sch.decompose_reduction("C", outer)
    return sch


# A block: 1024 elements set to zero by 64 lanes: 16 cycles. 8 times each operand: 1024 bytes in whole sectors at 13 a cycle, 79, and 20 to
# issue them; then 8192 multiplications and additions: 256 cycles. 4096 bytes of results at 13 a cycle: 316; but threads that have two
# elements in a row write every other element at a time, twice all sectors of two rows: 631.
def of_tiles(virtual: bool) -> list[tuple[str, str, int, int]]:
    return [
        ("C_init", "lanes", 16, 16 * 16),
        ("A_shared", "copy", 16 * 8, 16 * 8 * 99),
        ("B_shared", "copy", 16 * 8, 16 * 8 * 99),
        # 32 x 32 x 8 products of two loads each, of 32 lanes.
        ("C", "lanes", 16 * 8, 16 * 8 * 2 * 256),
        ("C_local", "lanes", 16, 16 * (316 if virtual else 631)),
    ]


@pytest.mark.parametrize("virtual", [False, True])
def test_tasks_of_a_tiled_matmul_are_thread_blocks(virtual: bool):
    report = on_gpu(tiled(virtual))
    assert kinds(report) == of_tiles(virtual)
    # Each block copies its two strips once: all its threads together.
    assert {(t.buffer, t.bytes) for t in report.traffic} == {("A", 16 * 8 * 1024), ("B", 16 * 8 * 1024)}
    assert report.conflicts == ()


@pytest.mark.sample(1)
@pytest.mark.parametrize("virtual", [False, True])
def test_registers_are_per_thread_and_shared_memory_per_block(virtual: bool):
    report = on_gpu(tiled(virtual))
    assert report.memory["local"].peak_bytes == 32 * 32 * 4
    assert report.memory["shared"].peak_bytes == 2 * 32 * 8 * 4


def test_copies_of_double_buffers_run_ahead_under_threads():
    sch = tiled()
    straight = on_gpu(sch)
    sch.double_buffer("A_shared")
    sch.double_buffer("B_shared")
    report = on_gpu(sch)
    assert kinds(report) == of_tiles(virtual=False)
    assert report.memory["shared"].peak_bytes == 2 * straight.memory["shared"].peak_bytes
    assert straight.overlap < 0.25 < 0.5 < report.overlap
    assert report.cycles < straight.cycles


@pytest.mark.sample(1)
@pytest.mark.parametrize("slots", [1, 2])
def test_skipping_with_blocks_at_the_edge_is_exact(slots: int):
    rows, columns, depth = 333, 335, 104
    sch = tiled(rows=rows, columns=columns, depth=depth)
    if slots == 2:
        sch.double_buffer("A_shared")
        sch.double_buffer("B_shared")
    report, every = (simulate(sch.func, load_machine("gpu-sm"), whole=whole) for whole in (0, 10**9))
    assert report.to_json() == every.to_json()
    assert len(every.segments) > 4 * len(report.segments)
    # Each product and sum, and each result once to zero and once out.
    assert report.roofline.operations == 2 * rows * columns * depth + 2 * rows * columns


def test_threads_multiply_separately_and_tensor_cores_together():
    sch = tiled()
    for operand in (1, 2):
        sch.compute_at(sch.cache_read("C", operand, "local"), sch.get_loops("C")[-3])
    report = on_gpu(sch)
    assert {t.engine for t in report.tasks if t.block != "A_shared" and t.block != "B_shared"} == {"lanes"}


TRANSPOSE = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""


def transposed(padding: int = 0) -> Schedule:
    """Through shared memory, 32 x 32 threads a block; the copy is staged under the loops of its threads."""
    sch = Schedule(parse(TRANSPOSE).program)
    i, j = sch.get_loops("B")
    (bi, ti), (bj, tj) = sch.split(i, [2, 32]), sch.split(j, [2, 32])
    sch.reorder(bi, bj, ti, tj)
    copy = sch.cache_read("B", 0, "shared")
    sch.compute_at(copy, tj)
    y, x = sch.get_loops(copy)[-2:]
    for loop, tag in ((bi, "blockIdx.y"), (bj, "blockIdx.x"), (ti, "threadIdx.y"), (tj, "threadIdx.x"), (y, "threadIdx.y"),
                      (x, "threadIdx.x")):  # fmt: skip
        sch.bind(loop, tag)
    if padding:
        sch.storage_align(copy, 0, 0, 32, padding)
    return sch


# 1024 elements a block, in 32 accesses of a warp: each finds its 32 words in one bank, 31 cycles more than one.
def test_warp_reads_one_bank_32_times_in_a_shared_transpose():
    (lost,) = on_gpu(transposed()).conflicts
    assert (lost.block, lost.buffers, lost.degree) == ("B", ("A_shared",), 32)
    assert (lost.accesses, lost.cycles) == (4 * 32, 4 * 32 * 31)


def test_rows_of_33_words_have_no_bank_conflict():
    report = on_gpu(transposed(padding=1))
    assert report.conflicts == ()
    assert report.memory["shared"].peak_bytes == 32 * 33 * 4


def nested(outer: int, inner: int) -> str:
    return f"""
@T.prim_func
def main(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding({outer}, thread="threadIdx.x"):
            for r in range({32 // inner}):
                for u in T.thread_binding({inner}, thread="threadIdx.x"):
                    with T.block("B"):
                        vb = T.axis.spatial(4, b)
                        vu = T.axis.spatial(32, r * {inner} + u)
                        B[vb, vu] = A[vb, vu] + T.float32(1)
"""


def test_nested_loops_of_one_thread_tag_are_the_same_threads():
    report = on_gpu(Schedule(parse(nested(32, 32)).program))
    # 32 threads need one cycle for their 32 additions; 128 bytes read and 128 written at 13 a cycle need 20.
    assert kinds(report) == [("B", "lanes", 4, 4 * 20)]
    assert [(a.read_bytes, a.written_bytes) for a in report.accesses] == [(512, 0), (0, 512)]


def test_block_that_uses_both_loops_of_a_tag_runs_all_iterations():
    text = nested(8, 8).replace("threadIdx.x", "threadIdx.y").replace("T.axis.spatial(4, b)", "T.axis.spatial(8, t)")
    text = text.replace("(4, 32)", "(8, 32)").replace("blockIdx.x", "blockIdx.y")
    report = on_gpu(Schedule(parse(text).program))
    assert [(a.read_bytes, a.written_bytes) for a in report.accesses] == [(4 * 1024, 0), (0, 4 * 1024)]


@pytest.mark.parametrize("tag", ["threadIdx.x", "threadIdx.y", "vthread.x", "vthread"])
def test_nested_loops_of_a_tag_with_other_extents_are_refused(tag: str):
    with pytest.raises(MachineError, match="equal extents") as refused:
        on_gpu(Schedule(parse(nested(4, 8).replace("threadIdx.x", tag)).program))
    assert refused.value.refusal.code == "thread-extents"
    assert refused.value.refusal.found == "extents 4 and 8"


@few(4)
@given(staged_rows(), st.sampled_from(["cpu-core", "gpu-sm"]))
def test_loop_around_the_same_threads_changes_no_figure(rows: StagedRows, machine: str):
    around, alone = (parse(rows.text(around=around)).program for around in (True, False))
    reports = [simulate(func, load_machine(machine)).to_json() for func in (around, alone)]
    assert reports[0] == reports[1]
    lowered = [simulate(lower(func, "RemoveNoOp"), load_machine(machine)).to_json() for func in (around, alone)]
    assert lowered[0] == lowered[1]


@pytest.mark.parametrize("scope", ["local", "shared"])
@pytest.mark.parametrize("tag", ["threadIdx.x", "vthread.x"])
def test_inner_loop_over_threads_is_the_same_threads(tag: str, scope: str):
    rows = StagedRows(tag, scope, 4, 32, 1)
    direct = rows.text(around=True)
    store = direct.rindex("                for u in")
    inner = """
                with T.sblock("store"):
                    T.reads(S[vt])
                    T.writes(B[vg * 32 + vt])
                    B[vg * 32 + vt] = S[vt] * T.float32(2)
"""
    reports = [on_gpu(Schedule(parse(text).program)) for text in (direct, direct[:store] + inner)]
    assert reports[0].cycles == reports[1].cycles
    assert [r.memory["local"].peak_bytes + r.memory["shared"].peak_bytes for r in reports] == [128, 128]


FRAGMENTS = """
@T.prim_func(s_tir=True)
def fragments(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
"""


def in_fragments(warps: int) -> Schedule:
    """A product of 64^3 in fragments, the rows divided over warps, operands in shared memory from the beginning of a block."""
    sch = Schedule(parse(FRAGMENTS).program)
    i, _, _ = sch.get_loops("C")
    warp, _ = sch.split(i, [warps, None])
    sch.bind(warp, "threadIdx.y")
    sch.reverse_compute_at(sch.cache_write("C", 0, "wmma.accumulator"), warp)
    for position, scope in enumerate(("wmma.matrix_a", "wmma.matrix_b")):
        sch.cache_read("C", position, "shared")
        sch.compute_at(sch.cache_read("C", position, scope), warp)
    sch.decompose_reduction("C", sch.get_loops("C")[1])
    return sch


# Tensor cores: 4 x 8 x 4 tiles of 16 x 8 x 16, 2 cycles each. The lanes load, and set to zero, a row of 64 elements in one operation; each
# warp loads its rows of A, and all of B.
@pytest.mark.parametrize("warps", [1, 2, 4])
def test_whole_warps_execute_work_on_fragments(warps: int) -> None:
    tasks = {name: (engine, count * cycles) for name, engine, count, cycles in kinds(on_gpu(in_fragments(warps)))}
    assert tasks["C"] == ("tensor", 4 * 8 * 4 * 2)
    assert tasks["A_shared_wmma.matrix_a"] == tasks["C_init"] == ("lanes", 64)
    assert tasks["B_shared_wmma.matrix_b"] == ("lanes", 64 * warps)
