"""The files that a server has open. Each is one `OpenFile`, however many pages look at it: they share its text, its undo and its fate.

An edit is recorded in the history at once, and the file is written when a burst of edits is over; both in a thread of the cabinet's, which
also looks once a second whether another program changed a file.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from .document.history import History
from .drafts import drafts_folder
from .open_file import Follower, Line, OpenFile
from .pace import Times


class Cabinet:
    """`folder` is where new notebooks go, `drafts` where those without a file are kept; None where none may be made. `times` are shorter
    in tests."""

    def __init__(self, folder: Path | None = None, times: Times | None = None, drafts: Path | None = None) -> None:
        self.folder, self.drafts = folder, drafts
        self._times = times or Times()
        self._files: dict[Path, OpenFile] = {}
        self._histories: dict[Path, History] = {}
        self._wake = threading.Condition()
        self._called = False
        self._closing = False
        self._thread: threading.Thread | None = None

    def begun(self, path: Path, line: Line, *, anew: bool = False) -> OpenFile | None:
        """What `open` needs, for a thread: to read what the history knows may take long. None where the file is open already."""
        real = path.resolve()
        with self._wake:
            if real in self._files:
                return None
            history = self._histories.setdefault(real.parent, History(real.parent))
        made = OpenFile(path, history, self._call, self._times)
        made.begin(line, anew=anew)
        return made

    def open(
        self, path: Path, line: Line, follower: Follower, *, anew: bool = False, begun: OpenFile | None = None
    ) -> OpenFile:
        """The file at `path`, as it is there; `line` is what was read of it. The page `follower` has it until it leaves it.

        `anew`: `line` goes there, and what was there is one undo away. Raises DocumentError where the file cannot be read.
        """
        real = path.resolve()
        with self._wake:
            found = self._files.get(real)
            if found is None:
                found = begun or self.begun(path, line, anew=anew)
                assert found is not None, "nobody opens it at the same time"
                self._files[real] = found
            elif anew:
                found.replace(line)
            found.join(follower)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="files", daemon=True)
                self._thread.start()
        self._call()
        return found

    def discard(self, draft: Path) -> None:
        """Delete a draft. A page that still has it open says that the file is gone, and can save it again."""
        with self._wake:
            found = self._files.get(draft.resolve())
            if found is not None and found.discard():
                del self._files[draft.resolve()]
            draft.unlink(missing_ok=True)

    def close(self) -> None:
        """Write what is not written, and end."""
        with self._wake:
            self._closing = True
            thread = self._thread
        self._call()
        if thread is not None:
            thread.join()

    def _call(self) -> None:
        with self._wake:
            self._called = True
            self._wake.notify()

    def _run(self) -> None:
        closing = False
        while not closing:
            with self._wake:
                if not self._called and not self._closing:
                    self._wake.wait(self._pause())
                self._called, closing = False, self._closing
                files = dict(self._files)
            for real, file in files.items():
                file.work(final=closing)
                with self._wake:
                    if file.done:
                        self._files.pop(real, None)
        for history in self._histories.values():
            history.close()

    def _pause(self) -> float | None:
        """Seconds until something is to be done; None where nothing is open."""
        now = time.monotonic()
        return min((max(0.0, file.due - now) for file in self._files.values()), default=None)


def cabinet_of(path: str | Path | None) -> Cabinet:
    """The files of a server: of a served folder, of a file (new ones go beside it), or drafts alone."""
    folder = None if path is None else Path(path) if Path(path).is_dir() else Path(path).parent
    return Cabinet(folder, drafts=drafts_folder())


__all__ = ["Cabinet", "cabinet_of"]
