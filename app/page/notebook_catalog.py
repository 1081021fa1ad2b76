"""The notebooks of the start screen and their thumbnails. A thread draws missing thumbnails one by one after the page is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from ...engine.network import is_model_file
from ..document.files.read_write import shown_path
from ..document.networks import is_model
from ..jobs.thumbnails import thumbnail_of, thumbnail_of_model
from ..views.shell.gallery import FOLDER, Example, load_examples, load_file, load_folder, load_thumbnails
from ..views.shell.model_cards import example_models, load_drafts, model_file_card, model_files, served_models
from ..views.shell.thumbnails import Thumbnail

MOST_DRAFTS = 12
"""Number of drafts on the start screen before all are listed; these get thumbnails. The most recently changed ones are listed first."""

MOST_FILES = 1_000
"""Maximum number of drafts that are listed."""


class Thumbnails:
    """A cache of thumbnails by the digest of their text, for the life of the server: an unchanged file is drawn once."""

    def __init__(self) -> None:
        self._known: dict[str, Thumbnail] = load_thumbnails()
        self._lock = threading.Lock()

    @property
    def known(self) -> dict[str, Thumbnail]:
        """A copy of the cache."""
        return dict(self._known)

    def has(self, example: Example) -> bool:
        """Whether the card's thumbnail is in the cache."""
        return example.picture_key in self._known

    def make(self, example: Example) -> None:
        """Draw a thumbnail unless it is cached. A lock prevents pages that open together from drawing the same one twice."""
        with self._lock:
            if not self.has(example):
                path = example.path if example.model else None
                made = thumbnail_of(example.text) if path is None else thumbnail_of_model(Path(path))
                self._known[example.picture_key] = made


class NotebookCatalog:
    """The notebooks that one page can open: those at `path` (a file or a folder), the examples, and the newest `drafts`."""

    def __init__(
        self, path: Path | None = None, thumbnails: Thumbnails | None = None, drafts: Path | None = None
    ) -> None:
        self._path = path if path != FOLDER else None
        self._drafts = drafts
        is_folder = self._path is not None and self._path.is_dir()
        self.folder = "" if self._path is None or not is_folder else shown_path(self._path.name or self._path)
        self._others = (*load_examples(), *example_models())
        self.lists_all = False
        self.renew()
        self.thumbnails = thumbnails or Thumbnails()

    def renew(self) -> None:
        """Reload the served files and the drafts."""
        found = (
            () if self._drafts is None else load_drafts(self._drafts, MOST_FILES if self.lists_all else MOST_DRAFTS + 1)
        )
        self.has_more_drafts = not self.lists_all and len(found) > MOST_DRAFTS
        self.drafts = found[:MOST_DRAFTS] if self.has_more_drafts else found
        self.listed = (*self._served(), *self._others)
        self.examples = (*self.listed, *(draft for draft in self.drafts if draft.model))

    def _served(self) -> tuple[Example, ...]:
        if self._path is None:
            return ()
        if is_model(self._path):
            return served_models(self._path)
        if not self._path.is_dir():
            return model_file_card(self._path) if is_model_file(self._path.name) else load_file(self._path)
        return (*served_models(self._path), *model_files(self._path), *load_folder(self._path))

    @property
    def missing(self) -> list[Example]:
        """Cards without a thumbnail; those of models are last, as they take the longest."""
        shown = [one for one in (*self.drafts[:MOST_DRAFTS], *self.listed) if one.text and not self.thumbnails.has(one)]
        return sorted(shown, key=lambda one: bool(one.model))

    def fill(self, wanted: Callable[[], bool], found: Callable[[], None]) -> None:
        """Draw missing thumbnails in a thread while `wanted()` holds; call `found` after each."""

        def work() -> None:
            for example in self.missing:
                if not wanted():
                    return
                self.thumbnails.make(example)
                found()

        if self.missing:
            threading.Thread(target=work, name="thumbnails", daemon=True).start()


__all__ = ["NotebookCatalog", "Thumbnails"]
