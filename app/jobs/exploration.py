"""The search of one page: worker processes evaluate candidates, and the page receives the results a few times a second.

A thread waits for the candidates. It ends on request, at the latest when the page closes. `engine.explore` writes each outcome to disk
before the page shows it, so a search resumes after a reload or a kill.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from ...engine.cancellation import checkpoint, cut_short
from ...engine.explore import DecisionWorth, Progress, Status, Study, Verifier, search_from, worth_of_decisions
from ...engine.ir import TilewrightError
from ...engine.lower import with_sizes
from ..actions.exploring import EndDerivation, EndSearch
from ..document import Notebook, evaluate
from ..document.editing.branches import schedule_cells
from ..document.editing.improved import improving
from ..document.holes import branch_at
from ..limits import LIMITS
from ..state.derived import Store, report_of
from ..state.model import Derivation, DerivedSchedule, Exploration, SearchRequest, State
from ..state.search_results import DERIVED, FOUND, Found, Improved, found_now
from .derivation import DerivationJob
from .event_loop import EventLoop
from .search_slots import SearchSlots, SearchThread
from .study_files import file_name, load_search, record_search

IMPROVED = "improved"
"""The branch of the next steps, which no file has."""

IMPROVING_S = 30.0
"""The most seconds for the next steps of the best schedule."""

UPDATE_MS = 250
"""The interval between two updates of the page."""


class Search:
    """One search in a thread, until it ends or is stopped. `on_results` receives the results on the event loop."""

    def __init__(
        self,
        request: SearchRequest,
        known: Found,
        event_loop: EventLoop,
        slots: SearchSlots,
        file: Path,
        on_results: Callable[[Found], None],
    ) -> None:
        self.request = request
        self._event_loop = event_loop
        self._slots = slots
        self._file = file
        self._on_results = on_results
        self._lock = threading.Lock()
        self._thread = SearchThread("the search", slots, event_loop, self._search, self._fail)
        self._is_scheduled = False
        self._trials, self._at = list(known.trials), list(known.at)
        self._numbers = {trial.number for trial in known.trials}
        self._before, self._began = known.seconds, 0.0
        self._latest = msgspec.structs.replace(known, status="waiting", error=None, checking=None)

    def start(self) -> Search:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Cancel the search: its updates end now, its thread at the next checkpoint."""
        self._thread.stop()

    @property
    def latest(self) -> Found:
        with self._lock:
            return self._latest

    # In the thread.

    def _search(self) -> None:
        request = self.request
        self._began = time.monotonic()
        self._update(status="running")
        if request.notebook.document.path is not None and self._file.parent.name == "explore":
            with suppress(OSError):  # then a later page cannot resume it; the study itself reports disk errors
                record_search(request.notebook.document.path, request)
        self._update(own=_own_cycles(request))
        study = search_from(
            request.derived,
            request.space,
            request.machine,
            request.settings,
            workers=LIMITS.search_workers,
            store=self._file,
            watch=self._on_trial,
            checking=self._on_verification,
            database=self._database(),
        )
        worth: list[DecisionWorth] = []
        for one in worth_of_decisions(study):
            checkpoint()
            worth.append(one)
        self._improve(study)
        offers = {offer.trial.number: offer.verdict for offer in study.offers}
        front = tuple(trial.number for trial in study.front)
        self._update(
            status="ended", offers=offers, front=front, total=study.total, checking=None, warm_start=study.warm_start,
            worth=tuple(worth),
        )  # fmt: skip

    def _improve(self, study: Study) -> None:
        """Take next steps of the best schedule after a derivation, for up to IMPROVING_S."""
        request, until = self.request, time.monotonic() + IMPROVING_S
        if request.derived is None or request.space.kernel is not None or not study.offers:
            return
        best = branch_at(request.notebook.document, request.space, study.offers[0].trial.point, IMPROVED)
        with suppress(TilewrightError), cut_short(lambda: time.monotonic() > until):
            for notebook, cycles in improving(evaluate(best, request.notebook), request.machine):
                self._update(improved=Improved(schedule_cells(notebook.document), cycles), soon=False)

    def _fail(self, error: TilewrightError) -> None:
        self._update(status="failed", error=error)

    def _database(self) -> Path | None:
        """The database of found schedules; that of the folder only for a notebook in a file."""
        path = self.request.notebook.document.path if self._file.parent.name == "explore" else None
        return self._slots.database_for(path)

    def _on_verification(self, checking: Verifier) -> None:
        """Show the progress of the final verification."""
        self._update(checking=(checking.done, checking.total))
        checkpoint()

    def _on_trial(self, progress: Progress) -> None:
        trial = progress.trial
        with self._lock:
            if trial.number not in self._numbers:
                self._numbers.add(trial.number)
                self._trials.append(trial)
                self._at.append(self._seconds)
        front = tuple(t.number for t in progress.front)
        is_first = progress.done == 1  # a known schedule: shown before the workers start
        self._update(
            total=progress.total, front=front, warm_start=progress.warm_start, floor=progress.floor, soon=is_first
        )

    @property
    def _seconds(self) -> float:
        return self._before + time.monotonic() - self._began

    def _update(self, *, soon: bool = True, **known: Any) -> None:
        """Store the results and schedule an update of the page: at once with `soon`, else UPDATE_MS later, unless one is scheduled
        already."""
        with self._lock:
            self._latest = msgspec.structs.replace(self._latest, seconds=self._seconds, **known)
            if self._thread.is_stopped or (self._is_scheduled and not soon):
                return
            self._is_scheduled = True
        self._event_loop.soon(self._send if soon else lambda: self._event_loop.after(UPDATE_MS, self._send))

    # On the event loop.

    def _send(self) -> None:
        with self._lock:
            self._is_scheduled = False
            trials = tuple(self._trials)
            counts: dict[Status, int] = dict(Counter(trial.outcome.status for trial in trials))
            self._latest = msgspec.structs.replace(self._latest, trials=trials, at=tuple(self._at), counts=counts)
            latest = self._latest
        if not self._thread.is_stopped:
            self._on_results(latest)


