"""The event loop of a served page."""

from __future__ import annotations

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
    clock = ServerClock(document)
    clock.when_there(lambda: done.append("early"))
    assert done == [] and not document.session_callbacks
    (arrived,) = loads
    arrived()
    (waiting,) = document.session_callbacks
    waiting.callback()
    clock.when_there(lambda: done.append("late"))
    assert done == ["early", "late"]


def test_work_for_a_closed_page_is_dropped() -> None:
    document = Document()
    with set_curdoc(document):
        clock = ServerClock(document)
    clock.soon(lambda: None)
    assert document.session_callbacks
    document.callbacks.destroy()  # as Bokeh does at the end of the session, while a job may still deliver
    clock.soon(lambda: None)
    clock.after(100, lambda: None)
