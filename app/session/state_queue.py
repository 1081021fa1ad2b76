"""The queue of changes to the notebook, executed one at a time. A thread makes the next state: evaluating a text can last seconds, and the
server has other users to answer.

A state that is ready within a moment is shown at once. Otherwise the current view stays usable, the page shows the running change and
offers to stop it, and later changes wait in the queue. A newer draft does not wait for an older one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.notebook import GIVEN_UP
from ..jobs.background_job import BackgroundJob, JobStatus
from ..jobs.event_loop import EventLoop
from ..state.model import State

DRAFTS = ("draft_cell", "draft_item")

OVERTAKING = (*DRAFTS, "drop_draft", "edit", "edit_item", "edit_prose")
"""Messages that replace a draft queued before them: they refer to the same text that the draft began with."""

Outcome = Callable[[], State]
"""Returns the new state, or raises the error that prevented it: `StoppedError` if the user stopped the change."""


class StoppedError(DocumentError):
    """A change was stopped."""


class Change(msgspec.Struct, frozen=True, eq=False):
    """A change of `before`: `make` returns the new state in a thread; `told` receives the outcome on the event loop, once only.

    `again` repeats a stopped change, if that is possible. A newer draft may replace a change that `is_draft`; then `told` is not called.
    """

    before: State
    make: Callable[[State], State]
    told: Callable[[Outcome], None]
    again: Callable[[], None] | None = None
    is_draft: bool = False

    @property
    def doing(self) -> JobStatus:
        """The status for the user who waits."""
        return JobStatus(
            "notebook", "area-notebook" if self.before.notebook else "screen-gallery", "Reading the notebook"
        )


class StateQueue:
    """The queue of one page, whose current state is `now`. `moment` returns the seconds that the event loop waits for a change; `turned` is
    called when `doing` changes."""

    def __init__(
        self, event_loop: EventLoop, now: Callable[[], State], moment: Callable[[], float], turned: Callable[[], None]
    ) -> None:
        self._event_loop = event_loop
        self._now = now
        self._moment = moment
        self._turned = turned
        self._change: Change | None = None
        self._work: BackgroundJob | None = None
        self._stopped: Change | None = None
        self._is_late = self._closed = False
        self._line: deque[tuple[str, Callable[[], None]]] = deque()
        self._began: float | None = None

    @property
    def busy(self) -> bool:
        return self._change is not None

    @property
    def doing(self) -> tuple[JobStatus, ...]:
        """The running change if it is late, or the change that the user stopped."""
        if self._change is not None:
            return (self._change.doing,) if self._is_late else ()
        return () if self._stopped is None else (replace(self._stopped.doing, stopped=True),)

    def left(self, seconds: float) -> float:
        """The rest of a time budget of `seconds` after the time that the current change has used."""
        return seconds if self._began is None else max(0.0, seconds - (time.monotonic() - self._began))

    def in_turn(self, go: Callable[[], None], kind: str = "") -> None:
        """Run `go`, which may begin a change, after all earlier ones. `kind` is the kind of its message."""
        if kind in OVERTAKING and self._line and self._line[-1][0] in DRAFTS:
            self._line.pop()
        if kind in OVERTAKING and not self._line and self._change is not None and self._change.is_draft:
            self._cancel()
        if self.busy or self._line:
            self._line.append((kind, go))
        else:
            go()

    def next(self, go: Callable[[], None]) -> None:
        """Run `go` after the running change and before the queue."""
        if self.busy:
            self._line.appendleft(("", go))
        else:
            go()

    def begin(
        self,
        make: Callable[[State], State],
        told: Callable[[Outcome], None],
        again: Callable[[], None] | None = None,
        *,
        is_draft: bool = False,
    ) -> None:
        """Make a state from the present one. It is shown at once if it is ready within a moment."""
        assert self._change is None, "changes stand in line"
        change = self._change = Change(self._now(), make, told, again, is_draft)
        self._began = time.monotonic()
        if self._closed:
            self._end(_stopped)
            return
        work = self._work = BackgroundJob(_outcome(change), self._event_loop, self._end)
        if not work.start().wait(self._moment()):
            self._is_late = True
            self._event_loop.soon(self._turned)  # a page that is still loading cannot receive it yet

    def stop(self) -> None:
        """Stop the running change at the user's request; its callback receives `StoppedError`. `resume` repeats it."""
        change = self._cancel()
        if change is not None:
            self._stopped = change if change.again is not None else None
            self._told(change, _stopped)

    def resume(self) -> None:
        """Repeat the change that the user stopped."""
        stopped, self._stopped = self._stopped, None
        if stopped is not None and stopped.again is not None:
            self.in_turn(stopped.again)

    def close(self) -> None:
        """Stop the running change and begin no other: the page is closed. Its callback receives `StoppedError`."""
        self._closed = True
        self.stop()

    def _cancel(self) -> Change | None:
        change, self._change, self._is_late = self._change, None, False
        if self._work is not None:
            self._work.cancel()
            self._work = None
        return change

    def _end(self, outcome: Outcome) -> None:
        change = self._change
        was_late, self._change, self._work, self._is_late = self._is_late, None, None, False
        if change is not None:
            self._told(change, outcome)
            if self._now().notebook is not change.before.notebook:
                self._stopped = None
        if was_late:
            self._turned()

    def _told(self, change: Change, outcome: Outcome) -> None:
        """Deliver the outcome, merged with changes of the view since, and run the queue."""
        try:
            change.told(lambda: brought_together(change.before, outcome(), self._now()))
        finally:
            self._began = None
            while self._line and not self.busy:
                self._line.popleft()[1]()


def _outcome(change: Change) -> Iterator[Outcome]:
    try:
        made = change.make(change.before)
    except Exception as error:
        failed = error

        def fail() -> State:
            raise failed

        yield fail
    else:
        yield lambda: made


def _stopped() -> State:
    raise StoppedError(Refusal(GIVEN_UP, "this was stopped, and nothing was changed"))


def brought_together(before: State, after: State, now: State) -> State:
    """The merge of `after`, made from `before`, with `now`, which the user reached from `before` by viewing. The fields that `after`
    changed take precedence."""
    if now is before:
        return after
    changed: dict[str, Any] = {
        name: value for name in State.__struct_fields__ if (value := getattr(after, name)) is not getattr(before, name)
    }
    return replace(now, **changed)


__all__ = ["Outcome", "StateQueue", "StoppedError", "brought_together"]
