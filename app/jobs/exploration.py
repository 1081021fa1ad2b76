"""The search of one page: worker processes evaluate candidates, and the page receives the results a few times a second.

A thread waits for the candidates. It ends on request, at the latest when the page closes. `engine.explore` writes each outcome to disk
before the page shows it, so a search resumes after a reload or a kill.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from ...engine.explore import Progress, Status, Verifier, explore
from ...engine.ir import Refusal, TilewrightError
from ..document import Notebook
from ..limits import LIMITS
from ..state.derived import Store
from ..state.model import Exploration, SearchRequest, State
from ..state.search_results import Found, found_now
from .event_loop import EventLoop
from .study_files import taken_up, write_down

TELL_MS = 250
"""The interval between two updates of the page."""


class Places:
    """The limit on concurrent searches of a server. Further searches wait in a queue."""

    def __init__(self, most: int = LIMITS.searches) -> None:
        self._free = most
        self._line: deque[object] = deque()
        self._turn = threading.Condition()

    @contextmanager
    def taken(self, given_up: Callable[[], bool]) -> Iterator[bool]:
        """Wait for a place and hold it. Yields False if the search is cancelled first."""
        me = object()
        with self._turn:
            self._line.append(me)
            while not given_up() and not (self._free and self._line[0] is me):
                self._turn.wait(0.2)
            self._line.remove(me)
            has = not given_up()
            self._free -= has
            self._turn.notify_all()
        try:
            yield has
        finally:
            with self._turn:
                self._free += has
                self._turn.notify_all()


class Search:
    """One search in a thread, until it ends or is stopped. `told` receives the results on the event loop."""

    def __init__(
        self,
        sought: SearchRequest,
        known: Found,
        event_loop: EventLoop,
        places: Places,
        file: Path,
        told: Callable[[Found], None],
    ) -> None:
        self.sought = sought
        self._event_loop = event_loop
        self._places = places
        self._file = file
        self._told = told
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._coming = False
        self._trials, self._at = list(known.trials), list(known.at)
        self._numbers = {trial.number for trial in known.trials}
        self._before, self._began = known.seconds, 0.0
        self._latest = msgspec.structs.replace(known, standing="waiting", error=None, checking=None)
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)

    def start(self) -> Search:
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the search and its updates."""
        self._stopped.set()

    @property
    def latest(self) -> Found:
        with self._lock:
            return self._latest

    # In the thread.

    def _run(self) -> None:
        with self._places.taken(self._stopped.is_set) as has_place:
            if not has_place:
                return
            self._began = time.monotonic()
            self._now(standing="running")
            try:
                self._search()
            except TilewrightError as error:
                self._now(standing="failed", error=error)
            except Exception as error:
                refusal = Refusal("search-failed", f"the search ended: {type(error).__name__}: {str(error)[:300]}")
                self._now(standing="failed", error=TilewrightError(refusal))

    def _search(self) -> None:
        sought = self.sought
        if sought.notebook.document.path is not None and self._file.parent.name == "explore":
            with suppress(OSError):  # then a later page cannot resume it; the study itself reports disk errors
                write_down(sought.notebook.document.path, sought)
        study = explore(
            sought.space,
            sought.machine,
            sought.settings,
            workers=LIMITS.search_workers,
            store=self._file,
            watch=self._took,
            stop=self._stopped.is_set,
            checking=self._checks,
        )
        offers = {offer.trial.number: offer.verdict for offer in study.offers}
        front = tuple(trial.number for trial in study.front)
        standing = "ended" if study.ended else "stopped"
        self._now(standing=standing, offers=offers, front=front, total=study.total, checking=None)

    def _checks(self, checking: Verifier) -> bool:
        """Show the progress of the final verification. Returns whether to stop it."""
        self._now(checking=(checking.done, checking.total))
        return self._stopped.is_set()

    def _took(self, progress: Progress) -> None:
        trial = progress.trial
        with self._lock:
            if trial.number not in self._numbers:
                self._numbers.add(trial.number)
                self._trials.append(trial)
                self._at.append(self._seconds)
        self._now(total=progress.total, front=tuple(t.number for t in progress.front), soon=False)

    @property
    def _seconds(self) -> float:
        return self._before + time.monotonic() - self._began

    def _now(self, *, soon: bool = True, **known: Any) -> None:
        """Store the results and schedule an update of the page: at once with `soon`, else TELL_MS later, unless one is scheduled
        already."""
        with self._lock:
            self._latest = msgspec.structs.replace(self._latest, seconds=self._seconds, **known)
            if self._stopped.is_set() or (self._coming and not soon):
                return
            self._coming = True
        self._event_loop.soon(self._tell if soon else lambda: self._event_loop.after(TELL_MS, self._tell))

    # On the event loop.

    def _tell(self) -> None:
        with self._lock:
            self._coming = False
            trials = tuple(self._trials)
            counts: dict[Status, int] = dict(Counter(trial.outcome.status for trial in trials))
            self._latest = msgspec.structs.replace(self._latest, trials=trials, at=tuple(self._at), counts=counts)
            latest = self._latest
        if not self._stopped.is_set():
            self._told(latest)


