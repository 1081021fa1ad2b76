"""When a file is written, and when the disk is looked at: a burst of edits is written once, and not too late."""

from __future__ import annotations

import time

import msgspec


class Times(msgspec.Struct, frozen=True):
    """Seconds: how long a burst of edits is waited for and at most, how often the disk is looked at, when a failed write is tried again."""

    quiet: float = 0.15
    longest: float = 1.0
    look: float = 1.0
    again: float = 5.0


class SaveDebounce:
    """That of one file. Answers are moments of the monotonic clock."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._first_edit: float | None = None
        self._last_edit = self._looked = self._failed = 0.0

    def edited(self) -> None:
        self._last_edit = time.monotonic()
        self._first_edit = self._last_edit if self._first_edit is None else self._first_edit

    def hurry(self) -> None:
        """Nothing more is waited for."""
        self._first_edit, self._failed = 0.0, 0.0

    def writing(self) -> None:
        """What comes from here on is another burst."""
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
        """A while after the last edit, not too long after the first, and not at once again where it failed."""
        wait = min(self._last_edit + self._times.quiet, (self._first_edit or 0.0) + self._times.longest)
        return max(wait, self._failed + self._times.again) if self._failed else wait


__all__ = ["SaveDebounce", "Times"]
