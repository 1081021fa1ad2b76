"""The served page: a session, its components in the layout around them, and the server."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import panel as pn
from bokeh.document import Document as BokehDocument

from ..engine.ir import TilewrightError
from .actions import Say
from .afterwards import STAND_STILL_MS
from .api import Office
from .cabinet import Cabinet, cabinet_of
from .components.esm import STATIC, style
from .disk_reports import report_rescued
from .document import load_document
from .garbage import collect_while_idle
from .guard import Door, make_door
from .page import Page
from .seats import Seats
from .server_clock import ServerClock
from .serving import open_server, written_down
from .session import Session
from .shelf import Shelf, Thumbnails
from .turns import Turns

SWITCH_S = 0.001
"""A thread that works ahead lets the server's own loop in after so long, each time that this has waited for the network."""


class PageTemplate(pn.Template):
    """A template whose components enter the document together: else Bokeh goes over all models once for each."""

    def __repr__(self) -> str:
        return "PageTemplate"  # Panel asks for it with each component, and writes out all that they show

    def server_doc(
        self, doc: BokehDocument | None = None, title: str | None = None, location: Any = True
    ) -> BokehDocument:
        document = doc or pn.state.curdoc
        with document.models.freeze() if document is not None else nullcontext():
            return super().server_doc(doc, title, location)


def make_page(
    path: str | Path | None = None,
    thumbnails: Thumbnails | None = None,
    seats: Seats | None = None,
    cabinet: Cabinet | None = None,
) -> pn.Template:
    """A page of its own for one browser tab: the gallery, or the notebook at `path` (a folder: its notebooks in the gallery).

    `?example=NAME` in the address opens an example. `thumbnails` are those that the pages of a server share; the API finds
    the page among its `seats`, and files that several pages have open are one in its `cabinet`.
    """
    folder = Path(path) if path is not None and Path(path).is_dir() else None
    shelf = Shelf(folder, thumbnails)
    document = pn.state.curdoc
    clock = ServerClock(document)
    session = Session(
        clock,
        shelf.examples,
        cabinet=cabinet or cabinet_of(path),
        patience=clock.patience,
        moment=clock.moment,
        turns=None if seats is None else seats.turns,
        places=None if seats is None else seats.places,
    )
    page = Page(session, shelf)
    session.picture.screen, session.picture.tell_doing = page, page.tell_doing
    if document is not None:
        document.on_session_destroyed(lambda _: session.close())
        if seats is not None:
            _seat(seats, session, clock, page, document)
    _open_first(session, path if folder is None else None)
    _draw_missing(shelf, session, clock)
    page.renewed = lambda: _draw_missing(shelf, session, clock)
    template = PageTemplate((STATIC / "components" / "page.html").read_text(encoding="utf-8"), items=page.roots())
    template.add_variable("page_css", style("tilewright.css") + style("app.css"))
    return template


def _seat(seats: Seats, session: Session, clock: ServerClock, page: Page, document: BokehDocument) -> None:
    """Let the API find the page, from when the browser has it until it is closed."""

    def take() -> None:
        seat = seats.take(session, clock, page)
        document.on_session_destroyed(lambda _: seats.leave(seat))

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


def _open_first(session: Session, path: str | Path | None) -> None:
    if path is not None:
        try:
            session.open_file(str(path))
        except TilewrightError as error:
            session.dispatch(Say(error.refusal))
        return
    wanted = [value.decode("utf-8", "replace") for value in pn.state.session_args.get("example", [])]
    if wanted and any(example.name == wanted[0] for example in session.examples):
        session.receive({"kind": "open", "name": wanted[0]})


def serve(
    path: str | Path | None = None,
    port: int = 5006,
    address: str = "127.0.0.1",
    *,
    show: bool = False,
    door: Door | None = None,
    tell: Callable[[str], None] = lambda address: print(f"Tilewright is at {address}", flush=True),
) -> int:
    """Serve the page and the API until interrupted, and `tell` the address, which prints it. Port 0 takes a free one. `path` as in
    `make_page`; `door` says who gets in, else whoever can reach `address`, which must be this machine's own then.

    Returns the exit code: 1 where a text was in no file and no history at the end, which is said on standard error, else 0.

    Raises TilewrightError where `path` cannot be read, and for an address that needs a token.
    """
    door = door or make_door(address)
    if path is not None and not Path(path).is_dir():
        load_document(path)
    cabinet = cabinet_of(path)
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(_serve(path, port, show, door, tell, cabinet))
    finally:
        rescued = () if cabinet is None else cabinet.close()
    return report_rescued(rescued)


async def _serve(
    path: str | Path | None,
    port: int,
    show: bool,
    door: Door,
    tell: Callable[[str], None],
    cabinet: Cabinet | None,
) -> None:
    loop = asyncio.get_running_loop()
    thumbnails, seats = Thumbnails(), Seats(Turns(loop.call_soon_threadsafe))

    def page() -> pn.Template:
        return make_page(path, thumbnails, seats, cabinet)

    on_interrupt = signal.getsignal(signal.SIGINT)
    office = Office(seats, None if path is None else Path(path), cabinet)
    server = open_server(page, office, door, port, show=show, title="Tilewright")
    signal.signal(signal.SIGINT, on_interrupt)  # Panel's own would stop the loop under `asyncio.run`
    server.start()
    sys.setswitchinterval(SWITCH_S)
    url = f"http://{door.address}:{server.port}/"
    tell(f"{url}{door.invitation}")
    ended = asyncio.Event()
    with suppress(NotImplementedError):  # where there are no such signals
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, ended.set)
    tidying = asyncio.ensure_future(collect_while_idle())
    try:
        with written_down(door, url):
            await ended.wait()
    finally:
        tidying.cancel()