class Searches:
    """The searches of one page, one at a time. `found` is called on the event loop when results arrive; `file_of` returns the file of a
    search."""

    def __init__(
        self,
        store: Store,
        event_loop: EventLoop,
        found: Callable[[], None],
        places: Places | None = None,
        file_of: Callable[[SearchRequest], Path | None] = lambda _: None,
    ) -> None:
        self._store = store
        self._event_loop = event_loop
        self._found = found
        self._places = places or Places()
        self._file_of = file_of
        self._search: Search | None = None
        self._latest: tuple[SearchRequest, Found] | None = None
        self._folder: TemporaryDirectory[str] | None = None

    @property
    def running(self) -> bool:
        """Whether a search runs or waits for a place."""
        return self._search is not None

    def look(self, state: State) -> None:
        """Run the search that `state` names, and stop any other."""
        self._hold_on_to(state.exploration)
        wanted = state.exploration if state.exploration is not None and state.exploration.going else None
        if self._search is not None and (wanted is None or wanted.sought is not self._search.sought):
            self.stop()
        if wanted is None or self._search is not None:
            return
        known = found_now(wanted, self._store)
        if known is not None and known.standing in ("ended", "failed"):
            return
        self._search = Search(
            wanted.sought,
            known or Found("waiting"),
            self._event_loop,
            self._places,
            self._file_of(wanted.sought) or self._aside(wanted.sought),
            lambda found: self._keep(wanted.sought, found),
        ).start()
        self._known(wanted.sought, self._search.latest)

    def take_up(self, notebook: Notebook, told: Callable[[SearchRequest], None]) -> None:
        """Load the notebook's last search from disk in a thread; if there is one, call back on the event loop."""

        def work() -> None:
            found = taken_up(notebook)
            if found is not None:
                self._event_loop.soon(lambda: tell(*found))

        def tell(sought: SearchRequest, found: Found) -> None:
            self._known(sought, found)
            told(sought)

        if notebook.document.path is not None:
            threading.Thread(target=work, name="studies", daemon=True).start()

    def stop(self) -> None:
        """Stop the search; its results stay."""
        search, self._search = self._search, None
        if search is not None:
            search.stop()
            known = self._store.known("found", (search.sought,))
            if known is not None and known.standing in ("waiting", "running"):
                self._known(search.sought, msgspec.structs.replace(known, standing="stopped", checking=None))

    def close(self) -> None:
        """Stop the search and delete the temporary folder: the page is closed."""
        self.stop()
        if self._folder is not None:
            self._folder.cleanup()

    def _aside(self, sought: SearchRequest) -> Path:
        """The temporary file for the outcomes of a notebook without a file; it exists as long as its page."""
        self._folder = self._folder or TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True)
        return Path(self._folder.name) / f"{sought.serial}.sqlite3"

    def _hold_on_to(self, exploration: Exploration | None) -> None:
        """Put the visible results back into the store if the store has dropped them."""
        if exploration is None or self._latest is None or self._latest[0] is not exploration.sought:
            self._latest = None
        elif found_now(exploration, self._store) is None:
            self._known(*self._latest)

    def _known(self, sought: SearchRequest, found: Found) -> None:
        self._latest = sought, found
        self._store.keep("found", (sought,), found)

    def _keep(self, sought: SearchRequest, found: Found) -> None:
        self._known(sought, found)
        if (
            found.standing in ("ended", "failed", "stopped")
            and self._search is not None
            and self._search.sought is sought
        ):
            self._search = None
        self._found()


__all__ = ["Places", "Search", "Searches"]
