"""Intents for searching a schedule with holes and for using the results.

A search request is a value of the state and does not change with later edits of the notebook. Its results are in the store, where
`jobs.exploration` puts them.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from ...engine.explore import CYCLES, Point, Settings, Space, is_pin, pinned
from ...engine.explore.trials.outcome import require_objectives
from ...engine.hwsim import Machine, load_machine
from ...engine.ir import Refusal, TilewrightError
from ..document import DEFAULT_MACHINE, Document, DocumentError, Notebook, evaluate
from ..document.defaults import with_default
from ..document.editing.branches import MAX_NAME, branches, current_branch, delete_branch, with_branch, with_schedule
from ..document.holes import AUTO, branch_at, hand_tiles, notebook_space, with_derived
from ..document.workload import is_kernel, workload_cell
from ..limits import LIMITS
from ..state.intents import ACTIONS, Intent, Message, Texts, ViewMessage, Whole
from ..state.model import Comparison, Derivation, DerivedSchedule, Exploration, Notice, SearchRequest, Side, State
from ..state.search_results import Found
from .cell_actions import edited, open_notebook

MOST_SECONDS = 7 * 24 * 3600

FASTEST = "fastest"
"""The branch that gets the best schedule of a search after a derivation."""

FAST_SECONDS = 60.0
"""The time limit of a search that follows a derivation."""

_UNPLAIN = re.compile(r"[^\w.*/%+-]+")


class Explore(ViewMessage, frozen=True, tag="explore"):
    """Search the schedule of the visible notebook. `objectives` are figures to minimise ("cycles", "energy", "traffic", "peak", "peak
    SCOPE"), `budgets` upper limits of figures. A small space is searched exhaustively, otherwise `trials` points are tried. After `seconds`
    the search ends with its results so far (0: no limit). `keep` pins holes: by name the source texts of the values to search."""

    objectives: Texts = ("cycles", "peak")
    budgets: dict[str, float] = msgspec.field(default_factory=dict)
    trials: Whole = Settings().trials
    seed: Whole = 0
    seconds: float = 0.0
    keep: dict[str, Texts] = msgspec.field(default_factory=dict)


class MakeFast(ViewMessage, frozen=True, tag="make_fast"):
    """Derive a schedule with holes from program and machine, open it with its best values so far, and search all values for at most
    `seconds`. It becomes a branch if a schedule exists already. The derivation runs in the background, and `stop_exploring` ends it. With
    `keep_tiles` the loops keep the tiles that the present schedule splits them into."""

    seconds: float = FAST_SECONDS
    keep_tiles: bool = False


class EndDerivation(Intent, frozen=True, eq=False):
    """Open the space that a derivation found, and search it; or show why there is none."""

    derivation: Derivation
    found: DerivedSchedule | None = None
    error: TilewrightError | None = None


class EndSearch(Intent, frozen=True, eq=False):
    """Open the best schedule that a search found after a derivation, or the schedule before if that is at least as fast."""

    request: SearchRequest
    found: Found


class StopExploring(ViewMessage, frozen=True, tag="stop_exploring"):
    """Stop the search; its results stay, and it can be resumed. A derivation ends without a result."""


class ResumeExploring(ViewMessage, frozen=True, tag="resume_exploring"):
    """Resume a stopped search."""


class ShowTrial(ViewMessage, frozen=True, tag="show_trial"):
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


@ACTIONS(Explore)
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
    require_objectives((*intent.objectives, *intent.budgets), machine_of(notebook))
    return _searching(state, notebook, pinned(space, intent.keep), settings)


def _searching(
    state: State,
    notebook: Notebook,
    space: Space,
    settings: Settings,
    derived: DerivedSchedule | None = None,
    own: Notebook | None = None,
) -> State:
    """The state with a new search of a notebook's space."""
    serial = 1 if state.exploration is None else state.exploration.request.serial + 1
    branch = current_branch(notebook.document)
    request = SearchRequest(serial, notebook, machine_of(notebook), space, settings, branch, derived, own)
    return replace(state, exploration=Exploration(request), derivation=None, notice=None)


def machine_of(notebook: Notebook) -> Machine:
    """The machine for a notebook's candidates."""
    return notebook.machine or load_machine(DEFAULT_MACHINE)


@ACTIONS(MakeFast)
def _make_fast(state: State, intent: MakeFast) -> State:
    notebook = state.shown
    if notebook is None or notebook.program is None:
        raise DocumentError(Refusal("no-workload", "there is no program to schedule"))
    if not 0 < intent.seconds <= MOST_SECONDS:
        expected = f"up to {MOST_SECONDS:,} s"
        raise DocumentError(Refusal("bad-search", "invalid time limit", f"{intent.seconds:g} s", expected))
    settings = Settings((CYCLES,), trials=LIMITS.trials, seconds=intent.seconds)
    path = None if state.file is None else notebook.document.path
    keep = hand_tiles(notebook) if intent.keep_tiles else {}
    derivation = Derivation(notebook, machine_of(notebook), settings, path, keep)
    return replace(_going(state, False), derivation=derivation, pane="explore", notice=None)


@ACTIONS(EndDerivation)
def _end_derivation(state: State, intent: EndDerivation) -> State:
    """The state with the derived space as a branch, and its search. A refusal is shown, and ends the derivation too."""
    if state.derivation is not intent.derivation:
        return state
    state = replace(state, derivation=None)
    try:
        if intent.found is None:
            raise intent.error or DocumentError(Refusal("no-schedule", "no schedule was derived"))
        return _with_derived(state, intent.derivation, intent.found)
    except TilewrightError as error:
        found = error.refusal
        return replace(state, notice=Notice(found.code, found.message, found.found or "", found.expected or ""))


def _with_derived(state: State, derivation: Derivation, found: DerivedSchedule) -> State:
    notebook = open_notebook(state)
    if workload_text(notebook.document) != workload_text(derivation.notebook.document):
        raise DocumentError(Refusal("changed-meanwhile", "the program changed while a schedule was derived for it"))
    if machine_of(notebook) != derivation.machine:
        raise DocumentError(Refusal("changed-meanwhile", "the machine changed while a schedule was derived for it"))
    if not (found.space.text or found.space.space.holes):
        tried = f"{len(found.space.left_out)} kinds of schedule were tried"
        raise DocumentError(
            Refusal("no-schedule", f"no schedule that fits {derivation.machine.name} was derived", tried)
        )
    document = with_derived(notebook, found.space, free_name(notebook.document, AUTO))
    made = edited(state, evaluate(document, notebook))
    assert made.notebook is not None
    space = notebook_space(made.notebook)
    kept = {name: tile for name, tile in derivation.keep.items() if is_pin(space, name, tile)}
    own = derivation.notebook if derivation.notebook.steps else None
    return _searching(made, made.notebook, pinned(space, kept), derivation.settings, found, own)


@ACTIONS(EndSearch)
def _end_search(state: State, intent: EndSearch) -> State:
    """A notebook that shows another schedule than the search's stays as it is. One undo removes all that the derivation and the search
    made."""
    request, exploration = intent.request, state.exploration
    best = next((trial for trial in intent.found.trials if trial.number == intent.found.best), None)
    if exploration is None or exploration.request is not request or best is None or best.outcome.figures is None:
        return state
    notebook = open_notebook(state)
    document = notebook.document
    shows_search = schedule_text(document) == schedule_text(request.notebook.document)
    if not shows_search and current_branch(document) != exploration.opened:
        return state
    base = with_searched(document, request.notebook.document)
    if base is None:
        return state
    if exploration.opened in {branch.name for branch in branches(base)}:
        base = delete_branch(base, exploration.opened)
    improved = intent.found.improved
    cycles = best.outcome.figures.cycles if improved is None else improved.cycles
    own = intent.found.own
    if request.own is not None and own is not None and own <= cycles:
        mine = with_searched(base, request.own.document)
        if mine is not None:
            made = edited(state, evaluate(mine, notebook))
            return replace(made, past=state.past, notice=_kept(own, cycles))
    name = free_name(base, FASTEST)
    faster = branch_at(base, request.space, best.point, name)
    if improved is not None:
        faster = with_schedule(faster, improved.text)
    made = edited(state, evaluate(faster, notebook))
    past = made.past if request.space.kernel is not None else state.past  # the derivation wrote nothing into a kernel
    return replace(made, past=past, exploration=replace(exploration, opened=name))


def _kept(own: int, best: int) -> Notice:
    found = f"{own:,} cycles, and at least {best:,} of the {AUTO} branch"
    return Notice("own-schedule", "no schedule was found that is faster than yours, so yours stays", found)


@ACTIONS(StopExploring)
def _stop(state: State, _: StopExploring) -> State:
    return _going(state, False)


@ACTIONS(ResumeExploring)
def _resume(state: State, _: ResumeExploring) -> State:
    return _going(state, True)


def _going(state: State, going: bool) -> State:
    state = replace(state, derivation=None)
    if state.exploration is None:
        return state
    return replace(state, exploration=replace(state.exploration, going=going), notice=None)


@ACTIONS(ShowTrial)
def _look(state: State, intent: ShowTrial) -> State:
    if state.exploration is None:
        return state
    return replace(state, exploration=replace(state.exploration, trial=intent.trial))


@ACTIONS(OpenPoint)
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
    """The lines of the schedule, without the text between its cells; those of a TileLang kernel, which has its schedule, too."""
    kernel = workload_text(document) if is_kernel(document) else ()
    return "\n".join([*kernel, *(cell.body.strip() for cell in document.of_kind("schedule"))])


def workload_text(document: Document) -> tuple[str, ...]:
    """The cells of the program."""
    cell = workload_cell(document)
    return () if cell is None else (cell.body.strip(),)


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


@ACTIONS(SetDefault)
def _set_default(state: State, intent: SetDefault) -> State:
    notebook = open_notebook(state)
    return edited(state, evaluate(with_default(notebook, intent.step, intent.position), notebook))


__all__ = ["EndDerivation", "EndSearch", "Explore", "MakeFast", "OpenPoint", "SetDefault", "machine_of"]
