"""Garbage is collected while the server is idle."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref

import pytest
from support.sessions.awaiting import awaited

from tilewright.app.server import garbage
from tilewright.app.server.garbage import OLD, Patience, collect_while_idle


class Knot:
    def __init__(self) -> None:
        self.me = self


def old_knot() -> weakref.ref[Knot]:
    """An unreachable cycle that has survived the collections of young generations."""
    knot = Knot()
    found = weakref.ref(knot)
    for _ in range(OLD):
        gc.collect(1)
    del knot
    return found


async def stays(seconds: float, *, held_before: bool = False) -> bool:
    """Whether an old cycle still exists after `seconds`; with `held_before`, one that was reachable during a full collection."""
    task = asyncio.ensure_future(collect_while_idle(look_s=0.05))
    await asyncio.sleep(0)
    held = Knot()
    found = old_knot()
    if held_before:
        assert not await lives(found, 10)
        found = weakref.ref(held)
    del held
    alive = await lives(found, seconds)
    task.cancel()
    await asyncio.wait([task])
    return alive


async def lives(found: weakref.ref[Knot], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and found() is not None:
        await asyncio.sleep(0.01)
    return found() is not None


def test_an_idle_server_collects_old_garbage():
    assert not awaited(stays(10))


@pytest.mark.slow
def test_objects_that_survived_once_wait_for_a_long_idle_time(
    monkeypatch: pytest.MonkeyPatch,
):
    assert awaited(stays(1, held_before=True))
    monkeypatch.setattr(garbage, "LONG", 3)
    assert not awaited(stays(10, held_before=True))


def test_a_busy_server_does_not_collect_old_objects(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(garbage, "IDLE_SHARE", 1e-9)  # so that even this much counts as work
    assert awaited(stays(0.5))


def test_without_a_server_gc_runs_as_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(garbage, "TOO_OLD", 77)
    gc.unfreeze()  # objects frozen by the test run
    before = gc.get_threshold(), gc.get_freeze_count()

    async def seen() -> tuple[tuple[int, int, int], int]:
        task = asyncio.ensure_future(collect_while_idle())
        await asyncio.sleep(0)
        found = gc.get_threshold(), gc.get_freeze_count()
        task.cancel()
        await asyncio.wait([task])
        return found

    during = awaited(seen())
    assert during[0] == (*before[0][:2], 77) and during[1] > before[1]
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


@pytest.mark.parametrize(
    ("owed", "idle", "ends"),
    [
        (1, 3, False),
        (4, 4, True),  # idle for a while
        (119, 1, False),
        (120, 0, False),
        (120, 1, True),  # overdue: collected at the next idle moment
        (599, 0, False),
        (600, 0, True),  # never idle
    ],
)
def test_memory_of_closed_sessions_is_freed_while_idle_or_late(owed: int, idle: int, ends: bool) -> None:
    assert Patience().ends(owed, idle) is ends


@pytest.mark.slow
def test_frozen_objects_of_a_closed_session_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "LONG", 10**6)
    released: list[bool] = []
    monkeypatch.setattr(garbage, "return_free_memory", lambda: released.append(True))
    closed = 0

    async def seen() -> tuple[bool, bool]:
        nonlocal closed
        knot = Knot()
        found = weakref.ref(knot)
        task = asyncio.ensure_future(collect_while_idle(lambda: closed, 0.05, Patience(1, 2, 3)))
        await asyncio.sleep(0)  # everything is frozen now
        del knot
        before = await lives(found, 0.5)
        closed = 1
        after = await lives(found, 10)
        task.cancel()
        await asyncio.wait([task])
        return before, after

    assert awaited(seen()) == (True, False)
    assert released == [True]