class Searches:
    """The searches of one page, one at a time, and the derivation before a search. On the event loop, `found` is called when results
    arrive, and `on_end` at the end of a derivation, and of the search that follows it; `file_of` returns the file of a search."""

    def __init__(
        self,
        store: Store,
        event_loop: EventLoop,
        found: Callable[[], None],
        slots: SearchSlots | None = None,
        file_of: Callable[[SearchRequest], Path | None] = lambda _: None,
        on_end: Callable[[EndDerivation | EndSearch], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._event_loop = event_loop
        self._found = found
        self._slots = slots or SearchSlots()
        self._file_of = file_of
        self._on_end = on_end
        self._derivation: DerivationJob | None = None
        self._search: Search | None = None
        self._latest: tuple[SearchRequest, Found] | None = None
        self._folder: TemporaryDirectory[str] | None = None

    @property
    def running(self) -> bool:
        """Whether a search or a derivation runs or waits for a place."""
        return self._search is not None or self._derivation is not None

    def update(self, state: State) -> None:
        """Run the search or derivation that `state` names, and stop any other."""
        self._derive(state.derivation)
        self._restore(state.exploration)
        wanted = state.exploration if state.exploration is not None and state.exploration.going else None
        if self._search is not None and (wanted is None or wanted.request is not self._search.request):
            request = self._search.request
            self.stop()
            if state.exploration is not None and state.exploration.request is request:
                self._end(request)
        if wanted is None or self._search is not None:
            return
        known = found_now(wanted, self._store)
        if known is not None and known.status in ("ended", "failed"):
            return
        self._search = Search(
            wanted.request,
            known or Found("waiting", seconds=_seconds_before(wanted.request)),
            self._event_loop,
            self._slots,
            self._file_of(wanted.request) or self._temporary_file(wanted.request),
            lambda found: self._keep(wanted.request, found),
        ).start()
        self._remember(wanted.request, self._search.latest)

    def _derive(self, wanted: Derivation | None) -> None:
        running = self._derivation
        if running is not None and wanted is running.derivation:
            return
        if running is not None:
            running.stop()
        self._derivation = None
        if wanted is None:
            return

        def on_better(found: DerivedSchedule) -> None:
            self._store.keep(DERIVED(wanted), found)
            self._found()

        def on_end(found: DerivedSchedule | None, error: TilewrightError | None) -> None:
            self._on_end(EndDerivation(wanted, found, error))

        self._derivation = DerivationJob(wanted, self._event_loop, self._slots, on_better, on_end).start()

    def load_last(self, notebook: Notebook, on_found: Callable[[SearchRequest], None]) -> None:
        """Load the notebook's last search from disk in a thread; if there is one, call back on the event loop."""

        def work() -> None:
            found = load_search(notebook)
            if found is not None:
                self._event_loop.soon(lambda: deliver(*found))

        def deliver(request: SearchRequest, found: Found) -> None:
            self._remember(request, found)
            on_found(request)

        if notebook.document.path is not None:
            threading.Thread(target=work, name="studies", daemon=True).start()

    def stop(self) -> None:
        """Stop the search; its results stay."""
        search, self._search = self._search, None
        if search is not None:
            search.stop()
            known = self._store.known(FOUND(search.request))
            if known is not None and known.status in ("waiting", "running"):
                self._remember(search.request, msgspec.structs.replace(known, status="stopped", checking=None))

    def close(self) -> None:
        """Stop all work and delete the temporary folder: the page is closed."""
        self.stop()
        self._derive(None)
        if self._folder is not None:
            self._folder.cleanup()

    def _temporary_file(self, request: SearchRequest) -> Path:
        """The temporary file for the outcomes of a notebook without a file; it exists as long as its page."""
        self._folder = self._folder or TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True)
        return Path(self._folder.name) / f"{request.serial}-{file_name(request)}"  # each notebook counts from 1

    def _restore(self, exploration: Exploration | None) -> None:
        """Put the visible results back into the store if the store has dropped them."""
        if exploration is None or self._latest is None or self._latest[0] is not exploration.request:
            self._latest = None
        elif found_now(exploration, self._store) is None:
            self._remember(*self._latest)

    def _remember(self, request: SearchRequest, found: Found) -> None:
        self._latest = request, found
        self._store.keep(FOUND(request), found)

    def _keep(self, request: SearchRequest, found: Found) -> None:
        self._remember(request, found)
        if (
            found.status in ("ended", "failed", "stopped")
            and self._search is not None
            and self._search.request is request
        ):
            self._search = None
            self._end(request)
        self._found()

    def _end(self, request: SearchRequest) -> None:
        """Offer the results of a search that followed a derivation."""
        found = self._store.known(FOUND(request))
        if request.derived is not None and found is not None:
            self._on_end(EndSearch(request, found))


def _own_cycles(request: SearchRequest) -> int | None:
    """The cycles of the schedule before the derivation; None if there was none, or if it does not fit or run."""
    own = request.own
    if own is None or own.error is not None or own.schedule is None:
        return None
    func = with_sizes(own.schedule.described, request.space.sizes).func
    report = report_of(func, request.machine)
    return None if isinstance(report, TilewrightError) or report.overflow_bytes else report.cycles


def _seconds_before(request: SearchRequest) -> float:
    """The seconds of the derivation that a search follows."""
    return 0.0 if request.derived is None else request.derived.seconds


__all__ = ["Search", "Searches"]
