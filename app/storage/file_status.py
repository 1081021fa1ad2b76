"""How an open file stands, as pages and programs see it."""

from __future__ import annotations

import logging
import threading
from typing import Literal, Protocol

import msgspec

from ...engine.ir import Refusal
from ..document import Notebook
from ..document.files.merging import Part

BACK = "Edits that were not in the file when the server ended are back."
TYPED = "What was being typed when the server ended is back; undo takes it away."
RELOADED = "Another program changed the file, and it was read anew; undo leads to how it was."
TOGETHER = "Another program changed the file too; both changes are in it now, undo leads to each."


class Line(msgspec.Struct, frozen=True, eq=False):
    """A notebook, and those that undo and redo lead to."""

    notebook: Notebook
    past: tuple[Notebook, ...] = ()
    future: tuple[Notebook, ...] = ()

    @property
    def text(self) -> str:
        return self.notebook.document.text


class FileStanding(msgspec.Struct, frozen=True):
    """How a file stands. "new": there is none yet, the first edit makes it; "failed": the disk does not have the text, and `why`; "asking":
    another program changed the same lines (`clashes`).

    `durable`: the text and what is being typed are on the disk, in the file or in its history. `no_history` is why the history cannot be
    written. `told` is what was done unasked: recovered, merged, reloaded.
    """

    status: Literal["saved", "saving", "new", "failed", "asking"]
    why: Refusal | None = None
    durable: bool = True
    clashes: tuple[Part, ...] = ()
    told: str = ""
    no_history: Refusal | None = None

    @property
    def obstacle(self) -> Refusal | None:
        """Why the text is not durable; None where it is, or is on its way."""
        return None if self.durable else self.why or self.no_history

    @property
    def is_under_way(self) -> bool:
        """Whether the text is on its way to the disk."""
        return not self.durable and self.obstacle is None and self.status != "new"


class Follower(Protocol):
    """A page."""

    def told(self) -> None:
        """The file is another one, or stands otherwise. Called from any thread, nothing being held."""
        ...


class Followers:
    """The pages on one file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: tuple[Follower, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._all)

    def join(self, follower: Follower) -> None:
        with self._lock:
            self._all = (*self._all, follower)

    def leave(self, follower: Follower) -> None:
        with self._lock:
            self._all = tuple(one for one in self._all if one is not follower)

    def tell(self, but: Follower | None = None) -> None:
        """Let them look again, all `but` one."""
        for follower in self._all:
            if follower is not but:
                try:
                    follower.told()
                except Exception:  # its loop has ended, or the page has a fault: the file is written all the same
                    logging.getLogger(__name__).debug("a page could not be told", exc_info=True)


__all__ = ["BACK", "RELOADED", "TOGETHER", "TYPED", "FileStanding", "Follower", "Followers", "Line"]
