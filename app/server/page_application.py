"""The served page: a session and its components in the page's layout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import panel as pn
from jinja2 import Template

from ..components.esm import STATIC, style
from ..components.page_root import MODULE, PageRoot
from ..jobs.background_analysis import DEBOUNCE_MS
from ..page.notebook_catalog import NotebookCatalog, Thumbnails
from ..page.page import Page
from ..session.registry import SessionRegistry
from ..session.session import Session
from ..state.addresses import Address
from ..storage.registry import OpenFileRegistry, open_file_registry
from .page_loop import ServerClock


@cache
def page_template() -> Template:
    """The HTML of the page, around which Panel puts its scripts."""
    return Template((STATIC / "components" / "shell" / "page.html").read_text(encoding="utf-8"))


def make_page(
    path: str | Path | None = None,
    thumbnails: Thumbnails | None = None,
    sessions: SessionRegistry | None = None,
    open_files: OpenFileRegistry | None = None,
    *,
    base: str = "/",
) -> PageRoot:
    """Create the page of one browser tab: the notebook that its address names, else the gallery. `path` is the served file or folder.

    All pages of a server share `thumbnails`, `sessions` (where the API finds the page) and `open_files` (one entry per file, for any number
    of pages). `base` is the base path of the page's relative addresses.
    """
    open_files = open_files or open_file_registry(path)
    catalog = NotebookCatalog(None if path is None else Path(path), thumbnails, open_files.drafts)
    document = pn.state.curdoc
    event_loop = ServerClock(document)
    session = Session(
        event_loop,
        catalog.examples,
        open_files=open_files,
        patience=event_loop.patience,
        moment=event_loop.moment,
        scheduler=None if sessions is None else sessions.scheduler,
        places=None if sessions is None else sessions.places,
    )
    page = Page(session, catalog, event_loop.when_there, pn.io.hold)
    session.updater.screen, session.updater.tell_doing = page, page.tell_doing
    if document is not None:
        document.on_session_destroyed(lambda _: session.close() if sessions is None else sessions.close(session))
        if sessions is not None:
            _handle(sessions, session, event_loop, page)
    session.arrive(_asked_address())
    _draw_missing(catalog, session, event_loop)
    page.renewed = lambda: _draw_missing(catalog, session, event_loop)
    if document is not None:
        document.template = page_template()
        document.template_variables.update(
            page_css=style("tilewright.css") + style("app.css"), page_base=base, page_module=MODULE
        )
    return PageRoot(page.roots())


def _handle(sessions: SessionRegistry, session: Session, event_loop: ServerClock, page: Page) -> None:
    """Register the page for the API once the browser has it."""

    def take() -> None:
        sessions.take(session, event_loop, page)

    pn.state.onload(take)


def _draw_missing(catalog: NotebookCatalog, session: Session, event_loop: ServerClock) -> None:
    """Draw missing thumbnails after the page is shown and while the gallery is visible."""

    def draw() -> None:
        if session.updater.screen is not None and session.state.notebook is None:
            session.updater.screen.draw(session.state, session.store)

    if catalog.missing:
        event_loop.after(
            DEBOUNCE_MS, lambda: catalog.fill(lambda: session.state.notebook is None, lambda: event_loop.soon(draw))
        )


def _asked_address() -> Address:
    """The notebook that the page's address names; the gate has written it into the request."""
    place, name = (pn.state.session_args.get(key, [b""])[0].decode("utf-8", "replace") for key in ("place", "name"))
    return Address(place, name)


__all__ = ["make_page"]
