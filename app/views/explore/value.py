"""The value of the Explore pane: the search space, the settings, the search progress, and candidate rows for the charts.

The browser requests only the rows that it does not have yet, so thousands of rows are sent once and not with each value.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from math import prod

import msgspec
from msgspec.structs import asdict

from ....engine.adopt import Hole, hole_of, is_hole
from ....engine.adopt.holes import EXAMPLE
from ....engine.execute import VerdictStatus
from ....engine.explore import CYCLES, ENERGY, PEAK, SCHEDULE_RULES, TRAFFIC, Figures, Settings, Trial, pins_of
from ....engine.explore.trials.outcome import UNITS, Status, Unit, figures_of
from ....engine.hwsim import Machine, Report, row_name
from ....engine.ir import TilewrightError
from ....engine.script import read_calls
from ...actions.exploring import machine_of, schedule_text, with_searched, workload_text
from ...document import Notebook
from ...document.editing.branches import current_branch
from ...document.editing.kernel_edits import kernel_of
from ...limits import LIMITS
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import SearchRequest, State
from ...state.search_results import Found, SearchStatus, derived_now, found_now
from ..labels.holes import Axis, axis_of, tiles_text
from ..labels.numbers import grouped, size_text
from ..labels.values import Answer, Value
from .candidate_card import CandidateCard, card_value, words_of

MOST_ROWS = 2_000
"""The maximum number of rows in one answer; the browser requests later rows separately."""

MOST_FIGURES = 12


_OFFER = Derived["SearchOffer"]("holes")


class Derivation(Value, frozen=True, kw_only=True):
    """The running derivation on a machine, and the fastest schedule so far: its cycles, None before the first one;
    `now` are those of the displayed schedule."""

    machine: str
    cycles: int | None = None
    now: int | None = None
    seconds: float = 0
    decisions: Sequence[str] = ()


class OfferedHole(Value, frozen=True):
    """A parameter of the schedule, and the variable that its line assigns."""

    name: str
    target: str
    values: tuple[str, ...]


class Metric(Value, frozen=True):
    """A metric of candidates."""

    key: str
    label: str
    unit: Unit


class UsualSettings(Value, frozen=True):
    """The default settings of a search."""

    objectives: list[str]
    trials: int
    seed: int
    seconds: float | None


class SearchOffer(Value, frozen=True, kw_only=True):
    """The searchable space. `exhaustive` is the largest space that is searched completely, `tiles` are those of the
    schedule as text, `example` is a line with a parameter."""

    holes: list[OfferedHole]
    size: float
    figures: list[Metric]
    usual: UsualSettings
    exhaustive: int
    most_trials: int
    machine: str
    tiles: str
    example: str
    error: str


class SearchedHole(Axis, frozen=True, kw_only=True):
    """A parameter, and the title of the rule that wrote it; "" for a person's own."""

    rule: str


class SearchDatabase(Value, frozen=True):
    """The results that a search took from its database, as text."""

    text: str
    failed: bool


class SpaceBound(Value, frozen=True):
    """The smallest lower bound of all feasible and pruned candidates; `whole`: it covers the entire space."""

    cycles: int
    whole: bool


class SearchRequested(Value, frozen=True, kw_only=True):
    """The request of a search: `asked` in words, the pins `kept`, the `lost` values to keep that the derived
    schedule does not have, the decisions of the derivation that it follows and what that `left_out`; `all`: the search is exhaustive."""

    asked: str
    kept: list[str]
    branch: str
    decisions: Sequence[str]
    left_out: Sequence[str]
    lost: list[str]
    holes: list[SearchedHole]
    figures: list[Metric]
    objectives: Sequence[str]
    all: bool
    size: float


