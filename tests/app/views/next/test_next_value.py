"""The Next pane: the limits of a fresh program, the machines on offer, and suggestions that are applied as one edit."""

from __future__ import annotations

import re

import pytest
from support.programs.sources import ADD_RELU

from tilewright.app.actions.machine_actions import PickMachine
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ApplyFix, ApplyFoundFix, ShowPane, Undo, act
from tilewright.app.jobs.on_demand import next_analysis
from tilewright.app.protocol.messages import decode
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.next.suggestions import offered_fix
from tilewright.app.views.next.value import next_value
from tilewright.app.views.shell.headline import headline_value
from tilewright.engine.hwsim import Report, preset_names

FRESH = ADD_RELU


def studied(state: State, store: Store) -> State:
    """The state after all calls were tried."""
    store.simulated(state)
    while (work := next_analysis(state, store)) is not None:
        work.run(store)
    return state


def test_a_fresh_program_opens_the_pane_with_machines() -> None:
    state, store = act(State(), OpenText(FRESH)), Store()
    store.simulated(state)
    assert state.pane == "next"
    value = next_value(state, store)
    assert [card.name for card in value.machines] == list(preset_names())
    assert value.looking and value.heaviest.name in ("C", "D")
    assert value.limit.detail == "", "no cause before a replay proves it"
    work = next_analysis(state, store)
    assert work is not None and work.entry.name == "decisive causes"
    work.run(store)
    assert next_value(state, store).limit.detail == "nearly all of them are the work of scalar"
    (chosen,) = (c.name for c in next_value(act(state, PickMachine("gemmini")), store).machines if c.chosen)
    assert chosen == "gemmini"


@pytest.mark.slow
def test_applying_a_proposal_writes_its_lines_as_one_edit() -> None:
    store = Store()
    state = studied(act(State(), OpenText(FRESH)), store)
    value = next_value(state, store)
    best = value.suggestions[0]
    assert not value.looking and best.rule == "schedule" and best.decisions and best.fix.change.trend == "better"
    intent = decode({"kind": "fix", "calls": best.fix.calls, "replaces": best.fix.replaces})
    assert isinstance(intent, ApplyFix)
    fix = offered_fix(state, store, intent.calls, intent.replaces)
    assert fix is not None
    after = act(state, ApplyFoundFix(fix))
    assert after.notebook is not None and after.notebook.error is None and len(after.past) == 1
    report = store.simulated(after)
    assert isinstance(report, Report) and report.cycles == fix.cycles
    value = next_value(studied(after, store), store)
    assert value.machines == [] and re.fullmatch(
        r"Program bound: any schedule needs at least .* cycles; this one \d+\.\d\d times as many", value.bound
    )
    labels = [figure.label for figure in headline_value(after, store).figures]
    assert "Schedule bound" in labels and "Lower bound" not in labels, "the bound of these tasks is not the program's"
    undone = act(after, Undo())
    assert undone.notebook is state.notebook


def test_no_calls_are_tried_in_another_pane() -> None:
    state, store = act(act(State(), OpenText(FRESH)), ShowPane("script")), Store()
    store.simulated(state)
    work = next_analysis(state, store)
    assert work is not None and work.entry.name == "lints"


def test_a_program_without_sizes_has_no_bound() -> None:
    text = """
n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
"""
    state, store = act(State(), OpenText(text)), Store()
    assert next_value(studied(state, store), store).bound == ""
