"""The status of an open file, as pages and programs see it."""

from __future__ import annotations

import logging
import threading
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from ...engine.ir import Refusal
from ..document import Notebook
from ..document.files.merging import Part

BACK = "Unsaved edits of the last server run were restored."
TYPED = "Unfinished input of the last server run was restored. Undo removes it."
RELOADED = "Another program changed the file, and it was reloaded. Undo restores the earlier text."
TOGETHER = "Another program changed the file too, and both changes were merged. Undo restores each version."


class Line(msgspec.Struct, frozen=True, eq=False):
    """A notebook with its undo and redo stacks."""

    notebook: Notebook
    past: tuple[Notebook, ...] = ()
    future: tuple[Notebook, ...] = ()

    @property
    def text(self) -> str:
        return self.notebook.document.text


class SaveStatus(msgspec.Struct, frozen=True):
    """The status of a file. "new": the file does not exist, and the first edit creates it; "failed": the text could not be saved, for the
    reason `why`; "asking": another program changed the same lines (`conflicts`).

    `durable`: the text and unfinished input are on the disk, in the file or in its history. `no_history` is the reason why the history
    cannot be written. `notice` is a message about an automatic action: recovery, merge or reload.
    """

    status: Literal["saved", "saving", "new", "failed", "asking"]
    why: Refusal | None = None
    durable: bool = True
    conflicts: tuple[Part, ...] = ()
    notice: str = ""
    no_history: Refusal | None = None

    @property
    def obstacle(self) -> Refusal | None:
        """The reason why the text is not durable; None if it is durable, or a write is under way."""
        return None if self.durable else self.why or self.no_history

    @property
    def is_under_way(self) -> bool:
        """Whether the text waits for a write to the disk."""
        return not self.durable and self.obstacle is None and self.status != "new"


class Presence(msgspec.Struct, frozen=True):
    """What a page on the file shows: the name that its reader chose, the selected step, counted from 1 (0: the last), and the selected row
    of the tree."""

    name: str = ""
    step: int = 0
    row: str = ""


class Follower(Protocol):
    """A page that has the file open."""

    def on_change(self) -> None:
        """Handle a change of the file's text or status. Called from any thread, without a lock."""
        ...


class Followers:
    """The pages that have one file open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: tuple[Follower, ...] = ()
        self._presences: dict[int, Presence] = {}
        self._guests = 0

    def __bool__(self) -> bool:
        return bool(self._all)

    def join(self, follower: Follower) -> None:
        with self._lock:
            self._all = (*self._all, follower)
            self._guests += 1
            self._presences[id(follower)] = Presence(f"guest {self._guests}")
        self.notify(follower)

    def leave(self, follower: Follower) -> None:
        with self._lock:
            self._all = tuple(one for one in self._all if one is not follower)
            self._presences.pop(id(follower), None)
            self._guests = self._guests if self._all else 0
        self.notify(follower)

    def present(self, follower: Follower, presence: Presence) -> None:
        """Tell the other pages what this one shows; without a name it keeps the one it has."""
        with self._lock:
            before = self._presences.get(id(follower))
            if before is None:
                return
            now = replace(presence, name=presence.name or before.name)
            self._presences[id(follower)] = now
        if now != before:
            self.notify(follower)

    def others(self, follower: Follower) -> tuple[Presence, ...]:
        """What the other pages show, in the order in which they opened the file."""
        with self._lock:
            return tuple(self._presences[id(one)] for one in self._all if one is not follower)

    def notify(self, but: Follower | None = None) -> None:
        """Notify all pages except `but`."""
        for follower in self._all:
            if follower is not but:
                try:
                    follower.on_change()
                except Exception:  # an ended event loop or a bug in the page must not stop the save
                    logging.getLogger(__name__).debug("a page could not be notified", exc_info=True)


__all__ = ["BACK", "RELOADED", "TOGETHER", "TYPED", "Follower", "Followers", "Line", "Presence", "SaveStatus"]
