"""The notebooks of the start screen and their thumbnails. What has none yet is drawn in a thread, one after the other, after the page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from ..views.shell.gallery import FOLDER, Example, load_examples, load_file, load_folder, load_thumbnails
from ..views.shell.thumbnails import Thumbnail, digest, thumbnail_of

MOST_DRAFTS = 12
"""Drafts that the start screen lists: those that were changed last."""


class Thumbnails:
    """Thumbnails by the digest of their text, kept as long as the server runs: a file that did not change is drawn once."""

    def __init__(self) -> None:
        self._known: dict[str, Thumbnail] = load_thumbnails()
        self._lock = threading.Lock()

    @property
    def known(self) -> dict[str, Thumbnail]:
        """Those that there are."""
        return dict(self._known)

    def has(self, text: str) -> bool:
        """Whether `make` would have nothing to do."""
        return digest(text) in self._known

    def make(self, text: str) -> None:
        """Draw one, unless it is known. One at a time: pages that are opened together do not draw the same twice."""
        with self._lock:
            if not self.has(text):
                self._known[digest(text)] = thumbnail_of(text)


class NotebookCatalog:
    """The notebooks that one page can open: the served ones at `path`, a file or a folder, the examples, and the newest `drafts`."""

    def __init__(
        self, path: Path | None = None, thumbnails: Thumbnails | None = None, drafts: Path | None = None
    ) -> None:
        self._path = path if path != FOLDER else None
        self._drafts = drafts
        is_folder = self._path is not None and self._path.is_dir()
        self.folder = "" if self._path is None or not is_folder else self._path.name or str(self._path)
        self.examples: tuple[Example, ...] = (*self._served(), *load_examples())
        self.drafts = self._newest_drafts()
        self.thumbnails = thumbnails or Thumbnails()

    def _newest_drafts(self) -> tuple[Example, ...]:
        return () if self._drafts is None else load_folder(self._drafts, MOST_DRAFTS)

    def renew(self) -> None:
        """Look at the folder again."""
        others = tuple(example for example in self.examples if example.path is None)
        self.examples = (*self._served(), *others)
        self.drafts = self._newest_drafts()

    def _served(self) -> tuple[Example, ...]:
        if self._path is None:
            return ()
        return load_folder(self._path) if self._path.is_dir() else load_file(self._path)

    @property
    def missing(self) -> list[str]:
        """Texts without a thumbnail."""
        return [example.text for example in (*self.drafts, *self.examples) if not self.thumbnails.has(example.text)]

    def fill(self, wanted: Callable[[], bool], found: Callable[[], None]) -> None:
        """Draw what is missing, in a thread, as long as it is `wanted`; `found` is called after each."""

        def work() -> None:
            for text in self.missing:
                if not wanted():
                    return
                self.thumbnails.make(text)
                found()

        if self.missing:
            threading.Thread(target=work, name="thumbnails", daemon=True).start()


__all__ = ["NotebookCatalog", "Thumbnails"]
