"""The report of the selected candidate of a search, which explains its cost."""

from __future__ import annotations

from collections.abc import Iterator

from ....engine.explore import Trial
from ....engine.hwsim import Report
from ....engine.ir import TilewrightError
from ....engine.lower import with_sizes
from ...state.derived import Store, attempt, report_of
from ...state.model import SearchRequest, State
from ...state.search_results import found_now
from ...views.explore.candidate_card import TRIAL, trial_now
from .analysis import Analysis


def trial_analysis(state: State, store: Store) -> Analysis | None:
    """The report of the selected candidate after the end of the search, which explains its cost."""
    exploration = state.exploration
    found = None if exploration is None else found_now(exploration, store)
    if exploration is None or found is None or state.pane != "explore" or found.status in ("waiting", "running"):
        return None
    trial = trial_now(state, found)
    if trial is None or trial.outcome.figures is None or not trial.outcome.figures.exact:
        return None
    request = exploration.request
    entry = TRIAL(trial.number, request)
    if store.has(entry):
        return None

    def pieces() -> Iterator[Report | TilewrightError]:
        yield attempt("simulate", lambda: _replayed(request, trial))

    return Analysis(entry, pieces, "pane-explore", "Simulating the candidate")


def _replayed(request: SearchRequest, trial: Trial) -> Report | TilewrightError:
    func = with_sizes(request.space.schedule_at(trial.point).schedule.described, request.space.sizes).func
    return report_of(func, request.machine)
