"""The guided tours. A tour derives its progress from the notebook alone, so it notices a drag, a menu, a typed line and undo. It keeps no
other state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ....engine.hwsim import Report
from ...document import Document, evaluate, load_document, read_document
from ...document import State as Moment
from ...state.derived import Store
from ...state.model import State
from ..labels.values import Value
from .gallery import FOLDER
from .tours.calls import CALLS
from .tours.step import Change, Step, Test, TourPlan
from .tours.tiles import TILES

TOURS: Mapping[str, TourPlan] = {tour.name: tour for tour in (CALLS, TILES)}
"""The tours by their names in addresses."""


def tour_text(plan: TourPlan) -> str:
    """The initial notebook of a tour: that of its example, with its own prose."""
    document = load_document(FOLDER / f"{plan.example}.py")
    schedule = document.of_kind("schedule")[0].text
    start = schedule[: schedule.index(plan.until)] if plan.until else schedule
    cells = [document.of_kind(kind)[0].text for kind in ("machine", "workload")]
    return "".join((plan.prose, *cells, start))


def tour_of(document: Document) -> TourPlan | None:
    """The tour whose notebook this is, at any step: it begins with the tour's prose."""
    return next((plan for plan in TOURS.values() if document.text.startswith(plan.prose)), None)


class TourEdit(Value, frozen=True):
    """An edit of a kernel's text, as a message `call`."""

    method: str
    target: str
    arguments: dict[str, object]


class TourStep(Value, frozen=True):
    """A step of the tour, as in `Step`; `done`: the program passes its test."""

    title: str
    text: str
    anchors: tuple[str, ...]
    task: str
    keys: str
    notice: str
    calls: tuple[str, ...]
    edit: TourEdit | None
    done: bool
    result: str


class Tour(Value, frozen=True):
    """The tour of an example."""

    name: str
    steps: list[TourStep]
    example: str


def tour_value(state: State, store: Store) -> Tour | None:
    """The tour with its progress; None if another notebook is open."""
    plan = None if state.notebook is None or state.shown is None else tour_of(state.notebook.document)
    if plan is None or state.shown is None or not state.shown.states:
        return None
    moments = state.shown.states
    if any(step.edit is not None for step in plan.steps):  # an edit of a kernel's text leaves no earlier state
        moments = (_first_moment(plan), *moments)
    return Tour(plan.name, [_step_value(step, moments, state, store) for step in plan.steps], plan.example)


@lru_cache(maxsize=2)
def _first_moment(plan: TourPlan) -> Moment:
    return evaluate(read_document(tour_text(plan))).states[0]


def _step_value(step: Step, moments: Sequence[Moment], state: State, store: Store) -> TourStep:
    change = _change(step, moments, state, store)
    result = step.result(change) if step.result is not None and change is not None else ""
    if change is None and step.hint is not None:
        result = step.hint(moments[-1].schedule.func)
    edit = None if step.edit is None else TourEdit(step.edit[0], step.edit[1], dict(step.edit[2]))
    texts = step.title, step.text, step.anchors, step.task, step.keys, step.notice
    return TourStep(*texts, step.calls, edit, change is not None, result)


def _change(step: Step, moments: Sequence[Moment], state: State, store: Store) -> Change | None:
    """The change by which the step's test began to hold; None if the current program fails the test."""
    came = None if step.test is None else _came(step.test, moments, store)
    if came is None:
        return None
    first = _came(step.since, moments, store) if step.since is not None else None
    pair = [moments[came - 1 if first is None or first >= came else first], moments[came]]
    costs = [_report(store, state, moment) for moment in pair]
    return Change(pair[0].schedule.func, pair[1].schedule.func, *costs)


def _came(test: Test, moments: Sequence[Moment], store: Store) -> int | None:
    """The index of the state since which `test` holds without a break; None if it fails in the last one."""
    holds = [store.once(test, func) for func in (moment.schedule.func for moment in moments)]
    if not holds[-1]:
        return None
    return next((n + 1 for n in range(len(holds) - 1, -1, -1) if not holds[n]), 1)


def _report(store: Store, state: State, moment: Moment) -> Report | None:
    found = store.known_report(state, moment.schedule)
    return found if isinstance(found, Report) else None
