"""The review of an export for TVM: opened if the export omits something, with cycles, and with calls that keep the slots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.sessions.pages import machine_now, opened_example, report_now

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ApplyFix, ReviewExport, act
from tilewright.app.jobs.analyses import export_review
from tilewright.app.jobs.analyses.export_review import review_analysis
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.labels.fitness import cycles_text, effect_of
from tilewright.app.views.labels.values import Change
from tilewright.app.views.shell.export_review import ExportTotal, export_review_value, needs_review
from tilewright.engine.export import COSTLY, program_without
from tilewright.engine.hwsim import simulate

HAND = Path(__file__).parents[3] / "hand"


def reviewed(state: State, store: Store) -> Any:
    """The finished review."""
    work = review_analysis(state, store)
    if work is not None:
        work.run(store)
    value = export_review_value(state, store)
    assert value is not None and not value.working
    return value


@pytest.mark.slow
def test_slots_that_tvm_drops_get_a_pipeline_that_keeps_them() -> None:
    store, state = Store(), act(opened_example("vtcm_double_buffer"), ReviewExport("tvm"))
    report, machine = report_now(state, store), machine_now(state, store)
    assert needs_review(state, "tvm", store) and not needs_review(state, "c", store)
    first = export_review_value(state, store)
    assert first is not None and first.working and first.total is None
    value = reviewed(state, store)
    assert [loss.title for loss in value.losses] == ["Slots", "Axis separators", "Loop names"]
    assert state.moment is not None
    lost = simulate(program_without(state.moment.schedule.func, COSTLY), machine)
    text, trend = effect_of(report, lost)
    assert value.total == ExportTotal(cycles_text(lost), Change(text, trend)) and trend == "worse"
    assert value.losses[0].effect == value.total.effect  # separators alone cost nothing here
    assert value.losses[1].effect.trend == "same" and value.losses[2].effect is None
    keep = value.keep
    assert keep.calls == ("sch.pipeline(ko, [0, 0, 1])",) and keep.applicable
    assert keep.text == cycles_text(report) and keep.effect.trend == "better"
    after = act(state, ApplyFix(calls=keep.calls))
    assert after.export_review == "tvm" and after.notice is None
    again = reviewed(after, store)
    assert [loss.title for loss in again.losses] == ["Axis separators", "Loop names"] and again.keep is None


def test_an_export_that_loses_only_names_has_no_review() -> None:
    store, state = Store(), opened_example("place_the_copies")
    assert not needs_review(state, "tvm", store)
    assert export_review_value(state, store) is None


def test_axis_separators_review_only_the_version_without_them() -> None:
    store, state = Store(), opened_example("vtcm_two_halves")
    assert needs_review(state, "tvm", store) and not needs_review(state, "tvm-0.25", store)
    report_now(state, store)
    value = reviewed(act(state, ReviewExport("tvm")), store)
    assert value.losses[0].effect.trend == "worse" and value.keep is None and value.not_kept == ""


def test_the_pipeline_that_fits_is_offered() -> None:
    text = (HAND / "gemm" / "gemmini_requantized.py").read_text()
    store, state = Store(), act(act(State(), OpenText(text)), ReviewExport("tvm"))
    report_now(state, store)
    value = reviewed(state, store)
    assert value.keep.calls == ("sch.pipeline(jo, [0, 1])",) and value.not_kept == ""


def test_a_review_without_a_legal_pipeline_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_review, "with_pipelines", lambda _: ())
    store, state = Store(), act(opened_example("vtcm_double_buffer"), ReviewExport("tvm"))
    report_now(state, store)
    value = reviewed(state, store)
    assert value.keep is None and value.not_kept.startswith("No software pipeline keeps the slots")
