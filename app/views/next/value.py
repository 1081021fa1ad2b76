"""The value of the Next pane: what limits the program, and ranked suggestions."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ....engine.hwsim import Machine, Report, load_machine, preset_names
from ....engine.hwsim.machine.parts import KINDS
from ....engine.ir import TilewrightError
from ....engine.suggest import Suggestion
from ...state.derived import Store
from ...state.model import State
from ...state.row_ids import row_ids
from ..labels.fitness import cycles_text
from ..labels.holes import tiles_text
from ..labels.numbers import grouped, percent_text, size_text
from ..problems.lints import lints_now
from ..problems.value import fix_value
from .suggestions import bound_now, ranked_now, suggested_now

Value = dict[str, Any]

MOST_SHOWN = 24
"""Suggestions beyond the best ones are not sent."""


def next_value(state: State, store: Store) -> Value:
    """The pane's value: `looking` (suggestions are still being tried), `limit` {text, detail}, `bound` (the distance from the lower
    bound of the program, as text), `heaviest` {row, name, text}, `machines` to choose from while the schedule has no steps, `tiles` of the
    schedule that a derivation can keep, as text, and `suggestions`, the best first: rule, title, `decisions` (what the calls do), `fix` as
    in `problems_value`."""
    if state.notebook is None or state.moment is None:
        return {
            "looking": False,
            "limit": None,
            "bound": "",
            "heaviest": None,
            "machines": [],
            "tiles": "",
            "suggestions": [],
        }
    report = store.report_now(state)
    suggested, linted = suggested_now(state, store), lints_now(state, store)
    is_done = isinstance(report, TilewrightError) or state.looks_back
    is_done = is_done or bool(suggested and suggested.is_complete and linted and linted.is_complete)
    return {
        "looking": not is_done,
        "limit": _limit(report),
        "bound": bound_text(report, bound_now(state, store)),
        "heaviest": _heaviest(state, report),
        "machines": _machines(state, store) if len(state.notebook.steps) == 0 else [],
        "tiles": store.remember("tiles", (state.shown,), lambda: tiles_text(state)),
        "suggestions": [_suggestion(state, one) for one in ranked_now(state, store)[:MOST_SHOWN]],
    }


def _suggestion(state: State, one: Suggestion) -> Value:
    before, now = one.fix.copied_before, one.fix.copied
    moved = f"{size_text(before)} → {size_text(now)} copied" if before != now else ""
    fix = fix_value(state, one.fix)
    return {
        "rule": one.rule,
        "title": one.title,
        "decisions": list(one.decisions),
        "fix": fix | {"detail": ", ".join(text for text in (fix["detail"], moved) if text)},
    }


def _limit(report: Report | TilewrightError | None) -> Value | None:
    """The cycles of the program, and the engine or port that bounds them."""
    if report is None:
        return None
    if isinstance(report, TilewrightError):
        return {"text": "The machine cannot run the program", "detail": report.refusal.message}
    bound = report.bounds[0] if report.bounds else None
    if bound is None or report.overflow_bytes:
        return {"text": cycles_text(report), "detail": ""}
    what = f"{bound.name} is busy for {grouped(bound.cycles)} of them, {percent_text(bound.cycles / report.cycles)}"
    kind = {"engine": "less work on it", "port": "fewer bytes through it"}.get(bound.kind, "")
    rest = f"; only {kind} makes the program faster" if kind and bound.cycles * 1.05 >= report.cycles else ""
    return {"text": cycles_text(report), "detail": f"{what}{rest}"}


def bound_text(report: Report | TilewrightError | None, bound: int | None) -> str:
    """The lower bound of every schedule of the program, and how far the displayed one is from it; "" if unknown."""
    if not bound:
        return ""
    text = f"Program bound: any schedule needs at least {grouped(bound)} cycles"
    if not isinstance(report, Report) or report.overflow_bytes:
        return text
    ratio = report.cycles / bound
    return f"{text}; this one {grouped(round(ratio)) if ratio >= 100 else f'{ratio:.2f}'} times as many"


def _heaviest(state: State, report: Report | TilewrightError | None) -> Value | None:
    """The block with the most busy cycles."""
    if not isinstance(report, Report) or state.moment is None:
        return None
    spent: Counter[str] = Counter()
    engines: dict[str, str] = {}
    for task in report.tasks:
        spent[task.block] += task.cycles
        engines[task.block] = task.engine
    ids = row_ids(state.moment.schedule.func)
    name, cycles = next(((n, c) for n, c in spent.most_common() if ids.has(n)), ("", 0))
    if not cycles:
        return None
    text = (
        f"{grouped(cycles)} cycles of {engines[name]}, {percent_text(cycles / max(1, sum(spent.values())))} of all work"
    )
    return {"row": ids.of(name), "name": name, "text": text}


def _machines(state: State, store: Store) -> list[Value]:
    """The presets, each with its memories and engines for a small drawing."""
    chosen = store.machine(state)
    name = chosen.name if isinstance(chosen, Machine) else ""
    presets = store.remember("machine-drawings", (), lambda: [_drawing(load_machine(n)) for n in preset_names()])
    return [drawing | {"chosen": drawing["name"] == name} for drawing in presets]


def _drawing(machine: Machine) -> Value:
    """The memories of a machine from the farthest to the nearest, and its engines."""
    far = machine.far
    near = [m for m in machine.memories if m is not far]
    return {
        "name": machine.name,
        "description": machine.description,
        "memories": [{"name": m.name, "size": size_text(m.capacity_bytes)} for m in (far, *near)],
        "engines": [{"name": e.name, "kind": KINDS[type(e)]} for e in machine.engines],
    }
