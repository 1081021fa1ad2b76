"""What the disk has of a file: written only while it is as it was seen last, and looked at for what other programs do to it."""

from __future__ import annotations

from pathlib import Path

from ..engine.ir import Refusal
from .document import DocumentError
from .document.files import Stamp, clear_leftovers, read_text, stamp_of, write_text


class DiskCopy:
    """`text` is what it holds, None where there is no file. `trouble` is why nothing can be done to it: it is gone, or no text.

    One thread changes it; pages see each of its fields as it is.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.text: str | None = None
        self.trouble: Refusal | None = None
        self._stamp: Stamp | None = None
        self._missing = 0

    def read(self) -> None:
        """For the first time. Raises DocumentError where it is there and cannot be read."""
        clear_leftovers(self._path)
        try:
            self.text, self._stamp = read_text(self._path)
        except DocumentError as error:
            if error.code != "no-such-file":
                raise

    def write(self, text: str) -> bool:
        """Whether it holds `text` now: not where another program changed it. Raises DocumentError where it cannot be written."""
        try:
            self._stamp = write_text(self._path, text, self._stamp)
            self.text, self._missing = text, 0
        except DocumentError as error:
            if error.code != "changed-on-disk":
                raise
            return False
        return True

    def look(self) -> bool:
        """Whether another program put another text there."""
        try:
            stamp = stamp_of(self._path)
            found = None if stamp is None or stamp == self._stamp else read_text(self._path)
        except DocumentError as error:
            self.trouble = error.refusal
            return False
        if stamp is None:
            if self._stamp is not None:
                self._is_gone()
            return False
        self._missing, self.trouble, before = 0, None, self.text
        if found is not None:
            self.text, self._stamp = found
        return self.text != before

    def _is_gone(self) -> None:
        """Seen twice: editors take a file away for a moment when they write it."""
        self._missing += 1
        if self._missing > 1:
            self._stamp = self.text = None
            expected = "Save to write it there again, or Save as"
            self.trouble = Refusal("gone", f"{self._path.resolve().name} was deleted or moved", expected=expected)

    def make_again(self) -> None:
        """Where it is gone a person wants it there again."""
        if self.trouble is not None and self.trouble.code == "gone":
            self.trouble, self._missing = None, 0


__all__ = ["DiskCopy"]
