"""Background jobs: reported piece by piece, awaited, cancelled within a piece."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from threading import Semaphore
from typing import Any

import pytest
from support.sessions.paper import PaperClock

from tilewright.app.jobs.background_job import BackgroundJob
from tilewright.app.jobs.fair_scheduler import FairScheduler
from tilewright.engine.cancellation import checkpoint


def turning(begun: threading.Event, ended: list[str]) -> Iterator[int]:
    """An endless loop with a checkpoint."""
    try:
        begun.set()
        while True:
            checkpoint()
    finally:
        ended.append("unwound")
    yield 0


def started(
    pieces: Iterator[Any], found: Callable[[Any], None], event_loop: PaperClock, done: list[str]
) -> BackgroundJob:
    return BackgroundJob(pieces, event_loop, found, lambda: done.append("ended")).start()


def test_pieces_are_reported_in_order_before_the_end() -> None:
    event_loop, reported, done = PaperClock(), [], []
    started(iter([1, 2, 3]), reported.append, event_loop, done)
    event_loop.run_until(lambda: bool(done))
    assert reported == [1, 2, 3]


def test_engine_can_be_called_after_a_job_ended() -> None:
    event_loop, done = PaperClock(), []

    def ended() -> None:
        checkpoint()
        done.append("ended")

    BackgroundJob(iter([1]), event_loop, lambda _: checkpoint(), ended).start()
    event_loop.run_until(lambda: bool(done))
    assert done == ["ended"]


def test_waiting_for_a_quick_job_reports_its_result() -> None:
    reported, done = [], []
    work = started(iter(["report"]), reported.append, PaperClock(), done)
    assert work.wait(60)
    assert reported == ["report"] and done == ["ended"]


def test_waiting_for_a_slow_job_times_out() -> None:
    begun, ended = threading.Event(), []
    work = started(turning(begun, ended), lambda _: None, PaperClock(), [])
    assert not work.wait(0.01)
    assert begun.wait(60)
    work.cancel()
    assert work._done.wait(60)
    assert ended == ["unwound"]


def test_a_cancelled_job_ends_its_thread_and_reports_nothing() -> None:
    event_loop, reported, done = PaperClock(), [], []
    begun, ended = threading.Event(), []
    work = started(turning(begun, ended), reported.append, event_loop, done)
    assert begun.wait(60)
    work.cancel()
    assert work._done.wait(60)
    assert ended == ["unwound"]
    assert reported == [] and done == [] and event_loop.work.empty()


@pytest.mark.slow
def test_jobs_cancelled_anytime_leave_no_thread() -> None:
    def short() -> Iterator[int]:
        for n in range(50):
            yield sum(range(n * 20))

    for n in range(300):
        event_loop = PaperClock()
        work = started(short(), lambda _: None, event_loop, [])
        time.sleep(n % 10 * 0.0002)
        work.cancel()
        assert work._done.wait(60)


def test_a_paused_job_starts_no_further_piece() -> None:
    event_loop, reported, done = PaperClock(), [], []
    go = threading.Event()

    def pieces() -> Iterator[int]:
        go.wait(60)
        yield 1
        yield 2

    work = started(pieces(), reported.append, event_loop, done)
    work.pause()
    go.set()
    event_loop.run_until(lambda: reported == [1])
    assert not work.wait(0.05) and reported == [1]
    work.resume()
    event_loop.run_until(lambda: bool(done))
    assert reported == [1, 2]


def test_a_paused_piece_releases_its_slot_at_a_checkpoint() -> None:
    event_loop, reported, done, scheduler = PaperClock(), [], [], FairScheduler()
    turns = Semaphore(0)

    def long() -> Iterator[int]:
        while turns.acquire(timeout=60):
            checkpoint()
            event_loop.soon(lambda: reported.append("turn"))
            if len(reported) > 1:
                yield 1
                return

    work = BackgroundJob(long(), event_loop, reported.append, lambda: done.append(1), scheduler).start()
    turns.release()
    event_loop.run_until(lambda: reported == ["turn"])
    work.pause()
    turns.release()
    other = BackgroundJob(iter([2]), event_loop, reported.append, lambda: done.append(2), scheduler).start()
    event_loop.run_until(lambda: done == [2])
    assert reported == ["turn", 2], "the held piece leaves its slot and takes no turn"
    work.resume()
    event_loop.run_until(lambda: done == [2, 1])
    assert reported == ["turn", 2, "turn", 1] and other.wait(0)


def test_cancelling_a_paused_job_ends_its_thread() -> None:
    begun, ended = threading.Event(), []
    work = started(turning(begun, ended), lambda _: None, PaperClock(), [])
    assert begun.wait(60)
    work.pause()
    assert not work.wait(0.05)
    work.cancel()
    assert work._done.wait(60)
    assert ended == ["unwound"]
