"""The run of the server of `tilewright serve`, from start to shutdown."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from ...engine.network import is_model_file
from ..components.page_root import PageRoot
from ..document import load_document
from ..document.networks import is_model, model_file
from ..folders.user import runtime_folder
from ..jobs.fair_scheduler import FairScheduler
from ..jobs.search_slots import FOLDER_DATABASES
from ..page.notebook_catalog import Thumbnails
from ..session.registry import SessionRegistry
from ..state.addresses import Address, model_address
from ..storage.databases import DatabaseChoice
from ..storage.disk_reports import report_rescued
from ..storage.registry import OpenFileRegistry, open_file_registry
from .access import AccessPolicy, make_policy
from .api import ApiContext
from .garbage import collect_while_idle
from .http import open_server
from .log import log, log_loop_errors
from .login import opening_page
from .memory_allocator import use_one_heap
from .page_application import make_page
from .runtime_file import runtime_file

SWITCH_S = 0.001
"""The interpreter's switch interval in seconds: a background thread yields the GIL to the server's event loop after this time."""


STOP_SECONDS = 2.0
"""The time that the server has to end after a signal."""


class Serving(msgspec.Struct, frozen=True):
    """The settings of a server: `path` is a file or folder, None for the examples only; port 0 means any free port; `certfile` and
    `keyfile` are PEM files for HTTPS; `opens_browser` shows the page in the user's browser; `databases` are those of found
    schedules."""

    path: Path | None = None
    port: int = 5006
    policy: AccessPolicy = msgspec.field(default_factory=make_policy)
    certfile: Path | None = None
    keyfile: Path | None = None
    opens_browser: bool = False
    databases: DatabaseChoice = FOLDER_DATABASES


def serve(serving: Serving, announce: Callable[[str], None]) -> int:
    """Serve page and API until SIGTERM; `announce` gets the address of the first visit, with the token.

    Returns the exit code: 1 if neither file nor history had a text at the end, which is reported on standard error, else 0.

    Raises KeyboardInterrupt at SIGINT after all files are written, TilewrightError if `path` cannot be read, OSError if the port or a
    certificate cannot be used.
    """
    if serving.path is not None and not serving.path.is_dir() and not is_model_file(serving.path.name):
        load_document(serving.path)
    open_files = open_file_registry(serving.path)
    use_one_heap()
    try:
        asyncio.run(_serve(serving, open_files, announce))
    finally:
        code = report_rescued(open_files.close())
    return code


async def _serve(serving: Serving, open_files: OpenFileRegistry, announce: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    log_loop_errors(loop)
    path, policy = serving.path, serving.policy
    thumbnails, sessions = Thumbnails(), SessionRegistry(FairScheduler(loop.call_soon_threadsafe), serving.databases)

    def page() -> PageRoot:
        return make_page(path, thumbnails, sessions, open_files, base=f"{policy.prefix}/")

    on_interrupt = signal.getsignal(signal.SIGINT)
    server = open_server(page, ApiContext(sessions, path, open_files), policy, serving.port, **_tls(serving))
    signal.signal(signal.SIGINT, on_interrupt)  # Panel's handler would stop the loop under `asyncio.run`
    server.start()
    sys.setswitchinterval(SWITCH_S)
    scheme = "https" if serving.certfile is not None else "http"
    host = f"[{policy.address}]" if ":" in policy.address else policy.address
    url = f"{scheme}://{host}:{server.port}{policy.prefix}"
    first = first_address(path)
    announce(f"{url}{first.path}{policy.invitation}")
    log.info("serving %s at %s", path or "the examples", url)
    ended = asyncio.Event()
    _end_at_signals(lambda: loop.call_soon_threadsafe(ended.set))
    upkeep = [
        asyncio.ensure_future(collect_while_idle(lambda: sessions.closed)),
        asyncio.ensure_future(sessions.close_idle_often()),
    ]
    opening = _open_browser(url, policy, first) if serving.opens_browser else None
    try:
        with runtime_file(policy, f"{url}/"):
            await ended.wait()
    finally:
        for task in upkeep:
            task.cancel()
        log.info("the server stops")
        if opening is not None:
            opening.unlink(missing_ok=True)


def _end_at_signals(end: Callable[[], object]) -> None:
    """Call `end` at SIGTERM and SIGHUP. A process that still runs after `STOP_SECONDS` exits at once: whatever it computes, the history has
    every edit that was acknowledged. (A handler of the event loop would run only when the loop is idle.)"""

    def stop(number: int, _: FrameType | None) -> None:
        timer = threading.Timer(STOP_SECONDS, os._exit, (128 + number,))
        timer.daemon = True
        timer.start()
        end()

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # not on Windows
            signal.signal(getattr(signal, name), stop)


def first_address(path: Path | None) -> Address:
    """The address of the first visit: that of the served file or model, else the start page."""
    if path is not None and is_model(path):
        return model_address(model_file(path).resolve().parent.name)
    return Address("file", path.name) if path is not None and path.is_file() else Address()


def _tls(serving: Serving) -> dict[str, Any]:
    if serving.certfile is None:
        return {}
    return {"ssl_certfile": str(serving.certfile), "ssl_keyfile": serving.keyfile and str(serving.keyfile)}


def _open_browser(url: str, policy: AccessPolicy, first: Address) -> Path | None:
    """Open the page in the user's browser. A private file redirects there with the token, since every user of the machine can see the
    arguments of a command. Returns that file, if one was written."""
    if not policy.requires_token:
        webbrowser.open(url + first.path)
        return None
    query = f"{policy.invitation}&next={first.path}"
    path = runtime_folder() / f"open-{os.getpid()}.html"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(opening_page(f"{url}/{query}"))
    webbrowser.open(path.as_uri())
    return path


__all__ = ["Serving", "serve"]
