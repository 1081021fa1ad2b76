"""Sessions that end: closed pages leave no objects behind, idle sessions of the API are closed, their files are written."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bokeh.document import Document as BokehDocument
from bokeh.io.state import curstate
from support.sessions.pageless import DRAGS, Pageless, Server
from support.sessions.paper import PaperClock
from support.sessions.served import Served, served

from tilewright.app.limits import LIMITS
from tilewright.app.session.registry import SessionRegistry
from tilewright.app.session.session import Session
from tilewright.app.storage.open_file import OpenFile
from tilewright.app.views.shell.gallery import load_examples

PAGES = 2

PLACE = next(e.text for e in load_examples() if e.name == "place_the_copies")


def until(holds: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def open_sessions(server: Served) -> list[Any]:
    return [session for path in server.application.app_paths for session in server.application.get_sessions(path)]


def open_files() -> list[OpenFile]:
    return [each for each in gc.get_objects() if isinstance(each, OpenFile)]


async def visited(server: Served) -> list[weakref.ref[Any]]:
    """Weak references to the objects of closed pages, and of one that no browser loaded."""
    of_other_tests = weakref.WeakSet(open_files())
    client = Server(server.url, server.policy.token)
    pages = [Pageless(client, DRAGS[n % len(DRAGS)], n) for n in range(PAGES)]
    for page in pages:
        await page.open()
        await page.act(1)
    await pages[0].fetch()
    sessions = [handle.session for handle in server.sessions.all.values()]
    assert len(sessions) == PAGES and len(open_sessions(server)) == PAGES + 1
    documents: list[BokehDocument] = [session.document for session in open_sessions(server)]
    found = [weakref.ref(each) for s in sessions for each in (s, s.updater, s.store, s.drop_preview)]
    found += [
        weakref.ref(each) for each in open_files() if each not in of_other_tests
    ]  # the drafts of edited notebooks
    for page in pages:
        page.close()
    return [*found, *map(weakref.ref, documents)]


@pytest.mark.slow
def test_closed_pages_leave_no_objects() -> None:
    quick = {"check_unused_sessions_milliseconds": 100, "unused_session_lifetime_milliseconds": 2_000}
    gc.collect()
    gc.freeze()  # the collections below look at the objects of this test alone
    with served(**quick) as server:
        found = asyncio.run(visited(server))
        assert len(found) >= 4 * PAGES + PAGES + PAGES + 1
        assert until(lambda: not open_sessions(server)), (
            "Bokeh discards unused sessions, also of a page without a browser"
        )
        assert until(lambda: server.sessions.closed == PAGES + 1) and not server.sessions.all

        def are_gone() -> bool:
            gc.collect()
            kept = curstate().document  # Bokeh's default document is the last created one, emptied
            return all(ref() is None or ref() is kept for ref in found)

        assert until(are_gone), {type(ref()).__name__ for ref in found if ref() is not None}


def test_an_idle_session_is_closed_and_its_edit_saved(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(PLACE)
    with served(tmp_path) as server:
        idle, used = server.opened("mine.py"), server.opened()
        sent = {"kind": "call", "method": "compute_at", "target": "B_local.vtcm", "arguments": {"loop": "ko"}}
        assert server.ask("POST", idle, sent).status == 200
        key = idle.rpartition("/")[2]
        server.sessions.find(key).used -= LIMITS.idle_seconds + 1
        assert until(lambda: key not in server.sessions.all)
        assert server.ask("GET", idle).status == 404
        assert server.ask("GET", used).status in (200, 202)
        assert until(lambda: "sch.compute_at(BL, ko)" in path.read_text())


class TestIdle:
    """The sessions that count as idle."""

    def sessions(self, *, has_page: bool = False) -> SessionRegistry:
        sessions, event_loop = SessionRegistry(), PaperClock()
        page = cast("Any", SimpleNamespace()) if has_page else None
        sessions.take(Session(event_loop), event_loop, page).used -= LIMITS.idle_seconds + 1
        return sessions

    def test_an_idle_api_session_is_closed(self) -> None:
        sessions = self.sessions()
        sessions.close_idle()
        assert not sessions.all and sessions.closed == 1

    def test_a_session_with_a_page_stays_open(self) -> None:
        sessions = self.sessions(has_page=True)
        sessions.close_idle()
        assert len(sessions.all) == 1

    def test_a_session_closes_only_long_after_its_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sessions = self.sessions()
        (handle,) = sessions.all.values()
        searches = type(handle.session.updater.searches)
        monkeypatch.setattr(searches, "running", True)
        sessions.close_idle()
        monkeypatch.setattr(searches, "running", False)
        sessions.close_idle()
        assert len(sessions.all) == 1
        handle.used -= LIMITS.idle_seconds + 1
        sessions.close_idle()
        assert not sessions.all

    def test_a_session_that_fails_to_close_does_not_block_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sessions, event_loop = self.sessions(), PaperClock()
        (broken,) = sessions.all.values()
        monkeypatch.setattr(broken.session, "close", lambda: 1 // 0)
        sessions.take(Session(event_loop), event_loop).used -= LIMITS.idle_seconds + 1
        sessions.close_idle()
        assert not sessions.all and sessions.closed == 2
