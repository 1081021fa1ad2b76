"""One time slice of one kernel: derivation of a space with its first schedule, or search of the space; the best schedule is checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ...explore import (
    DerivedSpace,
    DerivedStart,
    EvaluationLimits,
    Settings,
    TuningRecord,
    WarmStart,
    derive_space,
    search_from,
    start_of_search,
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
        return _checked(_fastest(program, task, warm.records, stop), warm, task)


def _checked(start: DerivedStart, warm: WarmStart, task: KernelTask) -> KernelStudy:
    """The study with the default schedule of a derived space, which is added to the database."""
    derived, outcome, space = start.space, start.outcome, start.space.space
    known = replace(
        task.known, space=derived.text, first=outcome, trials=1, slices=1, ended=space.size == 1, choice=derived.choice,
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
) -> DerivedStart:
    """The space of the task's first choice whose default is fast enough, else that of a complete derivation."""
    settings = _settings(task)
    for choice in task.choices:
        found = derive_space(program, task.machine, sizes=task.sizes, stop=stop, choice=choice)
        start = start_of_search(found, task.machine, settings)
        if start.outcome.fits and start.outcome.figures is not None and start.outcome.figures.cycles <= task.enough:
            return start
    found = derive_space(program, task.machine, sizes=task.sizes, records=records, stop=stop)
    return start_of_search(found, task.machine, settings)


def _settings(task: KernelTask) -> Settings:
    return Settings(trials=TRIALS, seconds=task.seconds, limits=EvaluationLimits(memory_bytes=0))


def _searched(program: PrimFunc, task: KernelTask) -> KernelStudy:
    """The study after more candidates of its space."""
    known = task.known
    space = space_from(program, known.space, task.sizes)
    derived = DerivedSpace(space, known.space, choice=known.choice)
    start = None if known.first is None else DerivedStart(derived, known.first)
    study = search_from(
        start, space, task.machine, _settings(task), store=task.store or None, database=task.database or None
    )
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
