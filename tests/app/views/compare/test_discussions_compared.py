"""The posts of the five discussions as pasted: the machine panel, the pictures and the comparison show them, or the reason why not."""

from __future__ import annotations

import pytest
from support.record.seeds import SEEDS, Case

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.jobs.analyses.comparison import comparison_analysis
from tilewright.app.state.comparison import NOW, START, Compare
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.compare.value import compare_value, overlay_now
from tilewright.app.views.machine.traffic import traffic_value
from tilewright.app.views.machine.value import machine_value
from tilewright.engine.hwsim import Report

CASES = [case for seed in SEEDS for case in seed.cases]


SAMPLED = [
    pytest.param(case, id=case.title, marks=pytest.mark.slow if number % 6 else ()) for number, case in enumerate(CASES)
]


@pytest.mark.parametrize("case", SAMPLED)
def test_each_view_of_a_post_shows_it_or_the_reason(case: Case) -> None:
    state, store = act(State(), OpenText(case.text)), Store()
    if state.notebook is None:
        assert state.notice is not None  # the post is no program
        return
    report = store.simulated(state)
    traffic = traffic_value(state, store)
    assert bool(traffic.flows) == isinstance(report, Report)
    assert bool(traffic.note) != isinstance(report, Report)
    panel = machine_value(state, store)
    assert panel.parts and panel.limit is not None and panel.limit.text
    compared = act(state, Compare(START, NOW))
    while (study := comparison_analysis(compared, store)) is not None:
        study.run(store)
    value = compare_value(compared, store, ())
    assert value.lines and not any(side.waiting for side in value.sides)
    overlay = overlay_now(compared, store)
    refused = any(side.error for side in value.sides)
    assert bool(overlay.note) == refused and bool(overlay.engines) != refused