class Search(SearchRequested, frozen=True, kw_only=True):
    """The current search; `key` identifies its candidates. `stale` is their origin, if the notebook has changed;
    `now` are the metrics of the displayed schedule, `left` the estimated seconds, `checking` the progress while the
    best candidates are verified, `checked` the verdicts."""

    key: int
    status: SearchStatus
    stale: str
    count: int
    total: int
    counts: Mapping[Status, int]
    front: Sequence[int]
    best: int | None
    checking: tuple[int, int] | None
    seconds: float
    left: float | None
    error: str | None
    database: SearchDatabase
    now: list[float] | None
    bound: SpaceBound | None
    checked: dict[str, VerdictStatus]
    card: CandidateCard | None


class ExplorePane(Value, frozen=True):
    """The searchable space, the current search, and the derivation that runs before a search."""

    offer: SearchOffer | None
    search: Search | None
    deriving: Derivation | None


CandidateRow = tuple[int, Status, bool, tuple[int, ...], list[float] | None, float, str]
"""Number, status, whether it is simulated, point, metrics, seconds, why it is infeasible."""


class Candidates(Answer, frozen=True, tag="trials"):
    """Candidates of a search in order of completion, from that at `first` on."""

    search: int
    first: int = msgspec.field(name="from")
    rows: Sequence[CandidateRow] = ()


LABELS = {CYCLES: "Cycles", ENERGY: "Energy", TRAFFIC: "Copied", PEAK: "On-chip peak"}


def explore_value(state: State, store: Store) -> ExplorePane:
    """The pane's value."""
    return ExplorePane(offer_value(state, store), search_value(state, store), deriving_value(state, store))


def deriving_value(state: State, store: Store) -> Derivation | None:
    """The running derivation; None without one."""
    derivation = state.derivation
    if derivation is None:
        return None
    found, machine = derived_now(derivation, store), derivation.machine
    figures = None if found is None else found.outcome.figures
    if found is None or figures is None:
        return Derivation(machine=machine.name)
    report = store.known_report(state)
    now = report.cycles if isinstance(report, Report) and not report.overflow_bytes else None
    return Derivation(
        machine=machine.name,
        cycles=figures.cycles,
        now=now if store.machine(state) == machine else None,
        seconds=round(found.seconds, 1),
        decisions=found.space.decisions,
    )


# The searchable space.


def offer_value(state: State, store: Store) -> SearchOffer | None:
    """The searchable space; None without a program."""
    notebook = state.shown
    if notebook is None:
        return None
    return store.remember(_OFFER(notebook), lambda: _offer(state, store))


def _offer(state: State, store: Store) -> SearchOffer:
    assert state.shown is not None
    holes: list[Hole] = []
    error = ""
    for step in state.shown.steps:
        if is_hole(step.call):
            try:
                holes.append(hole_of(step.call))
            except TilewrightError as refused:
                error = refused.refusal.message
    kernel = kernel_of(state.shown.document)
    if kernel is not None:
        holes = [*(hole_of(line) for line in read_calls(kernel.choices)), *holes]
    machine = store.machine(state)
    usual = Settings()
    return SearchOffer(
        holes=[OfferedHole(hole.name, hole.target, hole.texts) for hole in holes],
        size=_sent(prod(len(hole.values) for hole in holes)),
        figures=[] if isinstance(machine, TilewrightError) else figures_value(machine),
        usual=UsualSettings([CYCLES, PEAK], usual.trials, usual.seed, usual.seconds),
        exhaustive=usual.exhaustive,
        most_trials=LIMITS.trials,
        machine=machine.refusal.message if isinstance(machine, TilewrightError) else machine.name,
        tiles=tiles_text(state),
        example=EXAMPLE.replace("choose", "tilewright.choose"),
        error=error,
    )


def _sent(count: int) -> float:
    """A count in a form that JSON in a browser can hold: a float for counts from 2^53."""
    return count if count < 1 << 53 else float(min(count, 10**300))


def figures_value(machine: Machine) -> list[Metric]:
    """The metrics of candidates on a machine."""
    far = machine.far.scope
    rows = [row_name(m, block) for m in machine.memories if m.scope != far for block in range(m.blocks)]
    peaks = [f"{PEAK} {row}" for row in rows] if len(rows) > 1 else []  # of one row: the overall peak
    return [metric(key) for key in (CYCLES, PEAK, TRAFFIC, ENERGY, *peaks)][:MOST_FIGURES]


