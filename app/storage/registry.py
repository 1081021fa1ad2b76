"""The registry of a server's open files. All pages on one file share one `OpenFile`: its text, its undo stack and its status.

The registry's thread commits an edit to the history at once, with the pending edits of other files, and writes the file at the end of a
burst of edits. It also polls the files once a second for changes by other programs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.files.history import Entry, History
from ..document.files.read_write import real_path
from .disk_reports import DiskReports, Rescued, print_error, rescue
from .drafts import drafts_folder
from .file_status import Follower, Line
from .open_file import OpenFile
from .save_debounce import Times
from .short_lock_waits import urgent

END_WAIT_S = 5.0
"""Seconds that the end of a server waits for another process that holds a history."""


class OpenFileRegistry:
    """`folder` holds new notebooks, `drafts` those without a file; None forbids new ones.

    Files outside of the folder are refused, except `named`, the file given when the server was started. `times` are shorter in tests;
    `say` prints a line on standard error.
    """

    def __init__(
        self,
        folder: Path | None = None,
        times: Times | None = None,
        *,
        drafts: Path | None = None,
        named: Path | None = None,
        say: Callable[[str], None] = print_error,
    ) -> None:
        self.folder, self.drafts, self._named = folder, drafts, named
        self._times = times or Times()
        self._reports = DiskReports(say)
        self._files: dict[Path, OpenFile] = {}
        self._histories: dict[Path, History] = {}
        self._wake = threading.Condition()
        self._called = False
        self._closing = False
        self._thread: threading.Thread | None = None

    def place_of(self, path: Path) -> Path:
        """The real path of the file at `path`. Raises DocumentError "outside" for a link to a place outside of the served folder,
        "not-a-file" for a broken link."""
        real = real_path(path)
        if real is None or real.is_symlink():
            raise DocumentError(Refusal("not-a-file", f"{path.name} is a broken link"))
        if self.folder is None or path == self._named or real.is_relative_to(self.folder.resolve()):
            return real
        drafts = self.drafts
        if drafts is not None and path.is_relative_to(drafts) and real.is_relative_to(drafts.resolve()):
            return real
        raise DocumentError(
            Refusal("outside", f"{path.name} is outside of the served folder", expected="a file in the folder")
        )

    def begun(self, path: Path, line: Line, *, anew: bool = False) -> OpenFile | None:
        """A new file for `open`. Reading its history can be slow, so a thread may prepare it. None if the file is open already."""
        real = self.place_of(path)
        with self._wake:
            if real in self._files:
                return None
            history = self._histories.setdefault(real.parent, History(real.parent))
        made = OpenFile(path, real, history, self._call, self._times)
        made.begin(line, anew=anew)
        return made

    def open(
        self, path: Path, line: Line, follower: Follower, *, anew: bool = False, begun: OpenFile | None = None
    ) -> OpenFile:
        """Open the file at `path` for the page `follower`, until the page leaves it. `line` is the notebook that was read from it.

        `anew` replaces the content by `line`; undo restores the old content. Raises DocumentError if the file cannot be read.
        """
        real = self.place_of(path)
        with self._wake:
            found = self._files.get(real)
            if found is None:
                found = begun or self.begun(path, line, anew=anew)
                assert found is not None, "no other thread opens it at the same time"
                self._files[real] = found
            elif anew:
                found.replace(line)
            found.join(follower)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="files", daemon=True)
                self._thread.start()
        self._call()
        return found

    def is_open(self, path: Path) -> bool:
        """Whether a page has the file open."""
        with self._wake:
            return path.resolve() in self._files

    def discard(self, draft: Path) -> None:
        """Delete a draft. A page that still has it open reports the deletion, and can save it again."""
        with self._wake:
            found = self._files.get(draft.resolve())
            if found is not None and found.discard():
                del self._files[draft.resolve()]
            draft.unlink(missing_ok=True)

    def close(self) -> tuple[Rescued, ...]:
        """Write unsaved texts and end the thread. Returns the texts that neither file nor history has, with their rescue files."""
        with self._wake:
            self._closing = True
            thread = self._thread
        self._call()
        if thread is not None:
            thread.join()
        return tuple(rescue(file.path.name, text) for file in self._files.values() for text in file.unkept())

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
            self._work(final=closing)
        self._close_histories()

    def _work(self, *, final: bool) -> None:
        """Write the files that are due. A separate method, so that the waiting thread keeps no reference to a file without pages."""
        with self._wake:
            files = dict(self._files)
        if final:
            for history in list(self._histories.values()):
                history.wait_for_lock(END_WAIT_S)
        _commit(files.values(), final=final)
        for real, file in files.items():
            if file.work(final=final):
                _commit(files.values())  # commit new edits between the writes of files
            self._reports.update(real, file.save_status)
            with self._wake:
                if file.done:
                    self._files.pop(real, None)
        if not self._files:
            self._close_histories()  # the next edit opens a new connection; a connection keeps its last 200 cursors

    def _close_histories(self) -> None:
        for history in list(self._histories.values()):
            history.close()

    def _pause(self) -> float | None:
        """Seconds until the next task; None if no file is open."""
        now = time.monotonic()
        return min((max(0.0, file.due - now) for file in self._files.values()), default=None)


def _commit(files: Iterable[OpenFile], *, final: bool = False) -> None:
    """Begin an attempt for each file and commit the queued edits, with one transaction per history. Never raises."""
    waiting: dict[History, list[tuple[OpenFile, Entry]]] = {}
    for file in files:
        entry = file.begin_attempt(final=final)
        if entry is not None:
            waiting.setdefault(file.history, []).append((file, entry))
    for history, entries in waiting.items():
        trouble: Refusal | None = None
        try:
            with urgent():
                history.commit([entry for _, entry in entries])
        except DocumentError as error:
            trouble = error.refusal
        except Exception as error:
            trouble = Refusal("no-history", f"edits cannot be recorded: {type(error).__name__}: {error}")
        for file, entry in entries:
            file.committed(entry, trouble)


def open_file_registry(path: str | Path | None) -> OpenFileRegistry:
    """The registry for a served folder, for a file (new notebooks go into its folder), or for drafts only (None)."""
    if path is None:
        return OpenFileRegistry(drafts=drafts_folder())
    place = Path(path)
    if place.is_dir():
        return OpenFileRegistry(place, drafts=drafts_folder())
    return OpenFileRegistry(place.parent, named=place, drafts=drafts_folder())


__all__ = ["OpenFileRegistry", "open_file_registry"]
