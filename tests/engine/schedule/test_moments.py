"""Earlier steps of a schedule, and moves to a schedule that continued differently."""

from __future__ import annotations

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN

import tilewright
from tilewright.engine.ir import structural_equal
from tilewright.engine.schedule import Schedule, ScheduleError


def split_chain() -> Schedule:
    sch = Schedule(tilewright.parse(ELEMENTWISE_CHAIN))
    i, _ = sch.get_loops("C")
    sch.split(i, factors=[None, 4], names=["io", "ii"])
    return sch


def test_the_schedule_at_a_step_is_as_it_was() -> None:
    sch = split_chain()
    first, last = sch.at(0), sch.at(len(sch.trace))
    assert structural_equal(first.mod, sch.original) and not first.trace.steps
    assert last.mod is sch.mod
    first.split(first.get_loops("C")[0], factors=[None, 2])
    assert len(sch.trace) == 2 and len(sch.at(1).trace) == 1


@pytest.mark.parametrize("count", [-1, 3])
def test_a_missing_step_is_refused(count: int) -> None:
    with pytest.raises(ScheduleError) as refused:
        split_chain().at(count)
    assert refused.value.refusal.code == "no-such-step"


def test_go_to_a_copy_updates_all_holders() -> None:
    sch = split_chain()
    other = sch.copy()
    other.unroll(other.get_loop("ii"))
    sch.go_to(other)
    assert sch.mod is other.mod and sch.trace is other.trace
    sch.undo()
    assert len(other.trace) == 4, "the copy stays where it is"
    sch.vectorize(sch.get_loop("ii"))


class Holder:
    def __init__(self) -> None:
        self.times = 0

    def notified(self) -> None:
        self.times += 1


def test_go_to_notifies_live_followers() -> None:
    sch, one, other = split_chain(), Holder(), Holder()
    sch.follow(one.notified)
    sch.follow(other.notified)
    other_way = sch.copy()
    other_way.unroll(other_way.get_loop("ii"))
    del other
    sch.go_to(other_way)
    other_way.go_to(sch)
    assert one.times == 1


def test_go_to_another_program_is_refused() -> None:
    sch = split_chain()
    before = sch.mod
    with pytest.raises(ScheduleError) as refused:
        sch.go_to(split_chain())
    assert refused.value.refusal.code == "other-program" and sch.mod is before
