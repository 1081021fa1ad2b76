"""Blocks with incomplete regions: missing regions are added, so that later calls see the dependence."""

from __future__ import annotations

import pytest

from tilewright.engine.analysis import honest_signatures
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

SILENT = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def silent(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((16,))
    C = T.sblock_alloc_buffer((16,))
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
    with T.sblock("opaque"):
        T.reads()
        T.writes()
        for x in range(16):
            with T.sblock("C"):
                vi = T.axis.spatial(16, x)
                C[vi] = B[15 - vi]
    for y in range(16):
        with T.sblock("D"):
            vi = T.axis.spatial(16, y)
            D[vi] = C[vi]
"""


def test_missing_regions_of_a_block_are_added():
    sch = Schedule(parse(SILENT).program)
    assert "T.reads(B[0:16])" in to_script(sch.mod)
    assert "T.writes(C[0:16])" in to_script(sch.mod)
    assert sch.get_consumers("B") == ["opaque"]
    assert sch.get_producers("D") == ["opaque"]


@pytest.mark.parametrize(
    "call", [lambda s: s.merge("i", "y"), lambda s: s.reverse_compute_at("D", "i")], ids=["merge", "reverse_compute_at"]
)
def test_call_that_breaks_an_undeclared_dependence_is_refused(call):
    sch = Schedule(parse(SILENT).program)
    with pytest.raises(ScheduleError):
        call(sch)
    assert sch.verify().status == "tested"


def test_complete_regions_change_nothing():
    func = Schedule(parse(SILENT).program).func
    assert honest_signatures(func) is func
