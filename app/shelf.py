"""The notebooks of the start screen and their thumbnails. What has none yet is drawn in a thread, one after the other, after the page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from .views.gallery import FOLDER, Example, load_examples, load_folder, load_thumbnails
from .views.thumbnails import Thumbnail, digest, thumbnail_of


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


class Shelf:
    """What one page has to choose from: a person's own notebooks where a folder is served, and the examples."""

    def __init__(self, folder: Path | None = None, thumbnails: Thumbnails | None = None) -> None:
        self.folder = "" if folder is None or folder == FOLDER else folder.name or str(folder)
        self._folder = folder if folder != FOLDER else None
        own = load_folder(folder) if folder is not None and folder != FOLDER else ()
        self.examples: tuple[Example, ...] = (*own, *load_examples())
        self.thumbnails = thumbnails or Thumbnails()

    def renew(self) -> None:
        """Look at the folder again."""
        if self._folder is not None:
            others = tuple(example for example in self.examples if example.path is None)
            self.examples = (*load_folder(self._folder), *others)

    @property
    def missing(self) -> list[str]:
        """Texts without a thumbnail."""
        return [example.text for example in self.examples if not self.thumbnails.has(example.text)]

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


__all__ = ["Shelf", "Thumbnails"]
