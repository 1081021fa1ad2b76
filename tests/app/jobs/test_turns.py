"""Background threads of many pages: one runs at a time, first come first served, after all requests of users."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tilewright.app.jobs.fair_scheduler import FairScheduler


def test_threads_take_turns_one_at_a_time() -> None:
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
    for n in range(8):  # after its turn, a thread rejoins the queue at the end
        first = [i for i, name in enumerate(done) if name == n]
        assert first[2] < 80, "none waits until the others are done"


def test_a_slot_waits_for_the_event_loop() -> None:
    queued: list[Callable[[], None]] = []
    scheduler, began = FairScheduler(queued.append), threading.Event()

    def work() -> None:
        with scheduler.slot():
            began.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not queued:
        time.sleep(0.001)
    assert not began.wait(0.05), "people come first"
    queued[0]()
    assert began.wait(10)
    thread.join(10)


def test_an_error_releases_the_slot() -> None:
    scheduler = FairScheduler()
    for _ in range(3):
        try:
            with scheduler.slot():
                raise KeyError
        except KeyError:
            pass
    with scheduler.slot():
        pass


def test_slots_work_after_the_event_loop_closed() -> None:
    def closed(_: Callable[[], None]) -> None:
        raise RuntimeError

    with FairScheduler(closed).slot():
        pass