def metric(key: str) -> Metric:
    """The metric of a key of an objective."""
    return Metric(key, _label(key), UNITS.get(key, "bytes"))


# The current search.


def search_value(state: State, store: Store) -> Search | None:
    """The current search; None before the first one."""
    exploration = state.exploration
    if exploration is None:
        return None
    request, found = exploration.request, found_now(exploration, store) or Found("waiting")
    requested = store.once(_request_value, request)
    return Search(
        **asdict(requested),
        key=request.serial,
        status=found.status if exploration.going or found.status != "running" else "stopped",
        stale=_stale(state, request, store),
        count=len(found.trials),
        total=found.total or request.planned,
        counts=found.counts,
        front=found.front,
        best=found.best,
        checking=found.checking,
        seconds=round(found.seconds, 1),
        left=seconds_left(found, request.settings.seconds),
        error=None if found.error is None else found.error.refusal.message,
        database=SearchDatabase(found.warm_start.text, found.warm_start.problem is not None),
        now=_now(state, store, request),
        bound=space_bound(found, request, store),
        checked={str(number): verdict.status for number, verdict in found.offers.items()},
        card=card_value(state, store, found),
    )


def _request_value(request: SearchRequest) -> SearchRequested:
    objectives = [_label(key) for key in request.settings.objectives]
    budgets = [f"{_label(key)} ≤ {amount_text(key, most)}" for key, most in request.settings.budgets.items()]
    tried = request.planned
    everything = tried == request.space.size
    how = (
        f"all {grouped(tried)}"
        if everything
        else f"{grouped(tried)} of {grouped(request.space.size)}, seed {request.settings.seed}"
    )
    if request.settings.seconds:
        how = f"{how}, time limit {request.settings.seconds:g} s"
    pins = [f"{name} {' or '.join(texts)}" for name, texts in pins_of(request.space).items()]
    holes = zip(request.space.holes, rules_of(request), strict=True)
    return SearchRequested(
        asked=f"{' and '.join(objectives)} on {request.machine.name}: {'; '.join([how, *budgets])}",
        kept=pins,
        branch=request.branch,
        decisions=() if request.derived is None else request.derived.space.decisions,
        left_out=() if request.derived is None else request.derived.space.left_out,
        lost=_lost(request),
        holes=[SearchedHole(**asdict(axis_of(hole)), rule=rule) for hole, rule in holes],
        figures=figures_value(request.machine),
        objectives=request.settings.objectives,
        all=everything,
        size=_sent(request.space.size),
    )


def _lost(request: SearchRequest) -> list[str]:
    """The values to keep that the derived schedule does not have, with its own ones."""
    if request.derived is None:
        return []
    kept, holes = pins_of(request.space), {hole.name: hole.texts for hole in request.space.holes}
    lost = {
        name: value
        for name, value in request.derived.keep.items()
        if name not in kept and len(holes.get(name, ())) != 1
    }
    return [
        f"{name} {value}: " + (f"its values are {', '.join(holes[name])}" if name in holes else "the loop is not tiled")
        for name, value in lost.items()
    ]


def rules_of(request: SearchRequest) -> list[str]:
    """For each hole the title of the rule that wrote it, from the comment above its line; "" for a person's own."""
    lines = request.notebook.document.text.splitlines()
    titles = {rule.title for rule in SCHEDULE_RULES}
    return [_rule_above(lines, call.place.line, titles) for call in request.space.lines if is_hole(call)]


def _rule_above(lines: Sequence[str], line: int, titles: Container[str]) -> str:
    """The title in the last comment of a rule before a line of its cell."""
    for text in reversed(lines[: line - 1]):
        title = text.removeprefix("# ").partition(":")[0]
        if text.startswith("# ") and title in titles:
            return title
        if text.startswith("# %%"):
            break
    return ""


