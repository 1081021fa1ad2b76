"""Work in a thread: told piece by piece, waited for, given up in the middle of a piece."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from threading import Semaphore
from typing import Any

from support.sessions.paper import PaperClock

from tilewright.app.jobs.background_job import BackgroundJob
from tilewright.app.jobs.fair_scheduler import FairScheduler
from tilewright.engine.cancellation import checkpoint


def turning(begun: threading.Event, ended: list[str]) -> Iterator[int]:
    """A loop with a checkpoint that does not end by itself."""
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


def test_given_pieces_then_each_is_told_on_the_loop_and_the_end_behind_them() -> None:
    event_loop, told, done = PaperClock(), [], []
    started(iter([1, 2, 3]), told.append, event_loop, done)
    event_loop.run_until(lambda: bool(done))
    assert told == [1, 2, 3]


def test_given_work_that_ended_then_the_engine_can_be_called_on_the_loop() -> None:
    event_loop, done = PaperClock(), []

    def ended() -> None:
        checkpoint()
        done.append("ended")

    BackgroundJob(iter([1]), event_loop, lambda _: checkpoint(), ended).start()
    event_loop.run_until(lambda: bool(done))
    assert done == ["ended"]


def test_given_work_that_is_quick_when_it_is_waited_for_then_it_is_told_at_once() -> None:
    told, done = [], []
    work = started(iter(["report"]), told.append, PaperClock(), done)
    assert work.wait(60)
    assert told == ["report"] and done == ["ended"]


def test_given_work_that_is_slow_when_it_is_waited_for_then_the_loop_goes_on_without_it() -> None:
    begun, ended = threading.Event(), []
    work = started(turning(begun, ended), lambda _: None, PaperClock(), [])
    assert not work.wait(0.01)
    assert begun.wait(60)
    work.cancel()
    assert work._done.wait(60)
    assert ended == ["unwound"]


def test_given_a_long_piece_when_it_is_given_up_then_its_thread_ends_and_nothing_is_told() -> None:
    event_loop, told, done = PaperClock(), [], []
    begun, ended = threading.Event(), []
    work = started(turning(begun, ended), told.append, event_loop, done)
    assert begun.wait(60)
    work.cancel()
    assert work._done.wait(60)
    assert ended == ["unwound"]
    assert told == [] and done == [] and event_loop.work.empty()


def test_given_many_works_when_they_are_given_up_at_any_moment_then_no_thread_is_left_and_none_fails() -> None:
    def short() -> Iterator[int]:
        for n in range(50):
            yield sum(range(n * 20))

    for n in range(300):
        event_loop = PaperClock()
        work = started(short(), lambda _: None, event_loop, [])
        time.sleep(n % 10 * 0.0002)
        work.cancel()
        assert work._done.wait(60)


def test_given_work_that_is_held_then_no_further_piece_begins_until_it_may_go_on() -> None:
    event_loop, told, done = PaperClock(), [], []
    go = threading.Event()

    def pieces() -> Iterator[int]:
        go.wait(60)
        yield 1
        yield 2

    work = started(pieces(), told.append, event_loop, done)
    work.pause()
    go.set()
    event_loop.run_until(lambda: told == [1])
    assert not work.wait(0.05) and told == [1]
    work.resume()
    event_loop.run_until(lambda: bool(done))
    assert told == [1, 2]


def test_given_a_long_piece_that_is_held_then_it_waits_at_its_checkpoint_and_others_have_the_slot() -> None:
    event_loop, told, done, scheduler = PaperClock(), [], [], FairScheduler()
    turns = Semaphore(0)

    def long() -> Iterator[int]:
        while turns.acquire(timeout=60):
            checkpoint()
            event_loop.soon(lambda: told.append("turn"))
            if len(told) > 1:
                yield 1
                return

    work = BackgroundJob(long(), event_loop, told.append, lambda: done.append(1), scheduler).start()
    turns.release()
    event_loop.run_until(lambda: told == ["turn"])
    work.pause()
    turns.release()
    other = BackgroundJob(iter([2]), event_loop, told.append, lambda: done.append(2), scheduler).start()
    event_loop.run_until(lambda: done == [2])
    assert told == ["turn", 2], "the held piece leaves its slot and takes no turn"
    work.resume()
    event_loop.run_until(lambda: done == [2, 1])
    assert told == ["turn", 2, "turn", 1] and other.wait(0)


def test_given_a_piece_that_is_held_when_it_is_given_up_then_its_thread_ends() -> None:
    begun, ended = threading.Event(), []
    work = started(turning(begun, ended), lambda _: None, PaperClock(), [])
    assert begun.wait(60)
    work.pause()
    assert not work.wait(0.05)
    work.cancel()
    assert work._done.wait(60)
    assert ended == ["unwound"]
