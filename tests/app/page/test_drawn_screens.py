"""A page draws the screen that is visible: the start screen costs an open notebook nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sessions.hostile import EXAMPLES, NoClock
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.page import page as pages
from tilewright.app.page.notebook_catalog import NotebookCatalog
from tilewright.app.page.page import Page
from tilewright.app.session.queries import DraftsChanged
from tilewright.app.session.session import Session


def test_an_open_notebook_draws_the_start_screen_only_on_return(monkeypatch: pytest.MonkeyPatch):
    session = Session(NoClock(), EXAMPLES)
    page = Page(session, NotebookCatalog())
    session.updater.screen = page
    session.receive({"kind": "open", "name": "place_the_copies"})
    original = pages.gallery_value
    drawn: list[str] = []

    def watched(*args: object) -> object:
        drawn.append("gallery")
        return original(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(pages, "gallery_value", watched)
    session.receive({"kind": "theme", "theme": "dark"})
    assert session.state.theme == "dark" and not drawn
    session.receive({"kind": "gallery"})
    assert session.state.notebook is None and drawn
    assert '"theme":"dark"' in page.gallery.payload


def test_a_changed_draft_gets_a_new_picture(tmp_path: Path) -> None:
    catalog = NotebookCatalog(drafts=tmp_path)
    page = Page(Session(NoClock(), EXAMPLES), catalog)
    renewed: list[int] = []
    page.renewed = lambda: renewed.append(len(catalog.missing))
    (tmp_path / "0123456789ab.py").write_text(MATMUL_NOTEBOOK)
    page._answered_gallery(DraftsChanged())
    assert renewed == [1]
