"""Indices with values of tables: iterations write distinct elements if all of them load the same element of the table."""

from __future__ import annotations

import pytest

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

ROWS = """
@T.prim_func(s_tir=True)
def main(first: T.Buffer((4,), "int32"), A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 4, 16), "float32"), n: T.int32):
    for i, j in T.grid(32, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj], first[0:4])
            T.writes(B[{row}, {part}, vj])
            B[{row}, {part}, vj] = A[vi, vj]
"""


def interchange(row: str, part: str) -> None:
    sch = Schedule(parse(ROWS.format(row=row, part=part)).program)
    i, j = sch.get_loops("B")
    i0, i1 = sch.split(i, [None, 8])
    sch.reorder(j, i1, i0)


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("first[1] + (n + vi) // 4", "(n + vi) % 4"),
        ("first[n] + vi // 4", "vi % 4"),
        ("first[first[0]] + vi // 4", "(vi + first[1]) % 4"),
    ],
)
def test_rows_from_an_element_of_a_table_are_distinct(row: str, part: str) -> None:
    interchange(row, part)


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("first[vi % 4] + vi // 4", "vi % 4"),
        ("first[1] + vi // 8", "vi % 4"),
        ("first[first[vi // 8]] + vi // 4", "vi % 4"),
    ],
)
def test_rows_that_may_meet_are_refused(row: str, part: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        interchange(row, part)
    assert caught.value.refusal.code == "order-dependent"


def test_a_table_that_the_iterations_write_is_no_constant() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((32,), "int32"), B: T.Buffer((64, 4), "int32")):
    t = T.sblock_alloc_buffer((1,), "int32")
    for i in range(32):
        with T.sblock("table"):
            vi = T.axis.spatial(32, i)
            t[0] = A[vi]
        with T.sblock("B"):
            vi = T.axis.spatial(32, i)
            T.reads(t[0])
            T.writes(B[t[0] + vi // 4, vi % 4])
            B[t[0] + vi // 4, vi % 4] = vi
"""
    sch = Schedule(parse(text).program)
    with pytest.raises(ScheduleError) as caught:
        sch.parallel(sch.get_loops("B")[0])
    assert caught.value.refusal.code == "order-dependent"
