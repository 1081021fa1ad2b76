"""The card of one candidate: its choices, and its cost explained by lower bounds."""

from __future__ import annotations

from typing import Literal

from ....engine.execute import VerdictStatus
from ....engine.explore import DecisionWorth, Outcome, Trial
from ....engine.hwsim import Report
from ....engine.ir import TilewrightError
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import Exploration, SearchRequest, State
from ...state.search_results import Found
from ..labels.numbers import grouped, percent_text, reach_text
from ..labels.values import Value

MOST_LIMITS = 4

STATUSES = {
    "fits": "fits",
    "over": "too large",
    "pruned": "pruned by its lower bound",
    "refused": "refused",
    "failed": "failed",
}


class CandidateChoice(Value, frozen=True):
    """The value of a parameter; `changed`: it is not the default. `worth` is what the best candidate needs more with the fastest of the
    nearest other values, `next`; both are empty while that is not known."""

    name: str
    text: str
    changed: bool
    next: str = ""
    worth: str = ""


class CandidateLimit(Value, frozen=True):
    """A lower bound on the cycles of any schedule of the same tasks, as a share of all cycles."""

    name: str
    kind: str
    cycles: str
    share: float


class CandidateCard(Value, frozen=True, kw_only=True):
    """A candidate with its choices; `words` compares it with its bounds, `reach` with the cycles that every schedule needs, `why` says what
    makes it infeasible."""

    trial: int
    point: tuple[int, ...]
    is_best: bool
    is_front: bool
    status: str
    why: str
    choices: list[CandidateChoice]
    words: str
    reach: str
    limits: list[CandidateLimit]
    verdict: VerdictStatus | Literal[""]


def trial_now(state: State, found: Found) -> Trial | None:
    """The candidate shown on the card: the selected one, else the best."""
    exploration = state.exploration
    number = None if exploration is None else exploration.trial
    if number is None:
        number = found.front[0] if found.front else None
    return next((trial for trial in found.trials if trial.number == number), None)


def card_value(state: State, store: Store, found: Found) -> CandidateCard | None:
    """The card; None without a candidate."""
    trial = trial_now(state, found)
    if trial is None or state.exploration is None:
        return None
    request, outcome = state.exploration.request, trial.outcome
    chosen = request.space.texts_at(trial.point)
    default = request.space.texts_at(request.space.default)
    verdict = found.offers.get(trial.number)
    is_best = bool(found.front) and trial.number == found.front[0]
    worth = {one.hole: one for one in found.worth} if trial.number == found.best else {}
    report = trial_report(state.exploration, trial, store)
    return CandidateCard(
        trial=trial.number,
        point=trial.point,
        is_best=is_best,
        is_front=trial.number in found.front,
        status=STATUSES[outcome.status],
        why=words_of(outcome, request),
        choices=[CandidateChoice(n, t, t != default[n], *_worth(worth.get(n))) for n, t in chosen.items()],
        words=bound_words(outcome, report),
        reach=reach_words(outcome, found.floor),
        limits=[] if report is None else limits(report),
        verdict="" if verdict is None else verdict.status,
    )


TRIAL = Derived[Report | TilewrightError]("report of a candidate")
"""Of the number of a trial, and the request of its search."""


def trial_report(exploration: Exploration, trial: Trial, store: Store) -> Report | None:
    """The full simulation report of a candidate; None until the background simulation has finished."""
    known = store.known(TRIAL(trial.number, exploration.request))
    return known if isinstance(known, Report) else None


def words_of(outcome: Outcome, request: SearchRequest) -> str:
    """The reason why a candidate is infeasible; "" for a feasible one."""
    if outcome.status == "fits":
        return ""
    line = "" if outcome.line is None else f" in `{' '.join(request.space.lines[outcome.line].text.split())}`"
    return f"{outcome.message}{line}"


def bound_words(outcome: Outcome, report: Report | None) -> str:
    """A sentence that compares a candidate's cycles with its lower bounds."""
    figures = outcome.figures
    if figures is None or not figures.bound:
        return ""
    if not figures.exact:
        return (
            f"Lower bound: {grouped(figures.bound)} cycles, from {figures.bound_by}. The candidate was not simulated."
        )
    times = figures.cycles / figures.bound
    ratio = "equal to" if times < 1.005 else f"{times:.2f} ×"
    busy = f", which is busy {percent_text(figures.bound / figures.cycles)} of the time" if figures.cycles else ""
    text = f"{grouped(figures.cycles)} cycles, {ratio} the lower bound {grouped(figures.bound)} of {figures.bound_by}{busy}."
    if report is None or len(report.bounds) < 2:
        return text
    second = report.bounds[1]
    if second.cycles > 0.5 * figures.bound:
        return f"{text} The next lower bound is {grouped(second.cycles)}, of {second.name}."
    return f"{text} The next lower bound is far below: {grouped(second.cycles)}, of {second.name}."


def reach_words(outcome: Outcome, floor: int) -> str:
    """A sentence that compares a feasible candidate with the cycles that every schedule of the program needs."""
    if not floor or not outcome.fits or outcome.figures is None:
        return ""
    text = reach_text(outcome.figures.cycles, floor)
    return f"{text[:1].upper()}{text[1:]}: at least {grouped(floor)} cycles."


def _worth(one: DecisionWorth | None) -> tuple[str, str]:
    """The fastest of the nearest other values of a parameter, and how many cycles more it takes."""
    if one is None:
        return "", ""
    if one.extra is None:
        return one.others[0].text, "does not fit"
    sign = "−" if one.extra < 0 else "+"
    return one.others[0].text, f"{sign}{grouped(abs(one.extra))}"


def limits(report: Report) -> list[CandidateLimit]:
    """The lower bounds on the cycles of any schedule of the same tasks, highest first, as shares of all cycles."""
    return [
        CandidateLimit(b.name, b.kind, grouped(b.cycles), b.cycles / max(1, report.cycles))
        for b in report.bounds[:MOST_LIMITS]
    ]


__all__ = ["card_value", "trial_now", "words_of"]
