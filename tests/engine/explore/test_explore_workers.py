"""Worker processes that evaluate candidates: results equal those of one process, dead workers are replaced, nothing counts twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.faults.killed_study import SETTINGS
from support.profile import IS_DEEP
from support.programs.random_programs import programs
from support.schedules.spaces import gemm_space

from tilewright.engine.adopt import read_pasted
from tilewright.engine.explore import (
    EvaluationLimits,
    EvaluationRequest,
    Evaluator,
    Outcome,
    Progress,
    Settings,
    Study,
    WorkersError,
    explore,
    space_of,
)
from tilewright.engine.explore.search.local_search import LocalSearch
from tilewright.engine.explore.trials import evaluator as trials
from tilewright.engine.explore.workers import pool as workers_module
from tilewright.engine.explore.workers.job import answer_from, encoded, job_from, job_of, task_from
from tilewright.engine.explore.workers.pool import Processes, WorkerProcess
from tilewright.engine.explore.workers.process import answer_within
from tilewright.engine.hwsim import load_machine
from tilewright.engine.processes import process as process_module
from tilewright.engine.processes.pipe import HEAD_BYTES
from tilewright.engine.schedule import Intrinsics
from tilewright.engine.script import read_calls

GEMMINI = load_machine("gemmini")
SPACE = gemm_space()
HERE = Evaluator(SPACE, GEMMINI, ("cycles",))
TESTS = Path(__file__).parents[2]


@cache
def alone() -> Study:
    return explore(SPACE, GEMMINI, SETTINGS)


@contextmanager
def worker_within(limits: EvaluationLimits) -> Iterator[WorkerProcess]:
    """A worker with these limits on its tasks."""
    process = WorkerProcess(job_of(SPACE, GEMMINI, replace(SETTINGS, limits=limits)))
    try:
        yield process
    finally:
        process.close()
        process.release()


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    with worker_within(SETTINGS.limits) as process:
        yield process


@pytest.mark.slow
def test_workers_find_what_one_process_finds() -> None:
    here = alone()
    for workers in (1, 2):
        there = explore(SPACE, GEMMINI, SETTINGS, workers=workers)
        assert there.trials == here.trials and there.best == here.best


def test_killed_workers_change_nothing_and_leave_no_process() -> None:
    workers = Processes(job_of(SPACE, GEMMINI, SETTINGS), 2)
    reported: list[int] = []
    killed: list[int] = []
    seen: set[int] = set()

    def watch(progress: Progress) -> None:
        reported.append(progress.trial.number)
        seen.update(workers.pool.pids)
        if progress.done in (3, 11) and workers.pool.pids:
            victim = workers.pool.pids[progress.done % len(workers.pool.pids)]
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    study = explore(SPACE, GEMMINI, SETTINGS, workers=workers, watch=watch)
    assert len(set(killed)) >= 2 and study.trials == alone().trials
    assert sorted(reported) == list(range(16)) and "worker-lost" not in {t.outcome.code for t in study.trials}
    assert len(seen) > 2
    for pid in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
def test_candidate_whose_process_dies_is_retried(worker: WorkerProcess) -> None:
    question = EvaluationRequest(0, SPACE.default)
    expected = Evaluator(SPACE, GEMMINI, ("cycles",)).tried(question)
    assert worker.answer(question) == expected
    first = worker.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert worker.answer(question) == expected and worker.pid != first


def replace_python(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Run this shell script as the Python of workers."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))


def test_candidate_that_ends_every_worker_is_worker_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Settings(exhaustive=0, trials=3, batch=3)
    job = len(encoded(job_of(SPACE, GEMMINI, config))) + HEAD_BYTES
    # The process reads its job, reports ready, and dies of the first request, as one that the system kills for its memory does.
    replace_python(tmp_path, monkeypatch, f"printf '\\000\\000\\000\\005ready'\nhead -c {job + 1} > /dev/null\nexit 9")
    study = explore(SPACE, GEMMINI, config, workers=2)
    assert {t.outcome.code for t in study.trials} == {"worker-lost"} and study.ended and study.offers == ()


def test_stopped_study_does_not_wait_for_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_python(tmp_path, monkeypatch, "printf '\\000\\000\\000\\005ready'\nexec sleep 60")
    polls: list[int] = []
    study = explore(SPACE, GEMMINI, SETTINGS, workers=2, stop=lambda: bool(polls.append(1)) or len(polls) > 3)
    assert study.trials == () and not study.ended and len(polls) == 4


def test_stopped_study_does_not_wait_for_a_starting_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: WorkerProcess
) -> None:
    replace_python(tmp_path, monkeypatch, "printf '\\000\\000\\000\\005ready'\nexec sleep 60")
    processes: list[subprocess.Popen[bytes]] = []

    def started(*args: Any, **keywords: Any) -> subprocess.Popen[bytes]:
        processes.append(process(*args, **keywords))
        worker.close()
        return processes[-1]

    process = subprocess.Popen
    monkeypatch.setattr(process_module.subprocess, "Popen", started)
    answer = worker.answer(EvaluationRequest(0, SPACE.default))
    assert isinstance(answer, Outcome) and answer.code == "worker-lost"
    assert [process.returncode for process in processes] == [-signal.SIGKILL]


@pytest.mark.parametrize("script", ["exit 9", "exec sleep 60"], ids=["it ends", "it says nothing"])
def test_workers_that_do_not_start_are_reported(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_python(tmp_path, monkeypatch, script)
    monkeypatch.setattr(workers_module, "START_SECONDS", 0.2)
    with pytest.raises(WorkersError) as refused:
        explore(SPACE, GEMMINI, SETTINGS, workers=1)
    assert refused.value.code == "no-worker" and "tried 2 times" in str(refused.value)


@pytest.mark.slow
def test_candidate_over_its_time_leaves_its_process() -> None:
    with worker_within(EvaluationLimits(seconds=0.001)) as short:
        outcome = short.answer(EvaluationRequest(0, SPACE.default))
        assert (outcome.status, outcome.code) == ("failed", "too-slow")
        first = short.pid
        other = SPACE.point_at(SPACE.size - 1)  # the process caches the prefix of the first point
        assert short.answer(EvaluationRequest(1, other)).code == "too-slow" and short.pid == first


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux tells how much a process has")
def test_memory_above_the_limit_is_an_error() -> None:
    code = (
        "from tilewright.engine.processes import limit_memory\n"
        "limit_memory(1 << 24)\n"
        "try:\n    bytearray(1 << 28)\nexcept MemoryError:\n    print('refused')\n"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "refused\n"


def test_a_candidate_without_memory_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(trials, "simulate_tasks", full)
    outcome = Evaluator(SPACE, GEMMINI, ("cycles",)).tried(EvaluationRequest(0, SPACE.default))
    assert (outcome.status, outcome.code) == ("failed", "too-large")


@pytest.mark.slow
@pytest.mark.parametrize(("times", "workers"), [(1, "0"), pytest.param(3, "1", marks=pytest.mark.slow)])
def test_killed_study_resumes_with_the_same_trials(tmp_path: Path, times: int, workers: str) -> None:
    store = tmp_path / "study.sqlite"
    rng = Random(4)
    seen: list[str] = []
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-m", "support.faults.killed_study", str(store), workers],
            cwd=TESTS,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        seen += [process.stdout.readline() for _ in range(rng.randint(2, 9))]
        time.sleep(rng.random() / 50)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    reported: list[int] = []
    study = explore(SPACE, GEMMINI, SETTINGS, store=store, watch=lambda p: reported.append(p.trial.number))
    assert study.trials == alone().trials and sorted(reported) == list(range(16)) and all(seen)


def test_intrinsics_are_part_of_a_job() -> None:
    desc = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def desc(a: T.Buffer((16,), "int32"), b: T.Buffer((16,), "int32")):
    with T.sblock("root"):
        T.reads(a[0:16])
        T.writes(b[0:16])
        for i in range(16):
            with T.sblock("copy"):
                vi = T.axis.spatial(16, i)
                b[vi] = a[vi]
"""
    known = Intrinsics()
    known.register("copy16", desc, desc.replace("def desc", "def impl"))
    job = job_of(space_of(SPACE.program, SPACE.lines, intrinsics=known), GEMMINI, SETTINGS)
    assert job_from(encoded(job)) == job and [i.name for i in job.intrinsics] == ["copy16"]
    assert job.bench.tried(EvaluationRequest(0, SPACE.default)).fits


