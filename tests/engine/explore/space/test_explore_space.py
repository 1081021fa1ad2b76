"""Holes and their spaces: read as data, filled byte for byte, with the meaning that Python gives them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.schedules.spaces import LINES, gemm_space

import tilewright
from tilewright.engine.adopt import LineError, hole_of
from tilewright.engine.explore import HoleError, SpaceError, space_of
from tilewright.engine.ir import IndexMap, TilewrightError, structural_equal
from tilewright.engine.script import read_calls

SPACE = gemm_space()


def hole(text: str):
    (call,) = read_calls(text)
    return hole_of(call)


def test_holes_have_values_and_their_texts() -> None:
    assert [(h.name, h.target, h.values) for h in SPACE.holes[:3]] == [
        ("ti", "ti", (32, 8, 16)), ("tj", "tj", (16, 32)), ("tk", "tk", (32,)),
    ]  # fmt: skip
    assert SPACE.holes[4].texts == ('"ko"', '"jo"', '"io"')
    assert SPACE.size == 72 and SPACE.default == (0,) * 6


def test_values_of_every_kind_are_read() -> None:
    found = hole('x = choose("x", [None, 2, "local", [None, 4], lambda i, j: [j, i], 4 * 16])')
    assert found.values[:4] == (None, 2, "local", [None, 4]) and found.values[5] == 64
    assert isinstance(found.values[4], IndexMap)
    assert found.texts == ("None", "2", '"local"', "[None, 4]", "lambda i, j: [j, i]", "4 * 16")


def test_hole_over_several_lines_is_filled_in_one() -> None:
    (call,) = read_calls('x = choose(\n    "x",\n    [\n        [1,\n         2],\n        3,\n    ],\n)')
    assert hole_of(call).texts == ("[1, 2]", "3")


def test_umlauts_before_a_value_leave_its_text_unchanged() -> None:
    assert hole('x = choose("größe", ["ä", "öö", 3])').texts == ('"ä"', '"öö"', "3")


@pytest.mark.parametrize(
    "text",
    [
        'choose("x", [1])', 'a, b = choose("x", [1, 2])', 'x = choose("x", [1, 2])[0]', 'x = choose("x")', "x = choose([1, 2])",
        'x = choose("x", [])', 'x = choose("", [1])', 'x = choose(1, [1])', 'x = choose("x", 3)', 'x = choose("x", [y])',
        'x = choose("x", [[y[0]]])', 'x = choose("x", [1], [2])', 'x = choose("x", [1], default=1)', 'x = choose("x", {"a": 1})',
        'x = tilewright.choose("x", values)', 'x = choose("x", [1], name="y")',
    ],
)  # fmt: skip
def test_invalid_hole_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(HoleError) as caught:
        space_of(SPACE.program, read_calls(text, "note.py", 7))
    assert caught.value.code == "bad-hole" and caught.value.refusal.place is not None
    assert caught.value.refusal.place.line == 7


def test_two_holes_of_one_name_are_refused() -> None:
    with pytest.raises(SpaceError, match="two-holes"):
        gemm_space('a = choose("x", [1])\nb = choose("x", [1])\n')


def test_schedule_of_a_point_is_that_of_its_text() -> None:
    point = (0, 1, 0, 1, 1, 0)
    text = SPACE.text_at(point)
    assert "ti = 32\ntj = 32\ntk = 32\n" in text and 'order = ["jo", "io", "ko"]\n' in text and "choose" not in text
    written = space_of(SPACE.program, read_calls(text))
    assert written.size == 1
    assert structural_equal(SPACE.schedule_at(point).schedule.func, written.schedule_at(()).schedule.func)


@given(st.integers(0, SPACE.size - 1))
def test_points_are_found_by_number_and_by_value(number: int) -> None:
    point = SPACE.point_at(number)
    assert SPACE.point_of(SPACE.values_at(point)) == point
    assert SPACE.point_of(SPACE.texts_at(point)) == point
    assert list(SPACE.points())[number] == point


def test_choices_default_to_their_first_values_as_in_python() -> None:
    assert structural_equal(
        SPACE.schedule_at(SPACE.default).schedule.func,
        gemm_space("".join(f"{line}\n" for line in LINES.splitlines())).schedule_at(SPACE.default).schedule.func,
    )
    assert tilewright.choose("ti", [16, 32]) == 16
    with pytest.raises(TilewrightError, match="bad-hole"):
        tilewright.choose("ti", [])


@pytest.mark.parametrize("point", [(), (0,) * 5, (3, 0, 0, 0, 0, 0), (-1, 0, 0, 0, 0, 0), (0,) * 7])
def test_a_point_outside_the_space_is_refused(point: tuple[int, ...]) -> None:
    with pytest.raises(SpaceError, match="no-such-point"):
        SPACE.schedule_at(point)


def test_a_value_outside_a_hole_is_refused() -> None:
    assert SPACE.point_of({"ti": 16}) == (2, 0, 0, 0, 0, 0)
    for wrong in (48, True, "jo"):
        with pytest.raises(SpaceError, match="no-such-value"):
            SPACE.point_of({"ti": wrong})


def test_spread_hole_with_a_scalar_value_is_refused() -> None:
    space = gemm_space('C = sch.get_block("C")\nx = 3\nsch.reorder(*x)\n')
    with pytest.raises(LineError, match="bad-arguments"):
        space.schedule_at(())


def test_a_hole_with_ascending_numbers_is_ordered() -> None:
    assert hole('x = choose("x", [1, 2, 4])').is_ordered and hole('x = choose("x", [4, 2])').is_ordered
    assert not hole('x = choose("x", [2, 1, 4])').is_ordered and not hole('x = choose("x", [1, None])').is_ordered
