"""What changes the notebook, one after the other. The next state is made in a thread: a text may take seconds to read, and a server has
other people to answer.

What is there within a moment is shown as if it had been made on the spot. Else the picture stays as it is and may be looked at, the page
says what is being done and can stop it, and what is wanted next stands in line. A text that is still being typed does not wait for what was
typed before.
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
"""Messages after which a draft that stands before them is not wanted: they are about the text that it was typed into, as it was."""

Outcome = Callable[[], State]
"""The state that was made; raises what kept it from being made, `StoppedError` where a person did."""


class StoppedError(DocumentError):
    """A change that nobody waits for any more."""


class Change(msgspec.Struct, frozen=True, eq=False):
    """A state to be made of `before`: `make` does it in a thread, `told` gets the outcome on the loop, and once only.

    `again` does it once more after it was stopped, where it can be. `is_draft`: it may be overtaken, and `told` is not called then.
    """

    before: State
    make: Callable[[State], State]
    told: Callable[[Outcome], None]
    again: Callable[[], None] | None = None
    is_draft: bool = False

    @property
    def doing(self) -> JobStatus:
        """For those who wait for it."""
        return JobStatus(
            "notebook", "area-notebook" if self.before.notebook else "screen-gallery", "Reading the notebook"
        )


class StateQueue:
    """Those of one page, whose state is `now`. `moment`: for how many seconds the loop waits for one; `turned` is called when `doing` is
    another."""

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
        """What the page waits for, or did until it was stopped."""
        if self._change is not None:
            return (self._change.doing,) if self._is_late else ()
        return () if self._stopped is None else (replace(self._stopped.doing, stopped=True),)

    def left(self, seconds: float) -> float:
        """What is left of so many seconds where a change is told that took some of them: who waited for it does not wait as long again."""
        return seconds if self._began is None else max(0.0, seconds - (time.monotonic() - self._began))

    def in_turn(self, go: Callable[[], None], kind: str = "") -> None:
        """Run `go`, which may begin a change, once all that came before is done. `kind` is that of the message that it is about."""
        if kind in OVERTAKING and self._line and self._line[-1][0] in DRAFTS:
            self._line.pop()
        if kind in OVERTAKING and not self._line and self._change is not None and self._change.is_draft:
            self._cancel()
        if self.busy or self._line:
            self._line.append((kind, go))
        else:
            go()

    def next(self, go: Callable[[], None]) -> None:
        """Run `go` before all that stands in line, once what is being done is done."""
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
        """Have a state made of the present one; it is told at once where that takes no longer than a moment."""
        assert self._change is None, "changes stand in line"
        change = self._change = Change(self._now(), make, told, again, is_draft)
        self._began = time.monotonic()
        if self._closed:
            self._end(_stopped)
            return
        work = self._work = BackgroundJob(_outcome(change), self._event_loop, self._end)
        if not work.start().wait(self._moment()):
            self._is_late = True
            self._event_loop.soon(self._turned)  # a page that is on its way cannot be told yet

    def stop(self) -> None:
        """A person does not want to wait: what was to be changed is told that it was stopped, and may be gone on with."""
        change = self._cancel()
        if change is not None:
            self._stopped = change if change.again is not None else None
            self._told(change, _stopped)

    def resume(self) -> None:
        """What was stopped is wanted after all."""
        stopped, self._stopped = self._stopped, None
        if stopped is not None and stopped.again is not None:
            self.in_turn(stopped.again)

    def close(self) -> None:
        """The page is gone: nothing more is made. Those who wait are told that it was stopped."""
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
        """Tell it with what happened meanwhile, and go on with those in line."""
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
    """`after` was made of `before`, which has become `now` because somebody looked around: what each of them changed, `after` last."""
    if now is before:
        return after
    changed: dict[str, Any] = {
        name: value for name in State.__struct_fields__ if (value := getattr(after, name)) is not getattr(before, name)
    }
    return replace(now, **changed)


__all__ = ["Outcome", "StateQueue", "StoppedError", "brought_together"]
