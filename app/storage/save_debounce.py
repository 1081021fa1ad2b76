"""The debounce of writes and the interval of polls: a burst of edits is written once, after a bounded delay."""

from __future__ import annotations

import time

import msgspec


class Times(msgspec.Struct, frozen=True):
    """Delays in seconds: idle time before a write (`quiet`), its upper bound (`longest`), interval of polls (`look`), delay of a retry
    after a failed write (`again`)."""

    quiet: float = 0.15
    longest: float = 1.0
    look: float = 1.0
    again: float = 5.0


class SaveDebounce:
    """The debounce state of one file. Times are of the monotonic clock."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._first_edit: float | None = None
        self._last_edit = self._looked = self._failed = 0.0

    def edited(self) -> None:
        self._last_edit = time.monotonic()
        self._first_edit = self._last_edit if self._first_edit is None else self._first_edit

    def hurry(self) -> None:
        """Make the next write due now."""
        self._first_edit, self._failed = 0.0, 0.0

    def writing(self) -> None:
        """End the burst: later edits begin a new one."""
        self._first_edit, self._failed = None, 0.0

    def failed(self) -> None:
        self._failed = time.monotonic()

    def looked(self) -> None:
        self._looked = self._last_edit = time.monotonic()

    @property
    def next_look(self) -> float:
        return self._looked + self._times.look

    @property
    def next_write(self) -> float:
        """The time of the next write: `quiet` after the last edit, at most `longest` after the first, and `again` after a failure."""
        wait = min(self._last_edit + self._times.quiet, (self._first_edit or 0.0) + self._times.longest)
        return max(wait, self._failed + self._times.again) if self._failed else wait


__all__ = ["SaveDebounce", "Times"]
