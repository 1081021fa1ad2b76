"""Budgets of processor time and memory."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from support.profile import IS_DEEP

from tilewright.engine.cancellation import CancellationToken, Cancelled, checkpoint, running_under
from tilewright.engine.processes import (
    Allowance,
    Budget,
    OverBudgetError,
    remaining_seconds,
    spend,
    uninterrupted,
    within,
)


def spin(until: Callable[[], bool] = lambda: False) -> None:
    while not until():
        pass


def test_work_over_its_time_names_the_budget() -> None:
    with pytest.raises(OverBudgetError) as over, within(Budget(0.1), "the loop"):
        spin()
    assert over.value.code == "over-budget"
    assert over.value.refusal.message == "the loop needs more than 0.1 s of processor time"


def test_work_over_its_time_ends_at_a_checkpoint() -> None:
    """No exception comes between two checkpoints, where a callback or a finalizer could swallow it."""
    ended_by: list[str] = []
    with pytest.raises(OverBudgetError), within(Budget(0.05), "the loop"):
        while True:
            try:
                sum(range(1000))
            except Cancelled:
                ended_by.append("another line")
            checkpoint()
    assert not ended_by


def test_cancelled_job_within_its_budget_is_cancelled() -> None:
    token = CancellationToken()
    with pytest.raises(Cancelled), running_under(token), within(Budget(60.0), "the loop"):
        token.cancel()
        checkpoint()


def test_a_wait_needs_no_processor_time() -> None:
    with within(Budget(0.05), "the wait"):
        time.sleep(0.3)


def test_work_over_its_memory_ends() -> None:
    kept: list[bytes] = []
    with pytest.raises(OverBudgetError) as over, within(Budget(60.0, 64 << 20), "the list"):
        while True:
            kept.append(bytes(bytearray(b"x") * (1 << 16)))
    assert over.value.refusal.found == "memory"
    assert sum(map(len, kept)) < 1 << 30


def test_an_outer_budget_ends_an_inner_body() -> None:
    with (
        pytest.raises(OverBudgetError, match="the outer"),
        within(Budget(0.1), "the outer"),
        within(Budget(60.0), "the inner"),
    ):
        spin()


def test_inner_budget_leaves_the_outer_body_running() -> None:
    with within(Budget(60.0), "the outer"):
        with pytest.raises(OverBudgetError, match="the inner"), within(Budget(0.1), "the inner"):
            spin()
        assert 50 < remaining_seconds() < 60


def test_handler_of_all_exceptions_does_not_keep_work_alive() -> None:
    with pytest.raises(OverBudgetError), within(Budget(0.1), "the loop"):
        while True:
            try:
                spin()
            except Exception:
                continue


def test_a_swallowed_interrupt_is_raised_again() -> None:
    swallowed: list[BaseException] = []
    with pytest.raises(OverBudgetError), within(Budget(0.05), "the loop"):
        while True:
            try:
                spin()
            except BaseException as interrupt:
                swallowed.append(interrupt)
                if len(swallowed) == 2:
                    raise
    assert len(swallowed) == 2


def test_nothing_is_raised_after_the_body() -> None:
    ended = time.monotonic() + (1.0 if IS_DEEP else 0.3)
    while time.monotonic() < ended:
        try:
            with within(Budget(0.002), "the short loop"):
                stop = time.thread_time() + 0.002
                spin(lambda stop=stop: time.thread_time() > stop)
        except OverBudgetError:
            pass
        sum(range(1000))  # a late interrupt would end the test here


def test_interrupted_bodies_release_their_locks() -> None:
    """The watch thread raises while a body ends: any lock that it holds must be released."""
    for extra in range(0, 60, 1 if IS_DEEP else 10):
        with suppress(OverBudgetError), within(Budget(0.06), "the short loop"):
            stop = time.thread_time() + 0.06 + 0.00005 * extra
            spin(lambda stop=stop: time.thread_time() > stop)
    over = threading.Event()

    def work() -> None:
        with pytest.raises(OverBudgetError), within(Budget(0.1), "the loop"):
            spin()
        over.set()

    threading.Thread(target=work, daemon=True).start()
    assert over.wait(30.0)


def test_profiler_works_after_a_dropped_interrupt() -> None:
    """Python would check for an exception at each call, and never start a function under a profiler."""
    code = """
import sys
from tilewright.engine.processes import Budget, uninterrupted, within

with within(Budget(60.0), "the work"), uninterrupted():
    pass
sys.setprofile(lambda *_: None)
(lambda: None)()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_nested_shielded_part_does_not_end_the_outer_one() -> None:
    done = False
    with pytest.raises(OverBudgetError), within(Budget(0.05), "the loop"):
        with uninterrupted():
            with within(Budget(60.0), "the part"), uninterrupted():
                pass
            stop = time.thread_time() + 0.15
            spin(lambda: time.thread_time() > stop)
            done = True
        spin()
    assert done


def test_a_shielded_part_is_completed() -> None:
    done = False
    with pytest.raises(OverBudgetError), within(Budget(0.05), "the loop"):
        with uninterrupted():
            stop = time.thread_time() + 0.15
            spin(lambda: time.thread_time() > stop)
            done = True
        spin()
    assert done


def test_only_the_thread_over_its_budget_ends() -> None:
    ended: list[str] = []

    def work(seconds: float, name: str) -> None:
        try:
            with within(Budget(seconds), name):
                stop = time.thread_time() + 0.4
                spin(lambda: time.thread_time() > stop)
        except OverBudgetError:
            ended.append(name)

    threads = [threading.Thread(target=work, args=args) for args in ((0.1, "short"), (60.0, "long"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == ["short"]


def test_bodies_share_an_allowance() -> None:
    allowance = Allowance(0.3)
    finished = 0
    with pytest.raises(OverBudgetError):
        for _ in range(10):
            with allowance.within("the line"):
                stop = time.thread_time() + 0.1
                while time.thread_time() < stop:
                    checkpoint()
            finished += 1
    assert 1 <= finished <= 3


def test_time_of_another_process_counts() -> None:
    with within(Budget(10.0), "the work"):
        spend(4.0)
        assert 5 < remaining_seconds() <= 6
