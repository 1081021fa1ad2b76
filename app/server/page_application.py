"""The served page: a session, and its components in the layout around them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import panel as pn
from bokeh.document import Document as BokehDocument

from ..components.esm import STATIC, style
from ..jobs.background_analysis import STAND_STILL_MS
from ..page.notebook_catalog import Shelf, Thumbnails
from ..page.page import Page
from ..session.registry import Seats
from ..session.session import Session
from ..state.addresses import Address
from ..storage.registry import Cabinet, cabinet_of
from .page_loop import ServerClock


class PageTemplate(pn.Template):
    """A template whose components enter the document together: else Bokeh goes over all models once for each."""

    def __repr__(self) -> str:
        return "PageTemplate"  # Panel asks for it with each component, and writes out all that they show

    def server_doc(
        self, doc: BokehDocument | None = None, title: str | None = None, location: Any = True
    ) -> BokehDocument:
        document = doc or pn.state.curdoc
        with document.models.freeze() if document is not None else nullcontext():
            made = super().server_doc(doc, title, location)
        # Panel removes the id of a template's root with the session only if it finds it here, and does not write it here by itself.
        self._refs[made] = pn.state._fake_roots[-1]  # pyright: ignore[reportPrivateUsage]
        return made


def make_page(
    path: str | Path | None = None,
    thumbnails: Thumbnails | None = None,
    seats: Seats | None = None,
    cabinet: Cabinet | None = None,
    *,
    base: str = "/",
) -> pn.Template:
    """A page of its own for one browser tab: what its address names, else the gallery. `path` is the served file or folder.

    `thumbnails` are those that the pages of a server share; the API finds the page among its `seats`, and files that several pages have
    open are one in its `cabinet`. `base` is the path that the page's relative addresses refer to.
    """
    cabinet = cabinet or cabinet_of(path)
    shelf = Shelf(None if path is None else Path(path), thumbnails, cabinet.drafts)
    document = pn.state.curdoc
    clock = ServerClock(document)
    session = Session(
        clock,
        shelf.examples,
        cabinet=cabinet,
        patience=clock.patience,
        moment=clock.moment,
        turns=None if seats is None else seats.turns,
        places=None if seats is None else seats.places,
    )
    page = Page(session, shelf)
    session.picture.screen, session.picture.tell_doing = page, page.tell_doing
    if document is not None:
        document.on_session_destroyed(lambda _: session.close() if seats is None else seats.close(session))
        if seats is not None:
            _seat(seats, session, clock, page)
    session.arrive(_asked_address())
    _draw_missing(shelf, session, clock)
    page.renewed = lambda: _draw_missing(shelf, session, clock)
    template = PageTemplate((STATIC / "components" / "page.html").read_text(encoding="utf-8"), items=page.roots())
    template.add_variable("page_css", style("tilewright.css") + style("app.css"))
    template.add_variable("page_base", base)
    return template


def _seat(seats: Seats, session: Session, clock: ServerClock, page: Page) -> None:
    """Let the API find the page as soon as the browser has it."""

    def take() -> None:
        seats.take(session, clock, page)

    pn.state.onload(take)


def _draw_missing(shelf: Shelf, session: Session, clock: ServerClock) -> None:
    """Thumbnails that are not known yet, once the page is there and as long as the gallery is looked at."""

    def draw() -> None:
        if session.picture.screen is not None and session.state.notebook is None:
            session.picture.screen.draw(session.state, session.store)

    if shelf.missing:
        clock.after(
            STAND_STILL_MS, lambda: shelf.fill(lambda: session.state.notebook is None, lambda: clock.soon(draw))
        )


def _asked_address() -> Address:
    """What the address of the page names; the gate has written it into the request."""
    place, name = (pn.state.session_args.get(key, [b""])[0].decode("utf-8", "replace") for key in ("place", "name"))
    return Address(place, name)


__all__ = ["make_page"]
