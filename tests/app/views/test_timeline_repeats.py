"""The timeline of a program too long to draw: what repeats is drawn once, and says how often."""

from __future__ import annotations

from support.machines import plain
from support.sources import matmul

from tilewright.app.components.timeline import Timeline
from tilewright.app.views.timeline import chart_of
from tilewright.engine.hwsim import Report, simulate
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def report(k: int) -> Report:
    sch = Schedule(parse(matmul(8, 8, k)).program)
    ko, _ = sch.split(sch.get_loops("C")[2], factors=[None, 8], names=["ko", "ki"])
    sch.reorder(ko, *sch.get_loops("C")[:2])
    for n in (0, 1):
        sch.compute_at(sch.cache_read("C", n, "local"), ko)
    sch.cache_write("C", 0, "local")
    return simulate(sch.func, plain())


def test_given_a_long_loop_then_what_repeats_is_drawn_once_and_counted() -> None:
    long = report(8 * 100_000)
    chart = chart_of(long, {})
    assert chart.cycles < long.cycles // 100
    (again,) = chart.repeats
    (repeat,) = long.timeline.repeats
    assert again.text == f"×{1 + repeat.extra:,}".replace(",", "\u202f")
    assert "of ko" in again.tip
    assert chart.clock.ends == (repeat.end,) and chart.clock.later == (repeat.extra * repeat.cycles,)
    assert chart.cycles + chart.clock.later[-1] == long.cycles
    tips = [bar.tip for bar in chart.engine_bars.in_sight(0, chart.cycles, 10**6)]
    assert any("the first of" in tip for tip in tips)
    assert any(f"{long.cycles:,}".replace(",", "\u202f") in tip for tip in tips)


def test_given_a_short_program_then_all_of_it_is_drawn_by_the_clock() -> None:
    short = report(8 * 4)
    chart = chart_of(short, {})
    assert chart.cycles == short.cycles and not chart.repeats and not chart.clock.ends


def test_given_repeats_when_drawn_then_they_are_marked_where_there_is_room_and_gone_with_the_next_chart() -> None:
    timeline = Timeline()
    timeline.show(chart_of(report(8 * 100_000), {}), dark=False)
    marks = timeline._engines.again.data
    assert len(marks["start"]) == 1 and timeline._memories.again.data["start"] == marks["start"]
    assert timeline._memories.again.data["text"] == [""]
    timeline.show(chart_of(report(8 * 4), {}), dark=False)
    assert timeline._engines.again.data["start"] == []
