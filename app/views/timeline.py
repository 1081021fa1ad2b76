"""The timeline's value: a report as lanes of engines and memories, and the legend above it."""

from __future__ import annotations

from typing import Any

from ...engine.hwsim import Report
from ..state import State
from ..store import Store
from .chart import Chart
from .numbers import grouped, percent_text
from .palette import buffer_colours


def timeline_chart(state: State, store: Store) -> Chart:
    """The chart of the picture; the same object as long as nothing changed. Without a report: an empty one."""
    report = store.report_now(state)
    if state.moment is None or not isinstance(report, Report):
        return EMPTY
    func = state.moment.schedule.func
    return store.remember("chart", (report, func), lambda: chart_of(report, {}))


EMPTY = Chart()


def chart_of(report: Report, colours: dict[str, int]) -> Chart:
    return EMPTY


def legend_value(state: State, store: Store) -> dict[str, Any]:
    """Figures [name, value] and buffers {name, colour}."""
    report = store.report_now(state)
    if state.moment is None or not isinstance(report, Report):
        return {"figures": [], "buffers": []}
    data = store.remember("json", (report,), report.to_json)
    buffers = [
        {"name": buffer.name, "colour": index} for buffer, index in buffer_colours(state.moment.schedule.func).items()
    ]
    figures = [("Overlap", percent_text(data["overlap"])), ("Cycles", grouped(report.cycles))]
    return {"figures": figures, "buffers": buffers}
