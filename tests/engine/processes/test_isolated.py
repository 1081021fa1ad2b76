"""Calls in child processes that can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.faults import limited_work as work
from support.profile import samples
from support.programs.sources import MATMUL

from tilewright.engine.cancellation import CancellationToken, Cancelled, running_under
from tilewright.engine.ir import For, PrimFunc, TilewrightError, walk_stmts
from tilewright.engine.processes import Budget, OverBudgetError, here_or_isolated, isolated, remaining_seconds, within
from tilewright.engine.processes.isolated import _children
from tilewright.engine.script import parse

TESTS = str(Path(work.__file__).parents[2])


@pytest.fixture(autouse=True)
def children_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", TESTS)
    while _children.idle:
        _children.idle.pop().release()  # an earlier child does not find them


def call(function: Callable[..., Any], *arguments: Any, seconds: float = 10.0, memory_bytes: int = 1 << 30) -> Any:
    return isolated(function, *arguments, seconds=seconds, what="the call", memory_bytes=memory_bytes)


def test_call_returns_and_keeps_the_child() -> None:
    assert call(work.add, 1, 2) == 3
    assert call(os.getpid) == call(os.getpid) != os.getpid()


def test_nodes_of_a_program_keep_their_identity() -> None:
    func = parse(MATMUL).program
    assert isinstance(func, PrimFunc)
    loop, pid = call(work.outer_loop, func)
    assert loop is next(s for s in walk_stmts(func.body) if isinstance(s, For))
    assert pid != os.getpid()


def test_an_error_of_the_function_is_raised() -> None:
    with pytest.raises(TilewrightError) as refused:
        call(work.refuse)
    assert (refused.value.code, refused.value.refusal.found) == ("too-odd", "3")


@pytest.mark.sample(1)
@pytest.mark.parametrize("function", [work.spin, work.hold], ids=["in Python", "in C"])
def test_a_call_over_its_time_ends(function: Callable[[], Any]) -> None:
    with pytest.raises(OverBudgetError, match=r"the call needs more than 0\.2 s of processor time"):
        call(function, seconds=0.2)
    assert call(work.add, 1, 2) == 3


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux reports the size of a process")
@pytest.mark.parametrize(
    "function", [lambda: call(work.allocate, 1 << 34), lambda: call(work.grow, memory_bytes=1 << 28)]
)
def test_a_call_over_its_memory_ends(function: Callable[[], Any]) -> None:
    with pytest.raises(OverBudgetError, match="MiB of memory"):
        function()
    assert call(work.add, 1, 2) == 3


@pytest.mark.parametrize("function", samples([work.kill, work.end], work.end))
def test_call_that_kills_two_children_is_refused(function: Callable[[], Any]) -> None:
    with pytest.raises(OverBudgetError, match="the call ended its process 2 times"):
        call(function)
    assert call(work.add, 1, 2) == 3


def test_a_killed_idle_child_is_replaced() -> None:
    assert call(work.add, 1, 2) == 3
    for child in _children.idle:
        child.kill()
    assert call(work.add, 2, 2) == 4


def test_output_of_the_function_does_not_mix_with_answers() -> None:
    assert call(work.say, "ready") == "ready"


def test_time_of_the_child_counts_towards_the_budget() -> None:
    with pytest.raises(OverBudgetError, match="the call"), within(Budget(0.1), "the work"):
        call(work.spin)
    with within(Budget(60.0), "the work"):
        with pytest.raises(OverBudgetError):
            call(work.spin, seconds=0.2)
        assert remaining_seconds() < 59.9


def test_cancelled_call_ends_and_the_child_is_kept() -> None:
    pid = call(os.getpid)
    token = CancellationToken()
    threading.Timer(0.3, token.cancel).start()
    with pytest.raises(Cancelled), running_under(token):
        call(work.spin, seconds=60.0)
    assert call(os.getpid) == pid


def test_short_work_stays_here_and_long_work_moves() -> None:
    call_here = partial(here_or_isolated, here_seconds=0.1, seconds=0.2, what="it", alike="calls of this test")
    assert call_here(os.getpid) == os.getpid()
    with pytest.raises(OverBudgetError, match=r"it needs more than 0\.2 s"):
        call_here(work.spin)
    assert call_here(os.getpid) != os.getpid()  # begun in the child, since the last call needed one
    assert call_here(os.getpid) == os.getpid()


def test_children_end_with_their_parent() -> None:
    code = (
        "import os, signal\n"
        "from support.faults import limited_work as work\n"
        "from tilewright.engine.processes import isolated\n"
        "print(isolated(os.getpid, seconds=5, what='it'), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    pid, until = int(done.stdout), time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("the child outlives its parent")
