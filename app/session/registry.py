"""The open sessions of a server: pages in browsers, and sessions without a page that programs open by the API.

Each session counts the updates of its screen, so that clients can wait for the next one; a page is drawn as usual.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from typing import TypeVar

from ...engine.ir import Refusal, TilewrightError
from ..jobs.background_job import JobStatus
from ..jobs.event_loop import EventLoop
from ..jobs.fair_scheduler import FairScheduler
from ..jobs.search_slots import FOLDER_DATABASES, SearchSlots
from ..limits import LIMITS
from ..state.derived import Store
from ..state.model import State
from ..storage.databases import DatabaseChoice
from ..views.labels.values import Answer
from .screen import Screen
from .session import Session

Result = TypeVar("Result")

CHECK_IDLE_S = 60.0
"""The interval between two checks for idle sessions."""

log = logging.getLogger("tilewright.server")


class SessionError(TilewrightError):
    """A session that cannot be opened or found: "too-many-sessions", "no-such-session", "has-a-page", "no-answer"."""


class WatchedScreen:
    """A session's screen whose updates can be awaited. `page` is the screen of its page, None without one; `page_doing` receives the
    running jobs there. `version` counts draws, `told` all updates."""

    def __init__(self, page: Screen | None, page_doing: Callable[[tuple[JobStatus, ...]], None] | None = None) -> None:
        self._page = page
        self._page_doing = page_doing
        self._waiting: set[asyncio.Future[None]] = set()
        self.version = self.told = 0

    def draw(self, state: State, store: Store) -> None:
        """Draw a new state."""
        if self._page is not None:
            self._page.draw(state, store)
        self._drawn()

    def draw_results(self, state: State, store: Store) -> None:
        """Draw the results that arrived after the paint."""
        if self._page is not None:
            self._page.draw_results(state, store)
        self._drawn()

    def download(self, name: str, text: str) -> None:
        """Send a file to the page; an API client reads the text from the session's state."""
        if self._page is not None:
            self._page.download(name, text)

    def show_prediction(self, prediction: Answer) -> None:
        """Send the prediction of a drop."""
        if self._page is not None:
            self._page.show_prediction(prediction)
        self._news()

    def tell_doing(self, doing: tuple[JobStatus, ...]) -> None:
        """Send the running jobs. A change may have ended without a new draw."""
        if self._page_doing is not None:
            self._page_doing(doing)
        self._news()

    def _drawn(self) -> None:
        self.version += 1
        self._news()

    def _news(self) -> None:
        self.told += 1
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def news(self, since: int, seconds: float) -> bool:
        """Wait on the server's event loop until the update count differs from `since`; False after `seconds` without an update."""
        if self.told != since:
            return True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await asyncio.wait_for(future, seconds)
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(future)
        return True


class SessionHandle:
    """A session and access to its event loop."""

    def __init__(
        self, key: str, session: Session, event_loop: EventLoop, screen: WatchedScreen, *, has_page: bool
    ) -> None:
        self.key = key
        self.session = session
        self.screen = screen
        self.has_page = has_page
        self.used = time.monotonic()
        self._event_loop = event_loop

    async def do(self, work: Callable[[], Result]) -> Result:
        """The result of `work()` on the session's event loop; for a page this runs under Bokeh's document lock. Raises SessionError
        "no-answer"."""
        return await self.done(lambda tell: tell(work()))

    async def done(self, begin: Callable[[Callable[[Result], None]], None]) -> Result:
        """The result that `begin`, called on the session's event loop, passes to its callback. Raises SessionError "no-answer"."""
        self.used = time.monotonic()
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

        def tell(result: Result) -> None:
            if not future.done():
                future.set_result(result)

        def run() -> None:
            if future.done():
                return
            try:
                begin(tell)
            except Exception as error:
                future.set_exception(error)

        self._event_loop.soon(run)
        try:
            return await asyncio.wait_for(future, LIMITS.wait_seconds)
        except TimeoutError:
            raise SessionError(Refusal("no-answer", "the session is busy")) from None


class LoopClock:
    """The event loop of a session without a page."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Run `work` on the loop after `delay_ms`."""
        self._loop.call_later(delay_ms / 1000, work)

    def soon(self, work: Callable[[], None]) -> None:
        """Run `work` on the loop; may be called from another thread, which may outlive the loop."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(work)


class SessionRegistry:
    """All sessions of a server by key, the oldest first. They share the `scheduler`, and the `places` for searches with
    the databases that these use. `closed` counts the closed sessions, including pages that closed before a browser had loaded them."""

    def __init__(self, scheduler: FairScheduler | None = None, databases: DatabaseChoice = FOLDER_DATABASES) -> None:
        self.all: dict[str, SessionHandle] = {}
        self.closed = 0
        self.scheduler = scheduler or FairScheduler()
        self.places = SearchSlots(databases=databases)

    def take(self, session: Session, event_loop: EventLoop, page: Screen | None = None) -> SessionHandle:
        """Register a session and watch its screen. An API session first closes the idle ones. Raises SessionError "too-many-sessions"."""
        if page is None:
            self.close_idle()
            self._require_room()
        screen = WatchedScreen(page, session.updater.tell_doing)
        session.updater.screen, session.updater.tell_doing = screen, screen.tell_doing
        handle = SessionHandle(secrets.token_hex(6), session, event_loop, screen, has_page=page is not None)
        self.all[handle.key] = handle
        return handle

    def _require_room(self) -> None:
        count, most = sum(not handle.has_page for handle in self.all.values()), LIMITS.api_sessions
        if count >= most:
            said = f"the API has {count} open sessions"
            raise SessionError(Refusal("too-many-sessions", said, expected=f"at most {most}; close one"))

    async def close_idle_often(self, pause_s: float = CHECK_IDLE_S) -> None:
        """Close idle sessions repeatedly, while this is awaited."""
        while True:
            await asyncio.sleep(pause_s)
            self.close_idle()

    def close_idle(self) -> None:
        """Close the sessions without a page that received no request for `LIMITS.idle_seconds`. Their files are saved. A session that
        searches is not idle."""
        now = time.monotonic()
        for handle in [handle for handle in self.all.values() if not handle.has_page]:
            if handle.session.updater.searches.running or handle.session.updater.model_searches.running:
                handle.used = now
            elif now - handle.used > LIMITS.idle_seconds:
                self.leave(handle)

    def find(self, key: str) -> SessionHandle:
        """The session with this key. Raises SessionError "no-such-session"."""
        if key not in self.all:
            raise SessionError(Refusal("no-such-session", "there is no such session", found=key[:80]))
        return self.all[key]

    def leave(self, handle: SessionHandle) -> None:
        """Close a session by its handle."""
        self.close(handle.session)

    def close(self, session: Session) -> None:
        """Close a session that may have no handle: its page was fetched, but no browser loaded it."""
        self.closed += 1
        for key in [key for key, handle in self.all.items() if handle.session is session]:
            del self.all[key]
        try:
            session.close()
        except Exception:
            log.exception("a session did not close")


__all__ = ["LoopClock", "SessionError", "SessionHandle", "SessionRegistry", "WatchedScreen"]
