"""Times of programs on this computer: what is built, run and compared. No test asserts a time."""

from __future__ import annotations

import pytest

from tilewright.engine.ir import PrimFunc, TilewrightError
from tilewright.engine.measure import MOST_PROGRAMS, Candidate, Spread, measure
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

pytest.importorskip("tvm")

SCALE = """
@T.prim_func
def main(A: T.Buffer(({n}, 16), "{dtype}"), B: T.Buffer(({n}, 16), "{dtype}")):
    for i, j in T.grid({n}, 16):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * {factor}
"""


def scale(factor: str = "T.float32(2)", dtype: str = "float32", n: int = 8) -> PrimFunc:
    program = parse(SCALE.format(factor=factor, dtype=dtype, n=n)).program
    assert isinstance(program, PrimFunc)
    return program


def test_schedules_of_a_program_have_times_and_equal_results() -> None:
    schedule = Schedule(scale())
    block = schedule.get_block("b")
    i, j = schedule.get_loops(block)
    schedule.vectorize(j)
    schedule.parallel(i)
    measured = measure([Candidate("start", scale()), Candidate("vectors", schedule.func)], seconds=0.1)
    assert [row.name for row in measured.rows] == ["start", "vectors"]
    for row in measured.rows:
        assert row.difference == "" and not row.refusal and row.calls >= 1
        assert row.warm is not None and row.cold is not None
        assert 0 < row.warm.low <= row.warm.median <= row.warm.high and row.cold.low > 0
    host = measured.host
    assert host.compiler.startswith("TVM ") and "LLVM" in host.compiler and "-mcpu=" in host.flags
    assert host.processor and len(host.date) == 10


def test_another_result_is_named_with_its_element() -> None:
    other = Candidate("other", scale("T.float32(3)"))
    first, second = measure([Candidate("start", scale()), other], seconds=0.05).rows
    assert first.difference == "" and second.warm is not None
    assert second.difference is not None and second.difference.startswith("B[0, 0] is ")


def test_a_changed_layout_of_a_parameter_gets_its_input_in_that_layout() -> None:
    schedule = Schedule(scale())
    schedule.transform_layout("b", ("read", 0), lambda i, j: (j, i))
    assert schedule.layouts
    changed = Candidate("transposed", schedule.func, schedule.layouts)
    row = measure([Candidate("start", scale()), changed], seconds=0.05).rows[1]
    assert row.warm is not None and row.difference is None


def test_the_code_is_for_the_named_processor() -> None:
    assert "-mcpu=x86-64" in measure([Candidate("start", scale())], seconds=0.05, cpu="x86-64").host.flags


def test_threads_of_a_gpu_are_refused_before_a_process_starts() -> None:
    schedule = Schedule(scale())
    schedule.bind(schedule.get_loops("b")[0], "threadIdx.x")
    with pytest.raises(TilewrightError, match=r"cannot-measure.*") as refused:
        measure([Candidate("start", schedule.func)])
    assert refused.value.refusal.code == "cannot-measure" and "threadIdx.x" in refused.value.refusal.message
    row = measure([Candidate("start", scale()), Candidate("threads", schedule.func)], seconds=0.05).rows[1]
    assert row.warm is None and row.refusal == "loops are bound to threadIdx.x"


def test_a_call_of_a_function_of_the_system_is_not_built() -> None:
    call = 'T.call_extern("float32", "system", A[vi, vj])'
    with pytest.raises(TilewrightError) as refused:
        measure([Candidate("start", scale(f"T.float32(2) + {call}"))])
    assert refused.value.refusal.code == "cannot-measure"


def test_counts_and_names_of_programs_are_checked() -> None:
    with pytest.raises(TilewrightError, match="1 to 200"):
        measure([])
    with pytest.raises(TilewrightError, match="1 to 200"):
        measure([Candidate(str(n), scale()) for n in range(MOST_PROGRAMS + 1)])
    with pytest.raises(TilewrightError, match="same name"):
        measure([Candidate("start", scale())] * 2)


def test_a_spread_has_the_middle_eight_tenths() -> None:
    assert Spread.of([5.0, 1.0, 3.0]) == Spread(3.0, 1.0, 5.0)
    assert Spread.of([float(n) for n in range(11)]) == Spread(5.0, 1.0, 9.0)
    assert Spread.of([2.0, 4.0]) == Spread(3.0, 2.0, 4.0)
