"""Schedules of loops whose trip counts are data: a row may be empty, so calls that would then write something else are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.engine.data import DataValue, with_data
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

SPMV = """
@T.prim_func(s_tir=True)
def rows(
    P: T.Buffer((17,), "int32"), V: T.Buffer((64,), "float32"), Y: T.Buffer((16,), "float32"), Z: T.Buffer((16,), "float32")
):
    for i in range(16):
        with T.sblock("row"):
            vi = T.axis.spatial(16, i)
            T.reads(P[vi:vi + 2], V[0:64])
            T.writes(Y[vi])
            {zero}
            for j in range(P[vi + 1] - P[vi]):
                with T.sblock("sum"):
                    vj = T.axis.reduce(64, j)
                    T.reads(P[vi:vi + 2], V[0:64], Y[vi])
                    T.writes(Y[vi])
                    {init}
                    Y[vi] = Y[vi] + V[P[vi] + vj]
    for i in range(16):
        with T.sblock("out"):
            vi = T.axis.spatial(16, i)
            Z[vi] = {value}
"""

INIT = "with T.init():\n                        Y[vi] = T.float32(0)"
WITH_INIT = SPMV.format(zero="T.evaluate(0)", init=INIT, value="T.float32(1)")
ZEROED = SPMV.format(zero="Y[vi] = T.float32(0)", init="T.evaluate(0)", value="Y[vi] * T.float32(2)")

EMPTY: dict[str, DataValue] = {"P": [0, 0, *(4 * n for n in range(1, 16))]}


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.decompose_reduction("sum", s.get_loops("sum")[-1]),
        lambda s: s.rfactor(s.get_loops("sum")[-1], 0),
        lambda s: s.cache_write("row", 0, "global"),
    ],
    ids=["decompose_reduction", "rfactor", "cache_write"],
)
def test_a_sum_that_may_have_no_terms_is_not_separated(call: Callable[[Schedule], object]) -> None:
    sch = Schedule(with_data(parse(WITH_INIT).program, EMPTY))
    before = sch.func
    with pytest.raises(ScheduleError):
        call(sch)
    assert sch.func is before


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.split(s.get_loops("row")[0], [None, 3]),
        lambda s: s.parallel(s.get_loops("row")[0]),
        lambda s: s.bind(s.get_loops("row")[0], "threadIdx.x"),
        lambda s: s.cache_read("row", 0, "global"),
        lambda s: s.cache_read("row", 1, "global"),
        lambda s: s.reverse_compute_at("out", s.get_loops("row")[0]),
    ],
    ids=["split", "parallel", "bind", "offsets", "values", "reverse_compute_at"],
)
def test_other_calls_keep_the_result_for_empty_rows(call: Callable[[Schedule], object]) -> None:
    sch = Schedule(with_data(parse(ZEROED).program, EMPTY))
    call(sch)
    assert sch.verify().status == "tested"
