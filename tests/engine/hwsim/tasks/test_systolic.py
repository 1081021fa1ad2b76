"""Matrix products on systolic arrays: the folds, the cycles of each, and the product that a program's loops define."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.gemms import array_machine, gemm, tiled_gemm

from tilewright.engine.hwsim import Machine, MachineError, SystolicEngine, simulate
from tilewright.engine.hwsim.cost.systolic import array_cycles, drain_cycles, fold
from tilewright.engine.hwsim.machine.parts import Dataflow
from tilewright.engine.hwsim.tasks.product import Product
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

DATAFLOWS: tuple[Dataflow, ...] = ("output_stationary", "weight_stationary", "input_stationary")
sizes = st.integers(1, 40)
arrays = st.integers(1, 12)


def square(m: int, k: int) -> PrimFunc:
    """Sums of squares: each result is its own product, a row by itself."""
    source = f"""from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def square(A: T.Buffer(({m}, {k}), "int8"), C: T.Buffer(({m},), "int32")):
    for i, k in T.grid({m}, {k}):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", A[vi, vk])
"""
    program = parse(source).program
    assert isinstance(program, PrimFunc)
    return program


@given(sizes, sizes, sizes, arrays, arrays, st.sampled_from(DATAFLOWS))
def test_law_array_cycles_are_those_of_a_step_by_step_account(
    m: int, n: int, k: int, rows: int, columns: int, dataflow: Dataflow
) -> None:
    """Each fold loads a stationary operand row by row, then the last step's operands reach the farthest cell."""
    down, across, steps = {
        "output_stationary": (m, n, k), "weight_stationary": (k, n, m), "input_stationary": (k, m, n),
    }[dataflow]  # fmt: skip
    cycles = 0
    for _ in range(0, down, rows):
        for _ in range(0, across, columns):
            loading = 0 if dataflow == "output_stationary" else rows
            last_step, farthest = loading + steps - 1, rows - 1 + columns - 1
            cycles += last_step + farthest + 1
    folding = fold(dataflow, rows, columns, Product(m, n, k))
    assert folding.down * folding.across * folding.cycles == cycles


@given(sizes, sizes, sizes, arrays, arrays, st.sampled_from(DATAFLOWS))
def test_law_the_array_is_never_faster_than_its_cells(
    m: int, n: int, k: int, rows: int, columns: int, dataflow: Dataflow
) -> None:
    folding = fold(dataflow, rows, columns, Product(m, n, k))
    assert folding.down * folding.across * folding.cycles * rows * columns >= m * n * k
    once = {
        "output_stationary": folding.writes,
        "weight_stationary": folding.reads[1],
        "input_stationary": folding.reads[0],
    }
    assert once[dataflow] == 1


def test_overhanging_tiles_count_only_actual_rows() -> None:
    """13 x 8 rows cut to 100 by a condition over both loops are 100 rows to the array, 13 folds of 8 and not of 104."""
    machine = array_machine(50, 8, "output_stationary")
    sch = Schedule(gemm(100, 8, 8))
    sch.split(sch.get_loops("C")[0], factors=[None, 8])
    assert simulate(sch.func, machine).cycles == simulate(gemm(100, 8, 8), machine).cycles == 2 * (8 + 50 + 8 - 2)


def test_each_result_of_a_square_is_its_own_product() -> None:
    report = simulate(square(5, 16), array_machine(8, 8, "output_stationary"))
    assert report.cycles == 5 * (16 + 14)
    (access,) = (a for a in report.accesses if a.buffer == "A")
    assert access.read_bytes == 5 * 16 * 2


def test_first_of_swapped_factors_is_still_the_input() -> None:
    """The order of factors in the program decides which operand is stationary."""
    machine = array_machine(8, 8, "weight_stationary")
    source = gemm(64, 8, 8)
    assert simulate(source, machine).cycles == 8 + 64 + 14
    swapped = parse(
        """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def gemm(A: T.Buffer((64, 8), "int8"), B: T.Buffer((8, 8), "int8"), C: T.Buffer((64, 8), "int32")):
    for i, j, k in T.grid(64, 8, 8):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", B[vk, vj]) * T.Cast("int32", A[vi, vk])
"""
    ).program
    assert isinstance(swapped, PrimFunc)
    assert simulate(swapped, machine).cycles == 8 * (8 + 8 + 14)


@pytest.mark.parametrize("value", ["tile", "", "row_stationary"])
def test_an_unknown_dataflow_is_refused(value: str) -> None:
    with pytest.raises(MachineError, match="dataflow") as caught:
        array_machine(8, 8, "output_stationary").replace("array.dataflow", value)
    assert caught.value.refusal.code == "bad-figure"


def in_sequence(rows: int, columns: int, streams: list[int]) -> int:
    """Cycles from the first stream to the last result, fold by fold, as ONNXim's SystolicWS.cc issues preloads and computes: the next fold
    starts when the one before it has streamed and its weights are loaded, and a stream is at least 4 cycles long.
    """
    start = 0
    for before in streams[:-1]:
        start += max(before, 4, rows)
    return start + rows + columns - 2 + max(streams[-1], 4)


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 200), st.sampled_from([4, 8, 16, 32]))
def test_law_folds_with_two_registers_follow_as_in_onnxim(m: int, n: int, k: int, size: int) -> None:
    engine = doubled(size).engine("array")
    assert isinstance(engine, SystolicEngine)
    folds = -(-k // size) * -(-n // size)
    ours = array_cycles(engine, Product(m, n, k)) + drain_cycles(engine)
    theirs = in_sequence(size, size, [m] * folds)
    # The array is occupied until the next weights are in, also after a short last stream.
    assert 0 <= ours - theirs <= max(0, size - m)


def doubled(size: int, *, staged: bool = False) -> Machine:
    machine = array_machine(size, size, "weight_stationary", staged=staged)
    return machine.replace("engines.array.weights", "double")


def test_two_registers_preload_during_streaming() -> None:
    """Eight tasks of one fold each, whose loads take a cycle: only the first waits for its weights."""
    func = tiled_gemm(16, 16, 128, (16, 16, 16), "MNK", doubled=True)
    report = simulate(func, doubled(16, staged=True))
    tasks = [s for s in report.segments.between() if s.engine == "array"]
    assert [(s.end - s.start, s.ready - s.end) for s in tasks[1:]] == [(16, 30)] * 7
    # A slot is free for the next load when its task ends; its two loads need two cycles, and the preload 16.
    assert max(after.start - before.end for before, after in pairwise(tasks)) <= 3
    loaded = min(s.ready for s in report.segments.between() if s.engine == "dma" and "B_local#0" in s.writes)
    assert tasks[0].start == loaded + 16


def test_one_register_serializes_its_phases() -> None:
    func = tiled_gemm(16, 16, 128, (16, 16, 16), "MNK", doubled=True)
    single = simulate(func, array_machine(16, 16, "weight_stationary", staged=True))
    tasks = [s for s in single.segments.between() if s.engine == "array"]
    assert {s.end - s.start for s in tasks[1:]} == {16 + 16 + 30} and {s.ready - s.end for s in tasks} == {0}


def test_two_registers_without_a_stationary_operand_are_refused() -> None:
    with pytest.raises(MachineError) as error:
        array_machine(8, 8, "output_stationary").replace("engines.array.weights", "double")
    assert error.value.code == "no-weights" and "weight_stationary" in str(error.value.refusal.expected)
