"""Divisors of extents: all of them, without a loop over the extent."""

from __future__ import annotations

import pytest

from tilewright.engine.arith import divisors
from tilewright.engine.explore.space.tiling_target import Dim
from tilewright.engine.ir import Var


@pytest.mark.parametrize("number", [*range(1, 200), 1024, 4096 * 27, 65521])
def test_divisors_are_all_and_ascending(number: int) -> None:
    assert divisors(number) == [n for n in range(1, number + 1) if number % n == 0]


@pytest.mark.parametrize("number", [2**31 - 1, 2**31 - 2, 2**62, (2**31 - 1) ** 2, 10**18])
def test_a_huge_number_has_its_divisors(number: int) -> None:
    found = divisors(number)
    assert found[0] == 1 and found[-1] == number and not any(number % n for n in found)


def test_a_huge_loop_has_tiles() -> None:
    assert Dim("i", Var("i", "int32"), 2**31 - 1, False, 16).tiles[-1] == 2**31 - 1
