"""Fewer rectangles, the same picture."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilewright.app.views.chart import Bar, Bars, Steps

Span = tuple[int, int, int]


def bars_of(spans: list[Span]) -> Bars:
    def make(n: int) -> Bar:
        start, length, lane = spans[n]
        return Bar(lane, start, start + length, f"{start}", lane)

    return Bars([s for s, _, _ in spans], [s + n for s, n, _ in spans], [lane for _, _, lane in spans], make)


def test_given_few_bars_then_those_in_sight_are_drawn_as_they_are() -> None:
    bars = bars_of([(n * 10, 5, 0) for n in range(10)])
    assert [bar.start for bar in bars.in_sight(20, 40, 100)] == [20, 30]


def test_given_many_bars_then_close_ones_are_joined_and_say_how_many() -> None:
    bars = bars_of([(n * 10, 9, 0) for n in range(10_000)])
    drawn = bars.in_sight(0, 100_000, 500)
    assert len(drawn) <= 500
    assert drawn[0].tip == "20 together, the first:\n0"


spans = st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 50), st.integers(0, 2)), max_size=80)


@given(spans, st.integers(1, 30))
def test_law_every_busy_cycle_is_still_covered(spans: list[Span], limit: int) -> None:
    drawn = bars_of(spans).in_sight(0, 2000, limit)
    for start, length, lane in spans:
        assert any(d.lane == lane and d.start <= start and start + length <= d.end for d in drawn)


@given(spans, st.integers(3, 30))
def test_law_no_more_bars_than_the_limit_and_one_a_lane(spans: list[Span], limit: int) -> None:
    assert len(bars_of(spans).in_sight(0, 2000, limit)) <= limit + 3


def test_given_steps_then_the_line_has_their_corners_and_ends_in_sight() -> None:
    steps = Steps(0, np.array([0, 10, 30]), np.array([0.0, 1.0, 0.5]))
    assert steps.in_sight(0, 40, 100) == ([0, 10, 10, 30, 30, 40], [0, 0, 1, 1, 0.5, 0.5])
    assert steps.in_sight(15, 20, 100) == ([10, 20], [1, 1])


def test_given_more_steps_than_fit_then_the_peak_is_still_there() -> None:
    values = np.zeros(10_000)
    values[6_667] = 1.0
    _, drawn = Steps(0, np.arange(10_000), values).in_sight(0, 10_000, 100)
    assert max(drawn) == 1.0 and len(drawn) <= 202
