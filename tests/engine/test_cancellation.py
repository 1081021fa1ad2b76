"""Cooperative cancellation: checkpoints end a cancelled job, occur after a bounded number of steps, and leave caches usable."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from types import FrameType

import pytest
from support.profile import IS_DEEP
from support.sessions.background_work import examples, large_works, page_works

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.jobs.background_analysis import verdict_of
from tilewright.app.jobs.drop_targets import targets_of
from tilewright.app.state.derived import report_of
from tilewright.app.state.model import State
from tilewright.app.state.row_ids import row_ids
from tilewright.engine.arith import Analyzer
from tilewright.engine.cancellation import (
    CancellationToken,
    Cancelled,
    checkpoint,
    cut_short,
    hide_ignored_cancellations,
    running_under,
)
from tilewright.engine.hwsim import Report, load_machine
from tilewright.engine.ir import Var, build
from tilewright.engine.processes.isolated import _children
from tilewright.engine.schedule import Schedule

MOST_STEPS = 250_000
"""Calls of functions between two checkpoints: about 50 ms."""

WORKS = ("cache_blocking: report", "transformer: read", "tasks: report")
LONG_WORKS = (
    "box_blur: previews",
    "fused_matmul_relu: lints",
    "explore_tiles: search",
    "vtcm_double_buffer: replay",
    "transformer: report",
    "transformer: verdict",
    "chain: report",
    "chain: verdict",
    "chain: targets",
    "steps: read",
    "caches: tiled",
)


class Countdown(CancellationToken):
    """A token that is cancelled at its checkpoint number `last`, counted from 1; 0 never cancels."""

    def __init__(self, last: int = 0) -> None:
        self.last = last
        self.checkpoints = 0

    @property
    def is_cancelled(self) -> bool:
        self.checkpoints += 1
        return self.checkpoints == self.last


class StepCounter(CancellationToken):
    """A token that records the largest number of calls between two checkpoints, without those of imports."""

    def __init__(self) -> None:
        self.steps = self.most = self.imports = 0

    @property
    def is_cancelled(self) -> bool:
        self.most, self.steps = max(self.most, self.steps), 0
        return False

    def count(self, frame: FrameType, event: str, _: object) -> None:
        """Count an event of `sys.setprofile`."""
        if frame.f_code.co_name == "_find_and_load":
            self.imports += (event == "call") - (event == "return")
        elif not self.imports and event in ("call", "c_call"):
            self.steps += 1


def test_checkpoint_without_a_token_does_nothing() -> None:
    checkpoint()
    with running_under(CancellationToken()):
        checkpoint()


def test_a_checkpoint_of_a_cancelled_job_raises() -> None:
    token = CancellationToken()
    with pytest.raises(Cancelled), running_under(token):
        token.cancel()
        checkpoint()
    checkpoint()


def test_an_ended_part_leaves_the_job_running() -> None:
    steps: list[int] = []
    with running_under(CancellationToken()):
        with cut_short(lambda: len(steps) == 2):
            for step in range(5):
                checkpoint()
                steps.append(step)
        checkpoint()
    assert steps == [0, 1]


def test_a_part_of_a_cancelled_job_raises() -> None:
    token, job = CancellationToken(), CancellationToken()
    token.cancel()
    with pytest.raises(Cancelled), running_under(token), cut_short(lambda: False):
        checkpoint()

    def due() -> bool:
        job.cancel()
        checkpoint()  # under the token of the job
        return True

    with pytest.raises(Cancelled), running_under(job), cut_short(due):
        checkpoint()


def test_an_outer_part_ends_both() -> None:
    passed: list[str] = []
    with cut_short(lambda: "inner" in passed):
        with cut_short(lambda: False):
            checkpoint()
            passed.append("inner")
            checkpoint()
        passed.append("outer")
    assert passed == ["inner"]


def test_other_threads_do_not_run_under_the_token() -> None:
    token, passed = CancellationToken(), threading.Event()
    token.cancel()

    def other() -> None:
        checkpoint()
        passed.set()

    with running_under(token):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(60)
    assert passed.is_set()


def test_callback_does_not_run_under_the_token_of_its_job() -> None:
    token = CancellationToken()
    with running_under(token):
        context = copy_context()  # as `call_soon_threadsafe` does
    token.cancel()
    assert context.run(checkpoint) is None


def test_exception_handler_does_not_swallow_a_cancellation() -> None:
    assert not issubclass(Cancelled, Exception)


class Finalized:
    """An object whose finalizer raises an exception, which Python reports and ignores."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


def test_ignored_cancellation_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda ignored: reported.append(ignored.exc_type))
    hide_ignored_cancellations()
    for error in (Cancelled(), ValueError()):
        Finalized(error)
    assert reported == [ValueError]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [*WORKS, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG_WORKS)])
def test_steps_between_two_checkpoints_are_bounded(name: str) -> None:
    page, _, kind = name.partition(": ")
    texts = examples()
    work = page_works(texts[page], blocks=2)[kind] if page in texts else large_works()[name]
    counter = StepCounter()
    with running_under(counter):
        sys.setprofile(counter.count)
        try:
            work()
        finally:
            sys.setprofile(None)
    most = max(counter.most, counter.steps)
    assert most < MOST_STEPS


def test_cancelled_bounds_are_found_later() -> None:
    def query(analyzer: Analyzer) -> list[object]:
        return [analyzer.bounds(build.add(build.mul(i, 3), j)), analyzer.bounds(build.sub(j, i))]

    i, j, n = (Var(name, "int32") for name in "ijn")
    ranges = {
        n: build.make_range(build.const(4, "int32"), build.const(8, "int32")),
        i: build.make_range(n, build.add(n, 5)),
        j: build.make_range(build.floordiv(n, 2), build.mul(n, n)),
    }
    whole = Countdown()
    with running_under(whole):
        expected = query(Analyzer(ranges))
    assert whole.checkpoints > 5
    for last in range(1, whole.checkpoints + 1):
        analyzer = Analyzer(ranges)
        with pytest.raises(Cancelled), running_under(Countdown(last)):
            query(analyzer)
        assert query(analyzer) == expected


def schedule_of(name: str) -> Schedule:
    """The schedule of an example."""
    state = act(State(), OpenText(examples()[name], name))
    assert state.moment is not None
    return state.moment.schedule


def targets(schedule: Schedule) -> object:
    return [targets_of(schedule, [row]) for row, handle in row_ids(schedule.func).items() if isinstance(handle, str)]


def report(schedule: Schedule) -> object:
    found = report_of(schedule.described, load_machine("dual-bank-npu"))
    assert isinstance(found, Report)
    return found.to_json()


@pytest.mark.parametrize("work", [targets, report, verdict_of])
def test_law_cancelled_work_can_be_repeated(
    work: Callable[[Schedule], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A wait for a child process has a number of checkpoints that depends on its duration.
    monkeypatch.setattr(_children, "is_child", True)
    expected, schedule, whole = work(schedule_of("place_the_copies")), schedule_of("place_the_copies"), Countdown()
    with running_under(whole):
        assert work(schedule) == expected
    for last in range(1, whole.checkpoints + 1, max(1, whole.checkpoints // (12 if IS_DEEP else 3))):
        schedule = schedule_of("place_the_copies")
        with pytest.raises(Cancelled), running_under(Countdown(last)):
            work(schedule)
        assert work(schedule) == expected