@given(programs(), st.integers(1, 4))
@settings(max_examples=100 if IS_DEEP else 5)
def test_law_a_worker_computes_the_same_cost(program, tile: int) -> None:
    block = read_pasted("sch = tir.Schedule(mod)\n", program).schedule.index.block_names[1]
    lines = f'b = sch.get_block("{block}")\nloops = sch.get_loops(b)\nn = choose("n", [{tile}, 2])\nsch.split(loops[0], [None, n])\n'
    space = space_of(program, read_calls(lines))
    machine = load_machine("cpu-core")
    sent = job_from(encoded(job_of(space, machine, Settings()))).bench
    here = Evaluator(space, machine, ("cycles",))
    for number, point in enumerate(space.points()):
        assert sent.tried(EvaluationRequest(number, point)) == here.tried(EvaluationRequest(number, point))


@given(st.integers(0, SPACE.size - 1), st.integers(1, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=200 if IS_DEEP else 4)
def test_law_a_worker_walks_the_same_points(number: int, budget: int, seed: int) -> None:
    walk = LocalSearch(SPACE.point_at(number), budget, seed)
    walk = replace(walk, known=((walk.start, inf), (SPACE.default, 1.0))) if seed % 2 else walk
    there = job_from(encoded(job_of(SPACE, GEMMINI, Settings()))).bench
    answer = answer_from(walk, encoded(answer_within(60.0, there, task_from(encoded(walk)))))
    points = [point for point, _ in answer]
    assert list(answer) == list(HERE.estimates(walk)) and len(points) == len(set(points)) <= budget
    assert not dict(walk.known).keys() & points and (walk.known or points[0] == walk.start)


@pytest.mark.slow
def test_walk_over_its_time_is_cut_short() -> None:
    walk = LocalSearch(SPACE.default, 500, 0)
    with worker_within(EvaluationLimits(seconds=0.05)) as short:
        answer = short.answer(walk)
        assert isinstance(answer, tuple) and list(answer) == list(HERE.estimates(walk))[: len(answer)]
        assert len(answer) < SPACE.size and short.pid is not None
