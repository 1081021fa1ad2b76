"""A search finds the best point, with or without pruning, in one run or several, and repeats with the same seed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profile import IS_DEEP
from support.schedules.spaces import LINES, gemm_space

from tilewright.engine.execute import Verdict
from tilewright.engine.explore import (
    EvaluationLimits,
    EvaluationRequest,
    Evaluator,
    InProcess,
    ObjectiveError,
    Outcome,
    Progress,
    Settings,
    StoreError,
    Study,
    Verifier,
    dominates,
    explore,
)  # fmt: skip
from tilewright.engine.explore.search import loop as search_module
from tilewright.engine.explore.space.model import Point
from tilewright.engine.explore.trials import evaluator as trials_module
from tilewright.engine.explore.trials.evaluator import Answer, Task
from tilewright.engine.explore.trials.study import Enough, front_of
from tilewright.engine.hwsim import Report, TaskProgram, load_machine, simulate

GEMMINI = load_machine("gemmini")
SPACE = gemm_space(LINES.replace("[16, 32]", "[16]").replace("[32, 8, 16]", "[32, 8]"))
"""24 points."""
BOTH = ("cycles", "peak local.scratchpad")
SAMPLED = Settings(exhaustive=0, trials=16, batch=8)


@cache
def everything() -> tuple[Outcome, ...]:
    """The outcome of each point, without pruning."""
    bench = Evaluator(SPACE, GEMMINI, ("cycles",))
    return tuple(bench.tried(EvaluationRequest(n, point)) for n, point in enumerate(SPACE.points()))


@cache
def exhaustive() -> Study:
    """The exhaustive search."""
    return explore(SPACE, GEMMINI, Settings(batch=8))


@cache
def sampled() -> Study:
    return explore(SPACE, GEMMINI, SAMPLED)


@cache
def nsga2() -> Study:
    """Samples for two objectives."""
    return explore(SPACE, GEMMINI, Settings(objectives=BOTH, exhaustive=0, trials=8, batch=8))


@cache
def of_both() -> Study:
    """The exhaustive search for two objectives."""
    return explore(SPACE, GEMMINI, Settings(objectives=BOTH))


def known() -> dict[Point, Outcome]:
    return {trial.point: trial.outcome for trial in of_both().trials}


class Backwards:
    """Workers whose answers come in reverse order."""

    def __init__(self, settings: Settings) -> None:
        self._bench = Evaluator(SPACE, GEMMINI, settings.objectives, settings.budgets, settings.limits)

    def answers(self, tasks: Sequence[Task], enough: Enough) -> Iterator[tuple[Task, Answer]]:
        return InProcess(self._bench).answers(tasks[::-1], enough)

    def close(self) -> None: ...


@pytest.mark.slow
def test_a_small_space_is_searched_exhaustively() -> None:
    study = exhaustive()
    least = min((o.figures.cycles, n) for n, o in enumerate(everything()) if o.fits and o.figures is not None)
    assert study.method == "exhaustive" and study.ended and len(study.trials) == study.total == SPACE.size
    assert study.best is not None and study.best.outcome.figures is not None
    assert (study.best.outcome.figures.cycles, study.best.number) == least
    # Some points are pruned, and none of them is better.
    pruned = [t for t in study.trials if t.outcome.status == "pruned"]
    assert pruned and all((o := everything()[t.number]).figures and o.figures.cycles >= least[0] for t in pruned)


@pytest.mark.slow
def test_front_of_two_objectives_is_that_of_all_outcomes() -> None:
    study = of_both()
    fit = {
        n: tuple(o.figures.figure(name) for name in BOTH) for n, o in enumerate(everything()) if o.fits and o.figures
    }
    expected = {v for v in fit.values() if not any(dominates(w, v) for w in fit.values())}
    vectors = [tuple(t.outcome.figures.figure(n) for n in BOTH) for t in study.front if t.outcome.figures]
    assert vectors == sorted(expected) and len(vectors) > 1
    assert [offer.trial for offer in study.offers] == list(study.front)
    assert {offer.verdict.status for offer in study.offers} <= {"proved", "tested"}


@pytest.mark.slow
def test_outcomes_explain_rejected_candidates() -> None:
    refused = next(o for o in everything() if o.status == "refused")
    assert refused.code == "no-loop-to-overlap" and refused.line == len(SPACE.lines) - 1 and refused.figures is None
    small = GEMMINI.replace("memories.accumulator.capacity_bytes", 1024)
    over = explore(SPACE, small).trials
    assert {t.outcome.code for t in over if t.outcome.status == "over"} == {"capacity-overflow"}
    budget = explore(SPACE, GEMMINI, Settings(budgets={"traffic": 12_000, "peak local.scratchpad": 2_500})).trials
    for trial in budget:
        figures = trial.outcome.figures
        if trial.outcome.fits and figures is not None:
            assert (
                figures.traffic_bytes <= 12_000
                and max(figures.peaks[f"local.scratchpad[{n}]"] for n in range(4)) <= 2_500
            )
    assert {t.outcome.code for t in budget if t.outcome.status == "over"} == {"budget"}


@pytest.mark.slow
@given(st.lists(st.integers(0, SPACE.size - 1), min_size=1, max_size=12))
@settings(max_examples=100 if IS_DEEP else 8)
def test_law_reused_prefixes_change_no_outcome(numbers: list[int]) -> None:
    bench = Evaluator(SPACE, GEMMINI, ("cycles",))
    for number in numbers:
        assert bench.tried(EvaluationRequest(number, SPACE.point_at(number))) == everything()[number]


@pytest.mark.slow
@given(
    st.integers(0, SPACE.size - 1),
    st.sampled_from([2048, 4096, 6144, 8192, 12_288]),
    st.sampled_from([1024, 2048, 4096, 8192]),
)
@settings(max_examples=400 if IS_DEEP else 15)
def test_law_predicted_overflows_are_reported(number: int, scratchpad: int, accumulator: int) -> None:
    machine = GEMMINI.replace("memories.scratchpad.capacity_bytes", scratchpad)
    machine = machine.replace("memories.accumulator.capacity_bytes", accumulator)
    point = SPACE.point_at(number)
    outcome = Evaluator(SPACE, machine, ("cycles",)).tried(EvaluationRequest(0, point))
    if outcome.status not in ("fits", "over"):
        return
    report = simulate(SPACE.schedule_at(point).schedule.described, machine)
    assert (outcome.status == "over") == any(m.peak_bytes > m.capacity_bytes for m in report.memory.values())
    if outcome.figures is not None and outcome.fits:
        assert outcome.figures.cycles == report.cycles


@pytest.mark.slow
def test_the_order_of_answers_changes_nothing() -> None:
    for one in (exhaustive(), sampled(), *([nsga2()] if IS_DEEP else [])):
        other = explore(SPACE, GEMMINI, one.settings, workers=Backwards(one.settings))
        assert (one.trials == other.trials and one.offers == other.offers) or one.front == other.front


def test_sampler_repeats_no_point_and_begins_with_the_default() -> None:
    study = sampled()
    points = [trial.point for trial in study.trials]
    assert study.method == "tpe" and points[0] == SPACE.default and len(set(points)) == len(points) == 16
    other = explore(SPACE, GEMMINI, Settings(exhaustive=0, trials=8, batch=8, seed=1))
    assert [t.point for t in other.trials] != points[:8]
    several = nsga2()
    assert several.method == "nsga2" and len({t.point for t in several.trials}) == 8


def test_sampler_eventually_visits_all_points() -> None:
    space = gemm_space('C = sch.get_block("C")\nx = choose("x", [1, 2, 3])\ny = choose("y", ["a", "b"])\n')
    study = explore(space, GEMMINI, Settings(exhaustive=0, trials=100, batch=4))
    assert study.ended and sorted(t.point for t in study.trials) == sorted(space.points())


def test_progress_is_reported_for_each_trial_and_may_stop() -> None:
    reported: list[Progress] = []
    study = explore(SPACE, GEMMINI, watch=reported.append, stop=lambda: len(reported) > 11)
    assert not study.ended and [p.done for p in reported] == list(range(1, 13)) and reported[-1].total == SPACE.size
    assert (
        sum(reported[-1].counts.values()) == 12
        and reported[-1].best == study.best
        and reported[-1].front == study.front
    )
    assert study.offers and study.offers[0].trial == study.best


@pytest.mark.parametrize("polls", [1, 40, 400])
def test_stop_ends_evaluation_at_its_checkpoint(polls: int) -> None:
    polled = 0

    def stop() -> bool:
        nonlocal polled
        polled += 1
        return polled >= polls

    study = explore(SPACE, GEMMINI, Settings(batch=8), stop=stop)
    expected = exhaustive().trials
    assert study.trials == expected[: len(study.trials)] and len(study.trials) < len(expected)
    # After the evaluation ends, the batch and the search poll once each.
    assert not study.ended and polled <= polls + 2


@pytest.mark.slow
def test_study_ends_at_its_time_limit_and_resumes_with_more(tmp_path: Path) -> None:
    store = tmp_path / "study.sqlite"
    short = explore(SPACE, GEMMINI, Settings(batch=8, seconds=1e-9), store=store)
    assert short.ended and len(short.trials) == 1 and short.total == SPACE.size
    reported: list[Progress] = []
    some = explore(SPACE, GEMMINI, Settings(batch=8, seconds=0.05), store=store, watch=reported.append)
    assert some.ended and 0 < len(some.trials) < SPACE.size
    assert explore(SPACE, GEMMINI, Settings(batch=8), store=store).trials == exhaustive().trials


def test_checks_of_offers_are_reported_and_may_be_stopped() -> None:
    reported: list[Verifier] = []
    study = explore(SPACE, GEMMINI, Settings(objectives=BOTH), known=known(), checking=reported.append)
    assert [c.done for c in reported] == list(range(len(study.offers))) and {c.total for c in reported} == {
        len(study.front)
    }
    assert len(study.offers) == len(study.front) > 1
    fewer = explore(SPACE, GEMMINI, Settings(objectives=BOTH), known=known(), checking=lambda c: c.done == 1)
    assert [o.trial for o in fewer.offers] == [study.offers[0].trial] and fewer.front == study.front


@pytest.mark.parametrize("after", [11, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 8, 15))])
def test_stopped_study_resumes_with_the_same_trials(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "study.sqlite"
    reported: list[Progress] = []
    uncut = sampled()
    first = explore(SPACE, GEMMINI, SAMPLED, store=store, watch=reported.append, stop=lambda: len(reported) >= after)
    requests: list[EvaluationRequest] = []
    tried = Evaluator.tried
    monkeypatch.setattr(Evaluator, "tried", lambda self, question: requests.append(question) or tried(self, question))
    again = explore(SPACE, GEMMINI, SAMPLED, store=store)
    assert len(first.trials) == after and again.trials == uncut.trials
    # Known points are not evaluated again.
    assert [q.number for q in requests] == list(range(after, 16))


@pytest.mark.parametrize("trials", [10, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 7, 15))])
def test_a_study_resumes_with_more_trials(tmp_path: Path, trials: int) -> None:
    store = tmp_path / "study.sqlite"
    few = explore(SPACE, GEMMINI, Settings(exhaustive=0, trials=trials, batch=8), store=store)
    more = explore(SPACE, GEMMINI, SAMPLED, store=store)
    assert more.trials[:trials] == few.trials and len(more.trials) == 16


def test_the_file_of_another_study_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "study.sqlite"
    explore(SPACE, GEMMINI, SAMPLED, store=store, stop=lambda: True)
    for space, machine, config in (
        (gemm_space(m=16), GEMMINI, SAMPLED),
        (SPACE, GEMMINI.replace("engines.mvin.setup_cycles", 9), SAMPLED),
        (SPACE, GEMMINI, Settings(exhaustive=0, trials=16, batch=8, seed=3)),
    ):
        with pytest.raises(StoreError, match="other-study"):
            explore(space, machine, config, store=store)
    text = tmp_path / "text"
    text.write_text("no database " * 200)
    with pytest.raises(StoreError, match="not-a-study"):
        explore(SPACE, GEMMINI, store=text)
    assert text.read_text().startswith("no database")
    with sqlite3.connect(store) as base:
        assert base.execute("select count(*) from trials").fetchone() == (0,)


@pytest.mark.parametrize("name", ["speed", "peak local.vtcm", "peak global", "cycles local", "peak ", ""])
def test_unknown_objective_is_refused_at_once(name: str) -> None:
    with pytest.raises(ObjectiveError) as caught:
        explore(SPACE, GEMMINI, Settings(objectives=(name,)))
    assert "peak local.scratchpad[0]" in caught.value.refusal.expected
    with pytest.raises(ObjectiveError):
        explore(SPACE, GEMMINI, Settings(budgets={name: 3}))


@pytest.mark.slow
def test_only_a_candidate_of_too_many_tasks_fails() -> None:
    study = explore(SPACE, GEMMINI, Settings(limits=EvaluationLimits(tasks=12)))
    failed = [t for t in study.trials if t.outcome.status == "failed"]
    assert failed and {t.outcome.code for t in failed} == {"too-many-tasks"} and len(failed) < len(study.trials)


def test_wrong_result_is_replaced_by_the_next_best(monkeypatch: pytest.MonkeyPatch) -> None:
    right = exhaustive()
    assert right.best is not None
    wrong = right.best.point
    check = search_module.verdict_of
    monkeypatch.setattr(
        search_module,
        "verdict_of",
        lambda space, point: Verdict("failed", "C differs") if point == wrong else check(space, point),
    )
    offers = search_module.offers_of(right)
    rest = tuple(t for t in right.trials if t.point != wrong)
    assert [o.trial for o in offers] == list(front_of(rest, ("cycles",)).items)


def test_study_continues_after_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate, left = trials_module.simulate_tasks, [3]

    def faulty(program: TaskProgram, most: int) -> Report:
        if left[0]:
            left[0] -= 1
            raise ZeroDivisionError("of ours")
        return simulate(program, most)

    monkeypatch.setattr(trials_module, "simulate_tasks", faulty)
    study = explore(SPACE, GEMMINI)
    failures = [t.outcome for t in study.trials if t.outcome.code == "internal-error"]
    assert (
        len(failures) == 3
        and all("ZeroDivisionError" in o.message for o in failures)
        and len(study.trials) == SPACE.size
    )
