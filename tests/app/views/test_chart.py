"""Fewer rectangles, the same picture."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.app.views.chart import Bar, thinned


def bar(start: int, end: int, lane: int = 0) -> Bar:
    return Bar(lane, start, end, "", f"{start}", lane)


def test_given_few_bars_then_those_in_sight_are_drawn_as_they_are() -> None:
    bars = tuple(bar(n * 10, n * 10 + 5) for n in range(10))
    assert thinned(bars, 20, 40, 100) == list(bars[2:4])


def test_given_many_bars_then_close_ones_are_joined_and_say_how_many() -> None:
    bars = tuple(bar(n * 10, n * 10 + 9) for n in range(10_000))
    drawn = thinned(bars, 0, 100_000, 500)
    assert len(drawn) <= 1000
    assert drawn[0].tip.endswith("such as 0") and not drawn[0].tip.startswith("1 ")


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 50), st.integers(0, 2)), max_size=80), st.integers(1, 30)
)
def test_law_every_busy_cycle_is_still_covered(spans: list[tuple[int, int, int]], limit: int) -> None:
    bars = tuple(bar(start, start + length, lane) for start, length, lane in spans)
    drawn = thinned(bars, 0, 2000, limit)
    for one in bars:
        assert any(d.lane == one.lane and d.start <= one.start and one.end <= d.end for d in drawn)
