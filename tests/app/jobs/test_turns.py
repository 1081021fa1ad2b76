"""Threads of many pages that work ahead: one at a time, first come first served, people before all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tilewright.app.jobs.fair_scheduler import FairScheduler


def test_given_many_threads_then_one_works_at_a_time_and_each_gets_its_turn() -> None:
    scheduler, working, most, done = FairScheduler(), [0], [0], list[int]()

    def work(name: int) -> None:
        for _ in range(20):
            with scheduler.slot():
                working[0] += 1
                most[0] = max(most[0], working[0])
                time.sleep(0.0005)
                done.append(name)
                working[0] -= 1

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1] and len(done) == 160
    for n in range(8):  # whoever has had a turn stands at the end of the queue again
        first = [i for i, name in enumerate(done) if name == n]
        assert first[2] < 80, "none waits until the others are done"


def test_given_a_busy_loop_then_a_turn_begins_once_the_loop_comes_to_it() -> None:
    asked: list[Callable[[], None]] = []
    scheduler, began = FairScheduler(asked.append), threading.Event()

    def work() -> None:
        with scheduler.slot():
            began.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not asked:
        time.sleep(0.001)
    assert not began.wait(0.05), "people come first"
    asked[0]()
    assert began.wait(10)
    thread.join(10)


def test_given_an_error_in_a_turn_then_the_next_has_its_own() -> None:
    scheduler = FairScheduler()
    for _ in range(3):
        try:
            with scheduler.slot():
                raise KeyError
        except KeyError:
            pass
    with scheduler.slot():
        pass


def test_given_a_loop_that_is_closed_then_turns_go_on() -> None:
    def closed(_: Callable[[], None]) -> None:
        raise RuntimeError

    with FairScheduler(closed).slot():
        pass
