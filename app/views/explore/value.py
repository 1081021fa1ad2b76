"""The Explore pane: what would be searched and how, what the search has come to, and its candidates as rows for the pictures.

The rows are asked for by the browser, those that it does not have yet: thousands of them travel once, not with each of the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from ....engine.adopt import Hole, hole_of, is_hole
from ....engine.adopt.holes import EXAMPLE
from ....engine.explore import CYCLES, ENERGY, PEAK, TRAFFIC, Figures, Settings, Trial
from ....engine.explore.trials.outcome import figures_of
from ....engine.hwsim import Machine, Report, row_name
from ....engine.ir import TilewrightError
from ...actions.exploring import machine_of, schedule_text, with_searched
from ...document.editing.branches import current_branch
from ...limits import LIMITS
from ...state.derived import Store
from ...state.model import Exploration, SearchRequest, State
from ...state.search_results import Found, found_now
from ..labels.holes import axis_of
from ..labels.numbers import grouped, size_text
from .candidate_card import card_value, words_of

MOST_ROWS = 2_000
"""Rows in one answer; the browser asks again for those after them."""

MOST_FIGURES = 12

Value = dict[str, Any]

LABELS = {
    CYCLES: ("Cycles", "cycles"),
    ENERGY: ("Energy", "pJ"),
    TRAFFIC: ("Copied", "bytes"),
    PEAK: ("Peak on chip", "bytes"),
}


def explore_value(state: State, store: Store) -> Value:
    """offer: what can be searched; search: what is, None where nothing was begun."""
    return {"offer": offer_value(state, store), "search": search_value(state, store)}


# What can be searched.


def offer_value(state: State, store: Store) -> Value | None:
    """holes [{name, target, values}], size, figures [{key, label, unit}], usual (settings), exhaustive (the most that are all tried), most
    trials, machine, example (a line with a hole), auto (whether a space
    may be derived), error. None where no program is shown."""
    notebook = state.shown
    if notebook is None:
        return None
    return store.remember("holes", (notebook,), lambda: _offer(state, store))


def _offer(state: State, store: Store) -> Value:
    assert state.shown is not None
    holes: list[Hole] = []
    error = ""
    for step in state.shown.steps:
        if is_hole(step.call):
            try:
                holes.append(hole_of(step.call))
            except TilewrightError as refused:
                error = refused.refusal.message
    machine = store.machine(state)
    usual = Settings()
    return {
        "holes": [{"name": hole.name, "target": hole.target, "values": hole.texts} for hole in holes],
        "size": _sent(prod(len(hole.values) for hole in holes)),
        "figures": [] if isinstance(machine, TilewrightError) else figures_value(machine),
        "usual": {"objectives": [CYCLES, PEAK], "trials": usual.trials, "seed": usual.seed, "seconds": usual.seconds},
        "exhaustive": usual.exhaustive,
        "most_trials": LIMITS.trials,
        "machine": machine.refusal.message if isinstance(machine, TilewrightError) else machine.name,
        "example": EXAMPLE.replace("choose", "tilewright.choose"),
        "auto": not holes,
        "error": error,
    }


def _sent(count: int) -> float:
    """A count that may be larger than what a browser counts with."""
    return count if count < 1 << 53 else float(min(count, 10**300))


def figures_value(machine: Machine) -> list[Value]:
    """The figures that candidates have on a machine: key, label, unit."""
    far = machine.far.scope
    rows = [row_name(m, block) for m in machine.memories if m.scope != far for block in range(m.blocks)]
    named = [(key, *LABELS[key]) for key in (CYCLES, PEAK, TRAFFIC, ENERGY)]
    peaks = [(f"{PEAK} {row}", f"Peak {row.removeprefix('local.')}", "bytes") for row in rows]
    if len(rows) == 1:
        peaks = []  # it is that of all
    return [{"key": key, "label": label, "unit": unit} for key, label, unit in (*named, *peaks)][:MOST_FIGURES]


# What is searched.


def search_value(state: State, store: Store) -> Value | None:
    """key (by this the rows are known), standing, asked (in words), stale (what it is of, where the notebook is another by now), branch,
    holes, figures, objectives, count (of the candidates), total, all (tried), size, counts, front, best, seconds, left, checking (how many
    of how many checks of the best were made, while they go on), error, now (figures
    of the schedule that is shown), bound (of the space), checked (verdicts), card (the candidate that is looked at)."""
    exploration = state.exploration
    if exploration is None:
        return None
    sought, found = exploration.sought, found_now(exploration, store) or Found("waiting")
    return {
        "key": sought.serial,
        "standing": found.standing if exploration.going or found.standing != "running" else "stopped",
        **store.remember("sought", (sought,), lambda: _sought(sought)),
        "stale": _stale(state, sought, store),
        "count": len(found.trials),
        "total": found.total or sought.planned,
        "counts": found.counts,
        "front": found.front,
        "best": best_of(found),
        "checking": found.checking,
        "seconds": round(found.seconds, 1),
        "left": seconds_left(found),
        "error": None if found.error is None else found.error.refusal.message,
        "now": _now(state, store, sought),
        "bound": space_bound(found, sought, store),
        "checked": {str(number): verdict.status for number, verdict in found.offers.items()},
        "card": card_value(state, store, found),
    }


def _sought(sought: SearchRequest) -> Value:
    objectives = [_label(key) for key in sought.settings.objectives]
    budgets = [f"{_label(key)} at most {amount_text(key, most)}" for key, most in sought.settings.budgets.items()]
    tried = sought.planned
    everything = tried == sought.space.size
    how = (
        f"all {grouped(tried)}"
        if everything
        else f"{grouped(tried)} of {grouped(sought.space.size)}, seed {sought.settings.seed}"
    )
    if sought.settings.seconds:
        how = f"{how}, {sought.settings.seconds:g} s at most"
    return {
        "asked": f"{' and '.join(objectives)} on {sought.machine.name}: {how}{''.join(f'; {b}' for b in budgets)}",
        "branch": sought.branch,
        "holes": [axis_of(hole) for hole in sought.space.holes],
        "figures": figures_value(sought.machine),
        "objectives": sought.settings.objectives,
        "all": everything,
        "size": _sent(sought.space.size),
    }


def _label(key: str) -> str:
    return LABELS[key][0] if key in LABELS else f"Peak {key.removeprefix(f'{PEAK} ').removeprefix('local.')}"


def amount_text(key: str, amount: float) -> str:
    """A figure with its unit."""
    if key == CYCLES:
        return f"{grouped(round(amount))} cycles"
    return f"{amount / 1e6:.4g} µJ" if key == ENERGY else size_text(round(amount))


def _stale(state: State, sought: SearchRequest, store: Store) -> str:
    """What the candidates are of, where the notebook says something else by now: another program, schedule or machine; else ""."""
    shown = state.shown
    if shown is None or shown is sought.notebook:
        return ""

    def other() -> str:
        a, b = shown.document, sought.notebook.document
        texts = [[cell.text for cell in document.of_kind("workload")] for document in (a, b)]
        if texts[0] != texts[1]:
            return "of an earlier program"
        if machine_of(shown) != sought.machine:
            return "on the machine as it was"
        if schedule_text(a) == schedule_text(b):
            return ""
        found = with_searched(a, b)
        return "of an earlier text" if found is None else f"of branch {current_branch(found)}"

    return store.remember("stale", (shown, sought), other)


def best_of(found: Found) -> int | None:
    """The number of the first of the front: the least of the first objective."""
    return found.front[0] if found.front else None


def seconds_left(found: Found) -> float | None:
    """As long as the last ones took, so long the rest will take; None where nothing is known."""
    recent = found.at[-40:]
    if found.checking is not None:
        return None
    if found.standing != "running" or len(recent) < 3 or recent[-1] <= recent[0]:
        return None
    return round((found.total - len(found.trials)) * (recent[-1] - recent[0]) / (len(recent) - 1), 1)


def _now(state: State, store: Store, sought: SearchRequest) -> list[float] | None:
    """The figures of the schedule that is shown, where it is on the same machine."""
    report = store.report_now(state)
    if not isinstance(report, Report) or store.machine(state) != sought.machine:
        return None
    machine = sought.machine
    figures = store.remember("figures", (report, machine), lambda: figures_of(report, machine.far.scope))
    return listed(figures, sought)


def space_bound(found: Found, sought: SearchRequest, store: Store) -> Value | None:
    """The least bound of all candidates that fit or were left out for theirs: what none of the space can be below, once all were tried."""
    known = [
        t.outcome.figures.bound
        for t in found.trials
        if t.outcome.figures is not None and t.outcome.status in ("fits", "pruned")
    ]
    if not known:
        return None
    return {"cycles": min(known), "whole": found.standing == "ended" and len(found.trials) == sought.space.size}


# Its candidates.


def trials_answer(state: State, store: Store, message: Mapping[str, Any]) -> Value | None:
    """What a view asks for with {"kind": "trials", "search", "from"}: rows in the order in which they ended: [number, status, exact, point,
    figures or None, seconds, why]. None for other messages, and of another search."""
    if message.get("kind") != "trials" or state.exploration is None:
        return None
    exploration: Exploration = state.exploration
    key, first = exploration.sought.serial, message.get("from")
    found = found_now(exploration, store)
    if found is None or message.get("search") != key or not isinstance(first, int) or first < 0:
        return None
    some = found.trials[first : first + MOST_ROWS]
    rows = [_row(trial, at, exploration.sought) for trial, at in zip(some, found.at[first:], strict=False)]
    return {"kind": "trials", "search": key, "from": first, "rows": rows}


def _row(trial: Trial, at: float, sought: SearchRequest) -> list[Any]:
    outcome = trial.outcome
    figures = None if outcome.figures is None else listed(outcome.figures, sought)
    exact = outcome.figures is not None and outcome.figures.exact
    return [trial.number, outcome.status, exact, trial.point, figures, round(at, 2), words_of(outcome, sought)]


def listed(figures: Figures, sought: SearchRequest) -> list[float]:
    """The figures in the order of `figures_value`; a memory that is not used takes nothing."""
    return [_figure(figures, entry["key"]) for entry in figures_value(sought.machine)]


def _figure(figures: Figures, key: str) -> float:
    row = key.removeprefix(f"{PEAK} ")
    return figures.peaks.get(row, 0) if row != key else figures.figure(key)


__all__ = ["explore_value", "trials_answer"]
