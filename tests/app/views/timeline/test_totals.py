"""The totals of an area of the timeline, against the report and against a count of all tasks."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright.app.document import load_document
from tilewright.app.document.evaluate import evaluate
from tilewright.app.state.derived import Store
from tilewright.app.views.labels.numbers import size_text
from tilewright.app.views.shell.gallery import FOLDER
from tilewright.app.views.timeline.totals import totals_value
from tilewright.engine.hwsim import Report, simulate


@pytest.fixture(scope="module", params=["vtcm_double_buffer", "place_the_copies"])
def report(request: pytest.FixtureRequest) -> Report:
    notebook = evaluate(load_document(FOLDER / f"{request.param}.py"))
    assert notebook.schedule is not None
    assert notebook.machine is not None
    return simulate(notebook.schedule.func, notebook.machine)


def by_name(totals: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {engine.name: engine for engine in totals.engines}


def test_totals_of_the_whole_run_are_those_of_the_report(report: Report) -> None:
    totals = totals_value(report, Store(), 0, report.cycles)
    for name, engine in by_name(totals).items():
        expected = report.engines[name]
        assert engine.busy == expected.busy
        assert engine.tasks == expected.tasks
        assert engine.waits == {cause: cycles for cause, cycles in expected.stall.items() if cycles}
    copies = {(row.buffer, row.source, row.destination): row.bytes for row in totals.copies}
    assert copies == {(row.buffer, row.source, row.destination): size_text(row.bytes) for row in report.traffic}


def test_totals_of_an_area_are_those_of_its_tasks(report: Report) -> None:
    start, end = report.cycles // 3 + 1, report.cycles // 2 + 7
    totals = totals_value(report, Store(), start, end)
    busy, begun = dict.fromkeys(report.engines, 0), dict.fromkeys(report.engines, 0)
    for task in report.segments.between(0, report.cycles):
        busy[task.engine] += max(0, min(task.end, end) - max(task.start, start))
        begun[task.engine] += start <= task.start < end
    for name, engine in by_name(totals).items():
        assert engine.busy == busy[name]
        assert engine.tasks == begun[name]


def test_totals_of_adjacent_areas_add_up(report: Report) -> None:
    middle = report.cycles // 3
    store = Store()
    parts = [totals_value(report, store, *edges) for edges in ((0, middle), (middle, report.cycles))]
    whole = by_name(totals_value(report, store, 0, report.cycles))
    for name, engine in whole.items():
        assert sum(by_name(part)[name].busy for part in parts) == engine.busy
        for cause, cycles in engine.waits.items():
            assert sum(by_name(part)[name].waits.get(cause, 0) for part in parts) == cycles


def test_an_area_beyond_the_run_is_clipped(report: Report) -> None:
    totals = totals_value(report, Store(), -5, report.cycles + 1000)
    assert (totals.start, totals.end) == (0, report.cycles)
