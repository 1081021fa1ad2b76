"""The event loop of a served page."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from tilewright.app.server import page_loop
from tilewright.app.server.page_loop import ServerClock


def test_messages_wait_for_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Callable[[], None]] = []
    monkeypatch.setattr(page_loop, "pn", SimpleNamespace(state=SimpleNamespace(onload=loads.append)))
    document, done = Document(), list[str]()

    async def use() -> None:
        clock = ServerClock(document)
        clock.when_there(lambda: done.append("early"))
        await asyncio.sleep(0)
        assert done == [] and not document.session_callbacks
        (arrived,) = loads
        arrived()
        (waiting,) = document.session_callbacks
        waiting.callback()
        clock.when_there(lambda: done.append("late"))

    asyncio.run(use())
    assert done == ["early", "late"]


def test_work_for_a_closed_page_is_dropped() -> None:
    document, errors = Document(), list[object]()

    async def use() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        with set_curdoc(document):
            clock = ServerClock(document)
        clock.soon(lambda: None)
        await asyncio.sleep(0)
        assert document.session_callbacks
        document.callbacks.destroy()  # as Bokeh does at the end of the session, while a job may still deliver
        clock.soon(lambda: None)
        clock.after(100, lambda: None)
        await asyncio.sleep(0)

    asyncio.run(use())
    assert not errors


def test_a_job_never_adds_a_callback_from_its_own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bokeh loses a callback that another thread adds at the end of a drawing."""
    document, adding = Document(), list[int]()
    monkeypatch.setattr(document, "add_next_tick_callback", lambda work: adding.append(threading.get_ident()))

    async def use() -> int:
        with set_curdoc(document):
            clock = ServerClock(document)
        document.hold("combine")
        job = threading.Thread(target=lambda: clock.soon(lambda: None))
        job.start()
        job.join()
        assert not adding
        await asyncio.sleep(0)
        return threading.get_ident()

    assert adding == [asyncio.run(use())]
