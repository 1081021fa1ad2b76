"""A padding block reads nothing at the border: a move after its producer would omit the border, as in TVM 0.27."""

from __future__ import annotations

import pytest
from support.programs.sources import HEADER

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

PADDED = (
    HEADER
    + """@T.prim_func(s_tir=True)
def padded(A: T.Buffer((8,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.sblock_alloc_buffer((8,))
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + T.float32(1)
    for j in range(10):
        with T.sblock("C"):
            v = T.axis.spatial(10, j)
            C[v] = T.if_then_else(1 <= v and v < 9, B[v - 1], T.float32(0))
"""
)


@pytest.mark.parametrize("calls", ["reverse_compute_at", "reverse_compute_inline"])
def test_padding_does_not_move_to_its_producer(calls: str) -> None:
    sch = Schedule(parse(PADDED).program)
    before = sch.mod
    with pytest.raises(ScheduleError):
        if calls == "reverse_compute_at":
            sch.reverse_compute_at("C", sch.get_loops("B")[0])
        else:
            sch.reverse_compute_inline("C")
    assert sch.mod is before
    assert not any(target.legal for target in sch.legal_targets("C"))


def test_producer_of_padding_is_moved_or_inlined() -> None:
    for inline in (True, False):
        sch = Schedule(parse(PADDED).program)
        if inline:
            sch.compute_inline("B")
        else:
            outer, _ = sch.split(sch.get_loops("C")[0], factors=[None, 4])
            sch.compute_at("B", outer)
        assert sch.verify().status == "tested"


def test_a_crop_moves_to_its_producer() -> None:
    """A crop reads only existing elements."""
    sch = Schedule(
        parse(
            PADDED.replace("T.if_then_else(1 <= v and v < 9, B[v - 1], T.float32(0))", "B[v + 2]").replace("10", "5")
        ).program
    )
    sch.reverse_compute_at("C", sch.get_loops("B")[0])
    assert sch.verify().status == "tested"
