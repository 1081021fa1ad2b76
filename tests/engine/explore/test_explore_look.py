"""What is seen of a candidate before it is tried: near enough to what a replay finds to choose by, and what is shared stays what it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.layer_spaces import TARGETS, layer_space
from support.layers import Layer
from support.spaces import gemm_space

from tilewright.engine.explore import Bench, Question, Space, prefixes
from tilewright.engine.explore.looking import Looking
from tilewright.engine.explore.prefixes import Prefixes, Refused
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import TilewrightError, structural_equal

GEMMINI = load_machine("gemmini")
SPACE = gemm_space()
LAYER = layer_space(Layer("small", 64, 64, 128), TARGETS["dual-bank-npu"])


def looking(space: Space, machine: str) -> Looking:
    return Looking(space, load_machine(machine), Prefixes(space))


@given(st.lists(st.integers(0, SPACE.size - 1), min_size=1, max_size=8), st.sampled_from([1, 3, 512]))
@settings(max_examples=20)
def test_given_moments_that_are_kept_or_gone_then_schedules_and_refusals_are_those_of_the_space(
    numbers: list[int], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefixes, "MOST_KEPT", most)
        shared = Prefixes(SPACE)
        for point in map(SPACE.point_at, numbers):
            found = shared.at(point)
            try:
                expected = SPACE.schedule_at(point)
            except TilewrightError as error:
                assert isinstance(found, Refused) and found.error.code == error.code
                assert found.line == len(SPACE.lines) - 1  # only the last one, of slots, is ever refused here
            else:
                assert not isinstance(found, Refused)
                assert structural_equal(found.schedule.func, expected.schedule.func)


@pytest.mark.parametrize(("space", "machine"), [(SPACE, "gemmini"), (LAYER, "dual-bank-npu")], ids=["gemm", "layer"])
def test_given_candidates_then_those_that_fit_look_so_and_what_they_move_takes_no_longer_than_they_do(
    space: Space, machine: str
) -> None:
    looks = looking(space, machine)
    bench = Bench(space, load_machine(machine), ("cycles",))
    seen = refused = 0
    for number in range(0, space.size, max(1, space.size // 40)):
        point = space.point_at(number)
        outcome, look = bench.tried(Question(number, point)), looks.at(point)
        if outcome.fits:
            assert look is not None and look.fits and outcome.figures is not None
            assert 0 < look.moving <= outcome.figures.cycles and look.tasks > 0
            assert looks.is_hopeful(point) and not looks.is_hopeful(point, look.moving)
            seen += 1
        if look is None:
            assert outcome.status == "refused" and not looks.is_hopeful(point)
            refused += 1
    assert seen > 5 and refused > 0


def test_given_more_than_a_memory_holds_then_it_looks_so() -> None:
    small = GEMMINI.replace("memories.scratchpad.capacity_bytes", 2048)
    looks = Looking(SPACE, small, Prefixes(SPACE))
    bench = Bench(SPACE, small, ("cycles",))
    points = list(SPACE.points())
    over = [p for p in points if (look := looks.at(p)) is not None and not look.fits]
    assert over and {bench.tried(Question(0, point)).status for point in over} == {"over"}


def test_given_late_calls_then_those_that_differ_in_them_only_look_the_same() -> None:
    shared = Prefixes(LAYER)
    one = LAYER.default
    banks, sums = (n for n, hole in enumerate(LAYER.holes) if hole.name in ("banks", "sums"))
    other = tuple(1 if n in (banks, sums) else at for n, at in enumerate(one))
    assert shared.early_values(one) == shared.early_values(other) != one
    assert shared.early(one) is shared.early(other)
