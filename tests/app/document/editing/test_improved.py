"""*Make it fast* ends with a schedule to which *Next* has nothing to add, and which *Next* alone does not beat."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from support.programs.sources import ROWS, TINY

import tilewright
from tilewright.app.document import Notebook, evaluate, read_document
from tilewright.app.document.editing.improved import improving
from tilewright.app.document.holes import branch_at, derived_start, notebook_space, with_derived
from tilewright.engine.explore import Settings, explore
from tilewright.engine.hwsim import Machine
from tilewright.engine.ir import ScheduleCall
from tilewright.engine.lint import Fix
from tilewright.engine.suggest import Suggestion, next_steps

HAND = Path(__file__).parents[3] / "hand"
SOURCES = {"tiny": TINY, "rows": ROWS}


def unscheduled(name: str) -> Notebook:
    """A notebook of a program without calls: a small one, or that of a notebook in tests/hand."""
    if name in SOURCES:
        text = f"# %% workload\nfrom tilewright.script import tirx as T\n\n{SOURCES[name].strip()}\n"
        function = SOURCES[name].partition("def ")[2].partition("(")[0]
    else:
        text = next(HAND.rglob(f"{name}.py")).read_text().partition("# %% schedule")[0]
        function = name
    machine = '# %% machine\nimport tilewright\n\nmachine = tilewright.machine("dual-bank-npu")\n\n'
    head = "" if "# %% machine" in text else machine
    return evaluate(read_document(f"{head}{text}\n# %% schedule\nsch = tilewright.Schedule({function})\n"))


def made_fast(notebook: Notebook, machine: Machine) -> tuple[Notebook, int]:
    """The schedule that the search after a derivation ends with, and its cycles."""
    start = derived_start(notebook, machine)
    derived = evaluate(with_derived(notebook, start.space, "auto"), notebook)
    space = notebook_space(derived)
    (offer,) = explore(space, machine, Settings(trials=64, exhaustive=64)).offers
    assert offer.trial.outcome.figures is not None
    best = evaluate(branch_at(derived.document, space, offer.trial.point, "fastest"), derived)
    return [(best, offer.trial.outcome.figures.cycles), *improving(best, machine)][-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "rows", "gemm_batched_odd", "resize_bilinear", "edges"])
def test_next_steps_are_taken_until_none_improves_the_schedule(name: str) -> None:
    notebook = unscheduled(name)
    machine = notebook.machine
    assert machine is not None and notebook.error is None
    fast, cycles = made_fast(notebook, machine)
    assert fast.schedule is not None and fast.schedule.check().status != "failed"
    assert tilewright.simulate(fast.schedule, machine).cycles == cycles
    assert not next_steps(fast.schedule, machine)
    *_, (_, by_next) = improving(notebook, machine)
    assert cycles <= by_next


def test_steps_that_do_not_fit_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = unscheduled("tiny")
    assert notebook.machine is not None
    steps = (ScheduleCall("set_scope", (("block", "C"), ("buffer_index", 0), ("storage_scope", "local.acc"))),)
    fits = Suggestion("place", "C on chip", Fix(steps, 200, 100, ()))
    offered = [(fits,), (msgspec.structs.replace(fits, fix=Fix(steps, 100, 50, (), fits=False)),)]
    monkeypatch.setattr("tilewright.app.document.editing.improved.next_steps", lambda *_: offered.pop(0))
    ((after, cycles),) = improving(notebook, notebook.machine)
    assert cycles == 100 and 'sch.set_scope("C", 0, "local.acc")' in after.document.text
