"""Approximate cycles of overlapping work: phases, and tasks that wait for each other."""

from __future__ import annotations

from tilewright.engine.hwsim.cost.overlapped import Copy, UnitWork, overlapped


def load(phase: int, count: int, cycles: int) -> Copy:
    """Copies into a buffer with two slots."""
    return Copy(phase, count, 1 << 30, cycles, leaves=False, busy={"dma": count * cycles})


def test_busiest_engine_decides_overlapped_cycles() -> None:
    works = [UnitWork(0, "matrix", 8, 100), UnitWork(0, "vector", 8, 60)]
    assert overlapped([], works) == (800, 800)


def test_one_slot_serializes_reader_and_next_task() -> None:
    product = UnitWork(0, "matrix", 8, 100)
    applied = UnitWork(0, "vector", 8, 60, (product,))
    down = UnitWork(0, "matrix", 8, 50, (applied,))
    assert overlapped([], [product, applied]) == (800, 1280)
    assert overlapped([], [product, applied, down]) == (1200, 1680)


def test_independent_work_fills_idle_time() -> None:
    product = UnitWork(0, "matrix", 8, 100)
    applied = UnitWork(0, "vector", 8, 60, (product,))
    other = UnitWork(0, "matrix", 8, 30)
    assert overlapped([], [product, applied, other]) == (1040, 1280)


def test_copies_of_one_phase_do_not_overlap_work_of_another() -> None:
    bound_by_copies = [load(0, 10, 50)], [UnitWork(0, "matrix", 10, 5)]
    bound_by_work = [load(1, 10, 5)], [UnitWork(1, "matrix", 10, 50)]
    apart = [overlapped(*one)[1] for one in (bound_by_copies, bound_by_work)]
    both = tuple(a + b for a, b in zip(bound_by_copies, bound_by_work, strict=True))
    assert overlapped(*both) == (550, sum(apart))


def test_copy_before_all_work_belongs_to_the_first_phase_with_work() -> None:
    assert overlapped([load(0, 1, 70)], [UnitWork(1, "vector", 2, 10)])[1] == 90
