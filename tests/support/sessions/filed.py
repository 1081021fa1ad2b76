"""Pages on a file without a server: sessions with shared open files, whose callbacks run on request."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from support.sessions.paper import PaperClock, PaperScreen

from tilewright.app.session.session import Session
from tilewright.app.state.model import FileStatus, State
from tilewright.app.storage.registry import OpenFileRegistry
from tilewright.app.storage.save_debounce import Times

QUICK = Times(quiet=0.01, longest=0.05, look=0.05, again=0.05)
"""Short waits for tests."""


class Desk:
    """Pages of one server, and the files that they share."""

    def __init__(self, folder: Path | None = None, times: Times = QUICK) -> None:
        self.open_files = OpenFileRegistry(folder, times)
        self.pages: list[Session] = []

    def page(self, path: Path | None = None) -> Session:
        session = Session(PaperClock(), (), open_files=self.open_files)
        session.updater.screen = PaperScreen()
        self.pages.append(session)
        if path is not None:
            session.open_file(str(path))
        return session

    def turn(self) -> None:
        """Run the queued callbacks of the pages' loops."""
        for page in self.pages:
            event_loop = page.event_loop
            assert isinstance(event_loop, PaperClock)
            waiting = [event_loop.work.get_nowait() for _ in range(event_loop.work.qsize())]
            for work in waiting:
                if getattr(work, "__name__", "") == "filed":  # not verification and the like
                    work()

    def until(self, done: Callable[[], bool]) -> None:
        """Turn until `done`."""
        cancel = time.monotonic() + 20
        while not done():
            assert time.monotonic() < cancel, [page.state.file for page in self.pages]
            self.turn()
            time.sleep(0.001)

    def settle(self) -> None:
        """Turn until the files of all pages are saved."""
        self.until(lambda: all(filed(page).save.status == "saved" for page in self.pages if page.state.file))

    def close(self) -> None:
        for page in self.pages:
            page.close()
        self.open_files.close()


def filed(page: Session) -> FileStatus:
    assert page.state.file is not None
    return page.state.file


def text_of(page: Session) -> str:
    assert page.state.notebook is not None
    return page.state.notebook.document.text


def send(page: Session, kind: str, **fields: object) -> State:
    page.receive({"kind": kind, **fields})
    return page.state
