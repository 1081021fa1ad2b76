"""Intents for searching a schedule with holes and for using the results.

A search request is a value of the state and does not change with later edits of the notebook. Its results are in the store, where
`jobs.exploration` puts them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from ...engine.explore import Point, Settings
from ...engine.explore.trials.outcome import require_objectives
from ...engine.hwsim import Machine, load_machine
from ...engine.ir import Refusal
from ..document import DEFAULT_MACHINE, Document, DocumentError, Notebook, evaluate
from ..document.defaults import with_default
from ..document.editing.branches import MAX_NAME, branches, current_branch, with_branch
from ..document.holes import AUTO, branch_at, notebook_space, with_auto
from ..limits import LIMITS
from ..state.intents import Intent, Message, Texts, Whole
from ..state.model import Comparison, Exploration, SearchRequest, Side, State
from .cell_actions import edited, open_notebook

MOST_SECONDS = 7 * 24 * 3600

_UNPLAIN = re.compile(r"[^\w.*/%+-]+")


class Explore(Message, frozen=True, tag="explore"):
    """Search the schedule of the visible notebook. `objectives` are figures to minimise ("cycles", "energy", "traffic", "peak", "peak
    SCOPE"), `budgets` upper limits of figures. A small space is searched exhaustively, otherwise `trials` points are tried. After `seconds`
    the search ends with its results so far (0: no limit)."""

    objectives: Texts = ("cycles", "peak")
    budgets: dict[str, float] = msgspec.field(default_factory=dict)
    trials: Whole = Settings().trials
    seed: Whole = 0
    seconds: float = 0.0


class StopExploring(Message, frozen=True, tag="stop_exploring"):
    """Stop the search; its results stay, and it can be resumed."""


class ResumeExploring(Message, frozen=True, tag="resume_exploring"):
    """Resume a stopped search."""


class ShowTrial(Message, frozen=True, tag="show_trial"):
    """Choose a candidate by its number, to show its choices, its cost and the reasons; None is the best."""

    trial: Whole | None


class OpenPoint(Message, frozen=True, tag="open_point"):
    """Open a candidate as a branch of the notebook, beside the schedule that was there. `point` is that of its trial."""

    point: tuple[Whole, ...]
    name: str = ""
    compare: bool = True


class SetDefault(Message, frozen=True, tag="set_default"):
    """Set the default of the hole on schedule line `step`, its value outside a search: the one at `position` becomes the first."""

    step: Whole
    position: Whole


class AutoSpace(Message, frozen=True, tag="auto_space"):
    """Derive a schedule with holes from program and machine: tiles, orders, copies and their places. It becomes a branch if a schedule
    exists already."""


def _explore(state: State, intent: Explore) -> State:
    notebook = state.shown
    if notebook is None:
        raise DocumentError(Refusal("no-notebook", "no notebook is open"))
    if not 1 <= intent.trials <= LIMITS.trials:
        expected = f"1 to {LIMITS.trials}"
        raise DocumentError(Refusal("bad-trials", "invalid number of candidates", str(intent.trials), expected))
    if not 0 <= intent.seed < 1 << 31 or not intent.objectives:
        raise DocumentError(Refusal("bad-search", "a search needs a non-negative seed and at least one objective"))
    if not 0 <= intent.seconds <= MOST_SECONDS:
        raise DocumentError(
            Refusal("bad-search", "invalid time limit", f"{intent.seconds:g} s", f"0 to {MOST_SECONDS:,} s")
        )
    space = notebook_space(notebook)
    if not space.holes:
        raise DocumentError(
            Refusal("no-holes", "the schedule has no parameters to choose", expected="a line with tilewright.choose")
        )
    settings = Settings(intent.objectives, dict(intent.budgets), intent.trials, intent.seed, seconds=intent.seconds)
    machine = machine_of(notebook)
    require_objectives((*intent.objectives, *intent.budgets), machine)
    serial = 1 if state.exploration is None else state.exploration.request.serial + 1
    branch = current_branch(notebook.document)
    request = SearchRequest(serial, notebook, machine, space, settings, branch)
    return replace(state, exploration=Exploration(request), notice=None)


def machine_of(notebook: Notebook) -> Machine:
    """The machine for a notebook's candidates."""
    return notebook.machine or load_machine(DEFAULT_MACHINE)


def _going(state: State, going: bool) -> State:
    if state.exploration is None:
        return state
    return replace(state, exploration=replace(state.exploration, going=going), notice=None)


def _look(state: State, intent: ShowTrial) -> State:
    if state.exploration is None:
        return state
    return replace(state, exploration=replace(state.exploration, trial=intent.trial))


def _open_point(state: State, intent: OpenPoint) -> State:
    notebook = open_notebook(state)
    if state.exploration is None:
        raise DocumentError(Refusal("no-exploration", "there is no search"))
    request = state.exploration.request
    base = with_searched(notebook.document, request.notebook.document)
    if base is None:
        raise DocumentError(
            Refusal(
                "other-schedule",
                "the notebook's schedule differs from the searched one",
                expected="the searched schedule, in its cell or on a branch; undo restores it",
            )
        )
    name = intent.name or free_name(base, choices_text(request, intent.point))
    made = edited(state, evaluate(branch_at(base, request.space, intent.point, name), notebook))
    if not intent.compare:
        return made
    before = current_branch(notebook.document)
    side = Side(f"before:{before}", f"the earlier branch {before}", notebook)
    return replace(made, comparison=Comparison(side, Side("now")))


def with_searched(document: Document, searched: Document) -> Document | None:
    """The document on the branch with the schedule of `searched`, preferably the current one; None if no branch has it."""
    wanted = schedule_text(searched)
    if schedule_text(document) == wanted:
        return document
    for branch in branches(document):
        if not branch.current and schedule_text(found := with_branch(document, branch.name)) == wanted:
            return found
    return None


def schedule_text(document: Document) -> str:
    """The lines of the schedule, without the text between its cells."""
    return "\n".join(cell.body.strip() for cell in document.of_kind("schedule"))


def choices_text(request: SearchRequest, point: Point) -> str:
    """The choices of a candidate, short enough for a name: "tile m 64, order mo no ko"."""
    chosen = request.space.texts_at(point)
    return ", ".join(f"{name} {' '.join(_UNPLAIN.sub(' ', text).split())}" for name, text in chosen.items())


def free_name(document: Document, text: str) -> str:
    """An unused branch name: `text`, shortened to the limit and numbered if necessary."""
    taken = {branch.name for branch in branches(document)} or {current_branch(document)}
    name = text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 2].rstrip(' ,')} …"
    number = 1
    while name in taken:
        number += 1
        name = f"{text[: MAX_NAME - 5].rstrip(' ,')} {number}"
    return name


def _set_default(state: State, intent: SetDefault) -> State:
    notebook = open_notebook(state)
    return edited(state, evaluate(with_default(notebook, intent.step, intent.position), notebook))


def _auto(state: State, _: AutoSpace) -> State:
    notebook = open_notebook(state)
    name = free_name(notebook.document, AUTO)
    return edited(state, evaluate(with_auto(notebook, machine_of(notebook), name), notebook))


EXPLORING: dict[type[Intent], Callable[[State, Any], State]] = {
    Explore: _explore,
    StopExploring: lambda state, _: _going(state, False),
    ResumeExploring: lambda state, _: _going(state, True),
    ShowTrial: _look,
    OpenPoint: _open_point,
    SetDefault: _set_default,
    AutoSpace: _auto,
}

QUICK = (Explore, StopExploring, ResumeExploring, ShowTrial)
"""Intents that leave the notebook unchanged."""


__all__ = ["EXPLORING", "QUICK", "AutoSpace", "Explore", "OpenPoint", "SetDefault", "machine_of"]
