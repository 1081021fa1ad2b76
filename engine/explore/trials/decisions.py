"""What each decision of a schedule is worth: its cycles with one choice changed at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from ..space.model import Point
from ..space.parameter_axis import ParameterAxis, neighbours
from .evaluator import EvaluationRequest, Evaluator
from .outcome import CYCLES, Outcome
from .study import Study

MOST_OTHERS = 2
"""Other values that are tried of each hole: of numbers the next lower and higher one."""


class OtherChoice(msgspec.Struct, frozen=True):
    """Another value of one hole, as text, and the cycles with it; None where it does not fit or is refused, for the reason `why`."""

    text: str
    cycles: int | None
    why: str = ""


class DecisionWorth(msgspec.Struct, frozen=True):
    """The value of a hole in a schedule, and the nearest other ones, the fastest first. `extra` are the cycles that the schedule needs more
    with the fastest of these; None if none of them fits."""

    hole: str
    text: str
    others: tuple[OtherChoice, ...]
    extra: int | None


def worth_of_decisions(study: Study) -> Iterator[DecisionWorth]:
    """Yields what each decision of the best schedule of a study is worth, in the order of the holes."""
    figures = study.offers[0].trial.outcome.figures if study.offers else None
    if figures is None:
        return
    evaluator = Evaluator(study.space, study.machine, (CYCLES,), limits=study.settings.limits)
    known = {trial.point: trial.outcome for trial in study.trials if trial.outcome.status != "pruned"}
    point = study.offers[0].trial.point
    for n, hole in enumerate(study.space.holes):
        near = islice(neighbours(point, n, ParameterAxis(hole)), MOST_OTHERS)
        found = [_other(hole.texts[other[n]], other, evaluator, known) for other in near]
        found.sort(key=lambda one: (one.cycles is None, one.cycles or 0))
        if found:
            least = found[0].cycles
            extra = None if least is None else least - figures.cycles
            yield DecisionWorth(hole.name, hole.texts[point[n]], tuple(found), extra)


def _other(text: str, point: Point, evaluator: Evaluator, known: Mapping[Point, Outcome]) -> OtherChoice:
    outcome = known.get(point) or evaluator.tried(EvaluationRequest(0, point))
    if outcome.fits and outcome.figures is not None:
        return OtherChoice(text, outcome.figures.cycles)
    return OtherChoice(text, None, outcome.message)


__all__ = ["DecisionWorth", "OtherChoice", "worth_of_decisions"]
