"""States of the page for tests of values: opened examples, with reports like those after the paint."""

from __future__ import annotations

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.hwsim import Machine, Report


def opened_example(name: str) -> State:
    """The page with an example of the gallery."""
    (found,) = (e for e in load_examples() if e.name == name)
    return act(State(), OpenText(found.text, found.title))


def painted(state: State) -> tuple[State, Store]:
    """The state, and a store with the report of its program, as after the paint."""
    store = Store()
    store.simulated(state)
    return state, store


def report_now(state: State, store: Store) -> Report:
    report = store.simulated(state)
    assert isinstance(report, Report), report
    return report


def machine_now(state: State, store: Store) -> Machine:
    machine = store.machine(state)
    assert isinstance(machine, Machine), machine
    return machine


def simulate_steps(state: State, store: Store) -> None:
    """Every step of the notebook is simulated."""
    assert state.shown is not None
    for moment in state.shown.states:
        store.report(store.costed(state, moment.schedule), store.machine(state))