def _label(key: str) -> str:
    return LABELS.get(key) or f"Peak {key.removeprefix(f'{PEAK} ').removeprefix('local.')}"


def amount_text(key: str, amount: float) -> str:
    """A metric's value with its unit."""
    if key == CYCLES:
        return f"{grouped(round(amount))} cycles"
    return f"{amount / 1e6:.4g} µJ" if key == ENERGY else size_text(round(amount))


def _stale(state: State, request: SearchRequest, store: Store) -> str:
    """The origin of the candidates, if the notebook's program, schedule or machine has changed since; else ""."""
    shown = state.shown
    return "" if shown is None or shown is request.notebook else store.once(_other_than, shown, request)


def _other_than(shown: Notebook, request: SearchRequest) -> str:
    a, b = shown.document, request.notebook.document
    found = with_searched(a, b)
    if found is None and workload_text(a) != workload_text(b):
        return "of an earlier version of the program"
    if machine_of(shown) != request.machine:
        return "for the previous machine"
    if schedule_text(a) == schedule_text(b):
        return ""
    return "of an earlier version of the schedule" if found is None else f"of branch {current_branch(found)}"


def seconds_left(found: Found, limit: float = 0.0) -> float | None:
    """The estimated remaining seconds, from the rate of the last 40 candidates, until the `limit` of a search if it has one; None without
    an estimate."""
    recent = found.at[-40:]
    if found.checking is not None:
        return None
    if found.status != "running" or len(recent) < 3 or recent[-1] <= recent[0]:
        return None
    left = (found.total - len(found.trials)) * (recent[-1] - recent[0]) / (len(recent) - 1)
    return round(min(left, max(0.0, limit - found.seconds)) if limit else left, 1)


def _now(state: State, store: Store, request: SearchRequest) -> list[float] | None:
    """The metrics of the displayed schedule; None if it has no report or its machine differs from the search's."""
    report = store.known_report(state)
    if not isinstance(report, Report) or store.machine(state) != request.machine:
        return None
    machine = request.machine
    figures = store.once(figures_of, report, machine.far.scope)
    return listed(figures, request)


def space_bound(found: Found, request: SearchRequest, store: Store) -> SpaceBound | None:
    """The lower bound of the space; None without bounds."""
    known = [
        t.outcome.figures.bound
        for t in found.trials
        if t.outcome.figures is not None and t.outcome.status in ("fits", "pruned")
    ]
    if not known:
        return None
    return SpaceBound(min(known), found.status == "ended" and len(found.trials) == request.space.size)


# The candidates of the search.


def trials_value(state: State, store: Store, search: int, first: int) -> Candidates | None:
    """Candidates of a search, from the one at `first` on; None for other searches."""
    exploration = state.exploration
    found = None if exploration is None else found_now(exploration, store)
    if exploration is None or found is None or search != exploration.request.serial or first < 0:
        return None
    some = zip(found.trials[first : first + MOST_ROWS], found.at[first:], strict=False)
    return Candidates(search, first, [_row(trial, at, exploration.request) for trial, at in some])


def _row(trial: Trial, at: float, request: SearchRequest) -> CandidateRow:
    outcome = trial.outcome
    figures = None if outcome.figures is None else listed(outcome.figures, request)
    exact = outcome.figures is not None and outcome.figures.exact
    return trial.number, outcome.status, exact, trial.point, figures, round(at, 2), words_of(outcome, request)


def listed(figures: Figures, request: SearchRequest) -> list[float]:
    """The metrics in the order of `figures_value`; the peak of an unused memory is 0."""
    return [figure_of(figures, entry.key) for entry in figures_value(request.machine)]


def figure_of(figures: Figures, key: str) -> float:
    row = key.removeprefix(f"{PEAK} ")
    return figures.peaks.get(row, 0) if row != key else figures.figure(key)


__all__ = ["explore_value", "trials_value"]
