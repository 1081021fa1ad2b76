"""Exported files of a page: written in the background from the state at the time of the request."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from support.sessions.notebooks import with_lines
from support.sessions.paper import PaperClock, PaperScreen

from tilewright.app.actions.opening import OpenText
from tilewright.app.export.exports import EXPORTS
from tilewright.app.session.session import Session
from tilewright.app.views.shell.gallery import load_examples


@pytest.fixture
def session() -> Session:
    created = Session(PaperClock(), load_examples())
    created.updater.screen = PaperScreen()
    created.receive({"kind": "open", "name": "vtcm_double_buffer"})
    return created


def files(session: Session) -> dict[str, str]:
    assert isinstance(session.updater.screen, PaperScreen)
    return session.updater.screen.files


def run_until(session: Session, done: Callable[[], bool]) -> None:
    """Run queued callbacks until `done`."""
    assert isinstance(session.event_loop, PaperClock)
    session.event_loop.run_until(done)


def ask(session: Session, **message: Any) -> None:
    session.receive({"kind": "export", **message})


# tests/app/export makes each kind.
@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=() if key in ("c", "timeline-png") else pytest.mark.slow) for key in EXPORTS]
)
def test_the_page_gets_a_file(session: Session, key: str) -> None:
    ask(session, to=key, reviewed=True)
    run_until(session, lambda: bool(files(session)))
    ((name, text),) = files(session).items()
    assert name.endswith(EXPORTS[key].suffix) and text and session.state.notice is None
    if key.endswith("-png"):
        assert base64.b64decode(text.removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")


@pytest.mark.slow
def test_an_export_ignores_edits_made_meanwhile(session: Session) -> None:
    before = session.state.notebook
    ask(session, to="timeline-svg")
    session.receive({"kind": "open", "name": "box_blur"})
    run_until(session, lambda: bool(files(session)))
    (text,) = files(session).values()
    assert before is not None and "Two blocks of VTCM" in ElementTree.fromstring(text).attrib["aria-label"]


def test_a_failed_export_shows_a_notice(session: Session) -> None:
    ask(session, to="fortran")
    assert session.state.notice is not None and files(session) == {}
    session.receive({"kind": "dismiss"})
    session.dispatch(OpenText(with_lines('CL = sch.cache_write(C, 0, "local.nowhere")')))
    ask(session, to="trace")
    run_until(session, lambda: session.state.notice is not None)
    assert files(session) == {}


def test_the_gallery_has_nothing_to_export(session: Session) -> None:
    session.receive({"kind": "gallery"})
    ask(session, to="c")
    assert files(session) == {} and session.state.notice is None
