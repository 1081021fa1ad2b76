"""The search of all kernels of a page's model in a thread: workers write schedules into the kernels' files, and the page follows."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from ...engine.ir import TilewrightError
from ...engine.network import NetworkProgress
from ..document.networks import explore_model
from ..limits import LIMITS
from ..state.derived import Store
from ..state.model import State
from ..state.open_model import ModelSearch
from ..state.search_results import MODEL_FOUND, ModelFound
from .event_loop import EventLoop
from .search_slots import SearchSlots, SearchThread


class ModelSearchJob:
    """One search, until its time is over or it is stopped. `on_found` receives its progress on the event loop."""

    def __init__(
        self, search: ModelSearch, event_loop: EventLoop, slots: SearchSlots, on_found: Callable[[ModelFound], None]
    ) -> None:
        self.search = search
        self._slots, self._on_found = slots, on_found
        self._thread = SearchThread("the search", slots, event_loop, self._explore, self._fail)
        self._latest = ModelFound("waiting", seconds_left=search.seconds)
        self._until = 0.0

    def start(self) -> ModelSearchJob:
        self._tell(self._latest)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop the search: its schedules stay, and it tells nothing more."""
        self._thread.stop()

    @property
    def stopped(self) -> ModelFound:
        """The progress when it is stopped."""
        left = max(0.0, self._until - time.monotonic()) if self._until else self.search.seconds
        return replace(self._latest, status="stopped", seconds_left=left)

    # In the thread.

    def _explore(self) -> None:
        search = self.search
        self._until = time.monotonic() + search.seconds
        self._tell(replace(self._latest, status="running"))
        study = explore_model(
            search.path,
            search.machine,
            search.sizes,
            seconds=search.seconds,
            workers=LIMITS.search_workers,
            again=search.again,
            database=self._slots.database_for(search.path),
            watch=self._watch,
            stop=lambda: self._thread.is_stopped,
        )
        reasons = tuple(f"{k.name}: {k.study.message}" for k in study.refused if k.study is not None)
        self._tell(
            replace(
                self._latest,
                status="ended",
                done=len(study.kernels),
                total=len(study.kernels),
                cycles=study.cycles,
                seconds_left=0.0,
                is_complete=study.ended,
                reasons=reasons,
            )
        )

    def _watch(self, progress: NetworkProgress) -> None:
        self._tell(
            replace(
                self._latest,
                status="running",
                done=progress.done,
                total=progress.total,
                cycles=progress.cycles,
                seconds_left=progress.seconds_left,
            )
        )

    def _fail(self, error: TilewrightError) -> None:
        self._tell(replace(self._latest, status="failed", error=error))

    def _tell(self, found: ModelFound) -> None:
        self._latest = found
        self._thread.deliver(lambda: self._on_found(found))


class ModelSearches:
    """The search of the model of one page. `on_found` is called on the event loop when there is news."""

    def __init__(
        self, store: Store, event_loop: EventLoop, on_found: Callable[[], None], slots: SearchSlots | None
    ) -> None:
        self._store, self._event_loop, self._on_found = store, event_loop, on_found
        self._slots = slots or SearchSlots()
        self._job: ModelSearchJob | None = None

    @property
    def running(self) -> bool:
        """Whether a search runs or waits for a place."""
        return self._job is not None

    def update(self, state: State) -> None:
        """Run the search that the state's model has, and stop any other."""
        search = state.model.search if state.model is not None else None
        wanted = search if search is not None and search.going else None
        if self._job is not None and self._job.search is not wanted:
            job, self._job = self._job, None
            job.stop()
            if search is not None:
                self._store.keep(MODEL_FOUND(search.path), job.stopped)
        if wanted is None or self._job is not None:
            return
        known = self._store.known(MODEL_FOUND(wanted.path))
        if known is not None and known.search is wanted:
            return
        self._job = ModelSearchJob(wanted, self._event_loop, self._slots, self._keep).start()

    def _keep(self, found: ModelFound) -> None:
        job = self._job
        if job is None:
            return
        if found.status in ("ended", "failed"):
            self._job, found = None, replace(found, search=job.search)
        self._store.keep(MODEL_FOUND(job.search.path), found)
        self._on_found()

    def close(self) -> None:
        """Stop the search: the page is closed."""
        if self._job is not None:
            self._job.stop()
            self._job = None


__all__ = ["ModelSearches"]
