"""One time slice of one kernel: derivation of a space with its first schedule, or search of the space; the best schedule is checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ...explore import (
    DerivedSpace,
    EvaluationLimits,
    EvaluationRequest,
    Evaluator,
    Outcome,
    Settings,
    SpaceOrigin,
    TuningRecord,
    WarmStart,
    derive_space,
    explore,
    verdict_of,
)
from ...ir import PrimFunc, Refusal, TilewrightError
from ...script import parse
from .study import KernelStudy, KernelTask, filled_text, space_from

TRIALS = 100_000
"""Candidates of a search that its time limits."""


def performed(task: KernelTask) -> KernelStudy:
    """Return what is known about the kernel after the slice. An error of the derivation is its result."""
    until = time.monotonic() + task.seconds
    try:
        program = parse(task.program).program
        assert isinstance(program, PrimFunc)
        if not task.known.space:
            return _derived(program, task, lambda: time.monotonic() >= until)
        return _searched(program, task)
    except TilewrightError as error:
        return refused(task.known, error.refusal)


def refused(known: KernelStudy, refusal: Refusal) -> KernelStudy:
    """The study with the reason why its slice found nothing; a schedule that is known already stays."""
    return replace(known, code=refusal.code, message=refusal.message, slices=known.slices + 1, ended=True)


def _derived(program: PrimFunc, task: KernelTask, stop: Callable[[], bool]) -> KernelStudy:
    """The derived space, and its default schedule if that fits and is not wrong."""
    with WarmStart(task.database or None, program, task.sizes, task.machine) as warm:
        derived, outcome = _fastest(program, task, warm.records, stop)
        return _checked(derived, outcome, warm, task)


def _checked(derived: DerivedSpace, outcome: Outcome, warm: WarmStart, task: KernelTask) -> KernelStudy:
    """The study with the default schedule of a derived space, which is added to the database."""
    space = derived.space
    known = replace(
        task.known, space=derived.text, trials=1, slices=1, ended=space.size == 1, choice=derived.choice,
        **_database_words(warm),
    )  # fmt: skip
    if not outcome.fits or outcome.figures is None:
        return replace(known, code=outcome.code or outcome.status, message=outcome.message)
    verdict = verdict_of(space, space.default)
    if verdict.status == "failed":
        return replace(known, code="wrong-result", message=verdict.detail)
    text = filled_text(space, derived.text, space.default)
    warm.commit(space, space.default, outcome.figures.cycles, verdict, derived.origin)
    return replace(
        known, lines=text, cycles=outcome.figures.cycles, status=verdict.status, detail=verdict.detail
    )  # fmt: skip


def _database_words(warm: WarmStart) -> dict[str, str]:
    """What a database contributed to a study, or why it could not be used."""
    return {"began_with" if warm.use.problem is None else "database_problem": warm.use.text}


def _fastest(
    program: PrimFunc, task: KernelTask, records: Sequence[TuningRecord], stop: Callable[[], bool]
) -> tuple[DerivedSpace, Outcome]:
    """The space of the task's first choice whose default is fast enough, else that of a complete derivation, and the outcome of its
    default."""
    for choice in task.choices:
        found = derive_space(program, task.machine, sizes=task.sizes, stop=stop, choice=choice)
        outcome = _default_outcome(found, task)
        if outcome.fits and outcome.figures is not None and outcome.figures.cycles <= task.enough:
            return found, outcome
    found = derive_space(program, task.machine, sizes=task.sizes, records=records, stop=stop)
    return found, _default_outcome(found, task)


def _default_outcome(derived: DerivedSpace, task: KernelTask) -> Outcome:
    evaluator = Evaluator(derived.space, task.machine, ("cycles",))
    return evaluator.tried(EvaluationRequest(0, derived.space.default))


def _searched(program: PrimFunc, task: KernelTask) -> KernelStudy:
    """The study after more candidates of its space."""
    known = task.known
    space = space_from(program, known.space, task.sizes)
    settings = Settings(trials=TRIALS, seconds=task.seconds, limits=EvaluationLimits(memory_bytes=0))
    study = explore(
        space, task.machine, settings, store=task.store or None, database=task.database or None,
        origin=SpaceOrigin(known.space, known.choice),
    )  # fmt: skip
    all_tried = len(study.trials) >= min(space.size, TRIALS)
    after = replace(known, trials=max(known.trials, len(study.trials)), slices=known.slices + 1, ended=all_tried)
    for offer in study.offers:
        figures = offer.trial.outcome.figures
        if figures is not None and (not known.lines or figures.cycles < known.cycles):
            return replace(
                after, lines=filled_text(space, known.space, offer.trial.point), cycles=figures.cycles,
                status=offer.verdict.status, detail=offer.verdict.detail, code="", message="",
            )  # fmt: skip
    return after


__all__ = ["performed", "refused"]
