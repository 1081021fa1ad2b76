"""The notebooks of the start screen and their thumbnails. A thread draws missing thumbnails one by one after the page is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from ..document.files.read_write import shown_path
from ..document.networks import is_model
from ..jobs.thumbnails import thumbnail_of
from ..views.shell.gallery import FOLDER, Example, load_examples, load_file, load_folder, load_thumbnails
from ..views.shell.model_cards import example_models, served_models
from ..views.shell.thumbnails import Thumbnail, digest

MOST_DRAFTS = 12
"""Maximum number of drafts on the start screen; the most recently changed ones are listed."""


class Thumbnails:
    """A cache of thumbnails by the digest of their text, for the life of the server: an unchanged file is drawn once."""

    def __init__(self) -> None:
        self._known: dict[str, Thumbnail] = load_thumbnails()
        self._lock = threading.Lock()

    @property
    def known(self) -> dict[str, Thumbnail]:
        """A copy of the cache."""
        return dict(self._known)

    def has(self, text: str) -> bool:
        """Whether the text's thumbnail is in the cache."""
        return digest(text) in self._known

    def make(self, text: str) -> None:
        """Draw a thumbnail unless it is cached. A lock prevents pages that open together from drawing the same one twice."""
        with self._lock:
            if not self.has(text):
                self._known[digest(text)] = thumbnail_of(text)


class NotebookCatalog:
    """The notebooks that one page can open: those at `path` (a file or a folder), the examples, and the newest `drafts`."""

    def __init__(
        self, path: Path | None = None, thumbnails: Thumbnails | None = None, drafts: Path | None = None
    ) -> None:
        self._path = path if path != FOLDER else None
        self._drafts = drafts
        is_folder = self._path is not None and self._path.is_dir()
        self.folder = "" if self._path is None or not is_folder else shown_path(self._path.name or self._path)
        self.examples: tuple[Example, ...] = (*self._served(), *load_examples(), *example_models())
        self.drafts = self._newest_drafts()
        self.thumbnails = thumbnails or Thumbnails()

    def _newest_drafts(self) -> tuple[Example, ...]:
        return () if self._drafts is None else load_folder(self._drafts, MOST_DRAFTS)

    def renew(self) -> None:
        """Reload the served files and the drafts."""
        others = tuple(example for example in self.examples if example.path is None)
        self.examples = (*self._served(), *others)
        self.drafts = self._newest_drafts()

    def _served(self) -> tuple[Example, ...]:
        if self._path is None:
            return ()
        if is_model(self._path):
            return served_models(self._path)
        if not self._path.is_dir():
            return load_file(self._path)
        return (*served_models(self._path), *load_folder(self._path))

    @property
    def missing(self) -> list[str]:
        """Texts without a thumbnail."""
        shown = (one for one in (*self.drafts, *self.examples) if not one.model and one.obstacle is None)
        return [example.text for example in shown if not self.thumbnails.has(example.text)]

    def fill(self, wanted: Callable[[], bool], found: Callable[[], None]) -> None:
        """Draw missing thumbnails in a thread while `wanted()` holds; call `found` after each."""

        def work() -> None:
            for text in self.missing:
                if not wanted():
                    return
                self.thumbnails.make(text)
                found()

        if self.missing:
            threading.Thread(target=work, name="thumbnails", daemon=True).start()


__all__ = ["NotebookCatalog", "Thumbnails"]
