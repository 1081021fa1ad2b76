"""The changes of each step in figures: cycles, bytes moved, the peak of the memories on the chip, overlap; better or worse in a word."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ....engine.hwsim import Report
from ....engine.ir import TilewrightError
from ...state.derived import Store
from ...state.model import State
from ..labels.fitness import effect_of
from ..labels.numbers import change_of, grouped, percent_text, size_text
from ..labels.values import Trend, Value


class StepFigure(Value, frozen=True):
    """A figure before and after a step."""

    label: str
    before: str
    after: str
    change: str
    trend: Trend


class StepCosts(Value, frozen=True):
    """The effect of a step on the cycles, None if they stay the same; and all figures that changed."""

    change: str | None = None
    trend: Trend | None = None
    hint: str | None = None
    figures: Sequence[StepFigure] = ()


OVERLAP_STEP = 0.005
"""The smallest reported difference of the overlap."""


def known_changes(state: State, store: Store) -> dict[int, StepCosts]:
    """The costs of each step whose programs are simulated already."""
    if state.shown is None:
        return {}
    return dict(_changes([store.known_report(state, moment.schedule) for moment in state.shown.states], store))


def _changes(reports: Sequence[Report | TilewrightError | None], store: Store) -> Iterator[tuple[int, StepCosts]]:
    """`reports[n]` is of the moment before step n."""
    for step, (before, after) in enumerate(itertools.pairwise(reports)):
        if not isinstance(after, Report) or before is after:
            continue
        if isinstance(before, TilewrightError):
            hint = f"From this step on, the machine can run the program: {grouped(after.cycles)} cycles"
            yield step, StepCosts("runs", "better", hint)
        elif isinstance(before, Report):
            figures = store.once(cost_figures, before, after)
            if figures:
                yield step, _row(figures, *effect_of(before, after))


def _row(figures: list[StepFigure], effect: str, trend: Trend) -> StepCosts:
    """The costs next to a step's line: its effect, and all figures in a tooltip and below the chosen step."""
    hint = "\n".join(f"{f.label} {f.before} → {f.after}, {f.change} ({f.trend})" for f in figures)
    is_same = trend == "same"
    return StepCosts(None if is_same else effect, "" if is_same else trend, hint, figures)


def cost_figures(before: Report, after: Report) -> list[StepFigure]:
    """The figures that differ in `after`."""
    found: list[StepFigure] = []
    if before.cycles != after.cycles:
        found.append(_figure("Cycles", before.cycles, after.cycles, grouped))
    if before.copied_bytes != after.copied_bytes:
        found.append(_figure("Bytes moved", before.copied_bytes, after.copied_bytes, size_text))
    peaks = _peak(before), _peak(after)
    if peaks[0] != peaks[1]:
        found.append(_figure("On-chip peak", *peaks, size_text))
    if abs(before.overlap - after.overlap) >= OVERLAP_STEP:
        trend: Trend = "better" if after.overlap > before.overlap else "worse"
        points = round(100 * (after.overlap - before.overlap))
        change = f"{'+' if points > 0 else '−'}{abs(points)} points"
        texts = percent_text(before.overlap), percent_text(after.overlap)
        found.append(StepFigure("Overlap", *texts, change, trend))
    return found


def _figure(label: str, before: int, after: int, text_of: Any) -> StepFigure:
    return StepFigure(label, text_of(before), text_of(after), *change_of(before, after))


def _peak(report: Report) -> int:
    """Bytes of all memories on the chip at their fullest."""
    return sum(memory.peak_bytes for name, memory in report.memory.items() if name != "global")


__all__ = ["cost_figures", "known_changes"]
