"""The queue of changes to the notebook, executed one at a time. A change is a coroutine, which awaits `InThread` for work that takes long:
evaluating a text can last seconds, and the server has other users to answer.

A state that is ready within a moment is shown at once. Otherwise the current view stays usable, the page shows the running change and
offers to stop it, and later changes wait in the queue. A newer draft does not wait for an older one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from ...engine.ir import Refusal
from ...engine.processes import Budget, within
from ..actions.text_edits import DraftText, DropDraft, Typed
from ..document import DocumentError, Notebook
from ..document.notebook import GIVEN_UP
from ..jobs.background_job import BackgroundJob, JobStatus
from ..jobs.event_loop import EventLoop
from ..limits import LIMITS
from ..state.intents import Intent
from ..state.model import State

Result = TypeVar("Result")

Outcome = Callable[[], Any]
"""Returns the result of the work, or raises the error that prevented it: `StoppedError` if the user stopped it."""


class StoppedError(DocumentError):
    """A change was stopped."""


class InThread(Generic[Result]):
    """An awaitable: `await InThread(make)` in a change is the result of `make()`, made in a thread."""

    def __init__(self, make: Callable[[], Result]) -> None:
        self.make = make

    def __await__(self) -> Generator[InThread[Result], Outcome, Result]:
        outcome = yield self
        return outcome()


Steps = Coroutine[InThread[Any], Outcome | None, None]


class Change(msgspec.Struct, frozen=True, eq=False):
    """A change of the notebook: its coroutine, and the intent that requested it. `again` repeats it after the user stopped it, if that is
    possible."""

    steps: Steps
    intent: Intent | None = None
    again: Callable[[], None] | None = None


class StateQueue:
    """The queue of one page, whose current notebook is `now`. `moment` returns the seconds that the event loop waits for a change; `turned`
    is called when `doing` changes."""

    def __init__(
        self,
        event_loop: EventLoop,
        now: Callable[[], Notebook | None],
        moment: Callable[[], float],
        turned: Callable[[], None],
    ) -> None:
        self._event_loop = event_loop
        self._now = now
        self._moment = moment
        self._turned = turned
        self._change: Change | None = None
        self._before: Notebook | None = None
        self._work: BackgroundJob | None = None
        self._stopped: tuple[Callable[[], None], JobStatus] | None = None
        self._is_late = self._closed = False
        self._line: deque[Change] = deque()
        self._began: float | None = None

    @property
    def busy(self) -> bool:
        """Whether a change is waiting for its thread."""
        return self._change is not None

    @property
    def doing(self) -> tuple[JobStatus, ...]:
        """The running change if it is late, or the change that the user stopped."""
        if self._change is not None:
            return (self._status,) if self._is_late else ()
        return () if self._stopped is None else (replace(self._stopped[1], stopped=True),)

    @property
    def _status(self) -> JobStatus:
        area = "screen-gallery" if self._before is None else "area-notebook"
        intent = self._change.intent if self._change is not None else None
        return JobStatus("notebook", area, (intent or Intent).doing)

    def left(self, seconds: float) -> float:
        """The rest of a time budget of `seconds` after the time that the current change has used."""
        return seconds if self._began is None else max(0.0, seconds - (time.monotonic() - self._began))

    def run(self, change: Change) -> None:
        """Run a change after all earlier ones. It is complete on return if it takes no longer than a moment."""
        if isinstance(change.intent, Typed | DropDraft):  # about the same text that a draft before it began with
            self._drop_draft()
        if self.busy or self._line:
            self._line.append(change)
        else:
            self._go_on(change, None)

    def run_now(self, change: Change) -> None:
        """Run a change before the queue. No other may be running, unless the change awaits nothing."""
        self._go_on(change, None)

    def stop(self) -> None:
        """Stop the running change at the user's request: its `await` raises `StoppedError`. `resume` repeats it."""
        status, change = self._status, self._cancel()
        if change is not None:
            self._stopped = None if change.again is None else (change.again, status)
            self._continue(change, _stopped)

    def resume(self) -> None:
        """Repeat the change that the user stopped."""
        stopped, self._stopped = self._stopped, None
        if stopped is not None:
            stopped[0]()

    def close(self) -> None:
        """Stop the running change and all later ones: the page is closed."""
        self._closed = True
        self.stop()

    def _drop_draft(self) -> None:
        """Drop the draft that is last in the queue, or the only one."""
        if self._line:
            if isinstance(self._line[-1].intent, DraftText):
                self._line.pop().steps.close()
        elif self._change is not None and isinstance(self._change.intent, DraftText):
            self._change.steps.close()
            self._cancel()

    def _cancel(self) -> Change | None:
        change, self._change, self._is_late = self._change, None, False
        if self._work is not None:
            self._work.cancel()
            self._work = None
        return change

    def _go_on(self, change: Change, outcome: Outcome | None) -> None:
        """Run the coroutine until it awaits its thread, or ends."""
        try:
            work = change.steps.send(outcome)
        except StopIteration:
            return
        assert self._change is None, "one change at a time"
        self._change, self._before = change, self._now()
        self._began = time.monotonic()
        if self._closed:
            self._end(_stopped)
            return
        job = self._work = BackgroundJob(_outcome(work), self._event_loop, self._end)
        if not job.start().wait(self._moment()):
            self._is_late = True
            self._event_loop.soon(self._turned)  # a page that is still loading cannot receive it yet

    def _end(self, outcome: Outcome) -> None:
        change, before = self._change, self._before
        was_late, self._change, self._work, self._is_late = self._is_late, None, None, False
        if change is not None:
            self._continue(change, outcome)
            if self._now() is not before:
                self._stopped = None
        if was_late:
            self._turned()

    def _continue(self, change: Change, outcome: Outcome) -> None:
        """Give a change the outcome of its thread, then run the queue."""
        try:
            self._go_on(change, outcome)
        finally:
            if not self.busy:
                self._began = None
            while self._line and not self.busy:
                self._go_on(self._line.popleft(), None)


def _outcome(work: InThread[Any]) -> Iterator[Outcome]:
    try:
        with within(Budget(LIMITS.change_seconds, LIMITS.memory_bytes), "the change"):
            made = work.make()
    except Exception as error:
        failed = error

        def fail() -> State:
            raise failed

        yield fail
    else:
        yield lambda: made


def _stopped() -> State:
    raise StoppedError(Refusal(GIVEN_UP, "the change was stopped and not applied"))


def brought_together(before: State, after: State, now: State) -> State:
    """The merge of `after`, made from `before`, with `now`, which the user reached from `before` by viewing. The fields that `after`
    changed take precedence."""
    if now is before:
        return after
    changed: dict[str, Any] = {
        name: value for name in State.__struct_fields__ if (value := getattr(after, name)) is not getattr(before, name)
    }
    return replace(now, **changed)


__all__ = ["Change", "InThread", "StateQueue", "StoppedError", "brought_together"]
