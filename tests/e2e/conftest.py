"""Shared fixtures of the browser tests: a Chromium, pages that fail on console errors and on requests to the outside, servers, screenshots.

- `page`: a 1280x800 page in light mode. `open_page(width=…, height=…, dark=…, **context)`: more pages, other sizes and themes.
  `own_page`: a page that no other test reuses, for a test with handlers.
- `app_url`: Tilewright as a user starts it, one server for all tests that use only the page; each page has its own session.
- `serve_page(path, cabinet=…)`: Tilewright in a thread of this process, without a token; its address.
- `serve(app)`: a Panel app (a function that returns a viewable, or a dict of path -> function) on a free port of 127.0.0.1; its address.
- `serve_command(*argv)`: `python argv… ` as a separate process; `{port}` in an argument becomes a free port. Returns the address.
- `shoot(page, name)`: a screenshot into `artefacts/e2e/NAME.png` where TILEWRIGHT_SCREENSHOTS is set; a failing test leaves one of each of
  its pages.

Chromium: `TILEWRIGHT_CHROMIUM`, else one on the PATH, else Playwright's own.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Request, expect, sync_playwright
from propcache.api import cached_property
from support.browser.page import back_in_gallery
from support.sessions.served import Served, served

from tilewright.app.cli.commands.serve import free_port
from tilewright.app.server.access import make_policy
from tilewright.app.storage.registry import OpenFileRegistry

HERE = Path(__file__).parent
ARTEFACTS = Path(__file__).resolve().parents[2] / "artefacts" / "e2e"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:")
START_SECONDS = 90.0
expect.set_options(timeout=15_000)  # long enough for a busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    setattr(item, f"report_{report.when}", report)
    return report


def chromium_path() -> str | None:
    """The browser to drive; None: Playwright chooses."""
    named = os.environ.get("TILEWRIGHT_CHROMIUM")
    return named or next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


BOKEH_HIT_TEST = "multiline_indices given invalid value"
"""An exception inside of Bokeh 3.9.2 that about one run in ten has where the mouse crosses the lines of parallel axes."""


class WatchedPage:
    """A page with its errors. `lasts`: later tests may reuse it."""

    def __init__(self, context: BrowserContext, *, lasts: bool) -> None:
        self.context, self.lasts = context, lasts
        self.page = context.pages[0] if context.pages else context.new_page()
        self.page.set_default_timeout(20_000)
        self.problems: list[str] = []
        self.page.on("console", self._watch_console)
        self.page.on("pageerror", self._watch_exceptions)
        context.on("requestfailed", self._local_only)

    def _watch_exceptions(self, error: Error) -> None:
        if BOKEH_HIT_TEST not in str(error):
            self.problems.append(f"exception: {error.stack or error}")

    def _watch_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text} {message.location.get('url', '')}")

    def check_texts(self) -> None:
        """Report values that were no text: the browser writes them as `[object …]`."""
        if not self.page.is_closed():
            self.problems += self.page.get_by_text("[object ").all_inner_texts()

    def clear(self) -> bool:
        """Leave the server, with nothing kept for the next test; False if impossible."""
        if not self.lasts or self.page.is_closed() or len(self.context.pages) > 1:
            return False
        if self.page.url.startswith("http"):
            self.page.evaluate("() => { sessionStorage.clear(); localStorage.clear(); }")
        if not back_in_gallery(self.page):
            self.page.goto("about:blank")
        self.page.emulate_media(media="null", reduced_motion="null", forced_colors="null")
        self.page.unroute_all()
        self.page.mouse.move(2, 2)
        self.context.clear_cookies()
        self.problems.clear()
        return True

    def forget_lost_server(self) -> None:
        """Leave the page of a server that ended with its test: the page reports the lost connection."""
        place = urlsplit(self.page.url)
        if place.port is not None:
            with suppress(OSError):
                socket.create_connection((place.hostname, place.port), timeout=5).close()
                return
            self.page.goto("about:blank")
            self.problems.clear()

    def _local_only(self, request: Request) -> None:
        if not request.url.startswith(LOCAL):
            self.problems.append(f"request to the outside: {request.url}")


class Chromium:
    """A browser, and the pages of earlier tests for later ones: a new window costs more than most tests.

    The first page of a test belongs to a profile on disk, where the browser keeps the compiled scripts of the page.
    A profile has one context; other contexts belong to a second browser, which has no profile.
    """

    def __init__(self) -> None:
        self._ends = ExitStack()
        self._folder = self._ends.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        self._playwright = self._ends.enter_context(sync_playwright())
        self._profile: BrowserContext | None = None
        self.pages: list[WatchedPage] = []

    @cached_property
    def browser(self) -> Browser:
        browser = self._playwright.chromium.launch(executable_path=chromium_path(), args=list(QUIET))
        self._ends.callback(browser.close)
        return browser

    def lasting_page(self) -> WatchedPage:
        """A page that later tests may reuse."""
        if self.pages:
            self.pages.sort(key=lambda watched: watched.context is self._profile)
            watched = self.pages.pop()
            watched.forget_lost_server()
            return watched
        if self._profile is not None:
            return WatchedPage(self.browser.new_context(accept_downloads=True), lasts=True)
        self._profile = self._playwright.chromium.launch_persistent_context(
            self._folder, executable_path=chromium_path(), args=list(QUIET), accept_downloads=True
        )
        self._profile.on("close", self._forget_profile)
        return WatchedPage(self._profile, lasts=True)

    def _forget_profile(self, _: BrowserContext) -> None:
        self._profile = None

    def close(self) -> None:
        for watched in self.pages:
            watched.context.close()
        self._ends.close()


CHROMIUM = pytest.StashKey[Chromium]()


@pytest.fixture
def chromium(request: pytest.FixtureRequest) -> Chromium:
    """The same for all browser tests in a row."""
    stash = request.session.stash
    if CHROMIUM not in stash:
        stash[CHROMIUM] = Chromium()
    return stash[CHROMIUM]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    if CHROMIUM in item.session.stash and (nextitem is None or HERE not in nextitem.path.parents):
        # The driver's event loop runs in this thread until then.
        item.session.stash[CHROMIUM].close()
        del item.session.stash[CHROMIUM]


@pytest.fixture
def browser(chromium: Chromium) -> Browser:
    return chromium.browser


@pytest.fixture
def open_page(
    chromium: Chromium,
    request: pytest.FixtureRequest,
    serve: object,
    serve_command: object,
    serve_page: object,
) -> Iterator[Callable[..., Page]]:
    """Created after the servers, so that pages close first: a page that lost its server reports errors.

    A page with `own` (for handlers, which stay) or a `context` is the test's alone.
    """
    if "server" in request.fixturenames:
        request.getfixturevalue("server")
    opened: list[WatchedPage] = []

    def open_one(
        *, width: int = 1280, height: int = 800, dark: bool = False, own: bool = False, **context: Any
    ) -> Page:
        if own or context:
            watched = WatchedPage(chromium.browser.new_context(accept_downloads=True, **context), lasts=False)
        else:
            watched = chromium.lasting_page()
        opened.append(watched)
        watched.page.set_viewport_size({"width": width, "height": height})
        watched.page.emulate_media(color_scheme="dark" if dark else "light")
        return watched.page

    yield open_one
    report = getattr(request.node, "report_call", None)
    is_good = report is not None and report.passed
    problems: list[str] = []
    for number, watched in enumerate(opened):
        if not is_good:
            _shoot(watched.page, f"failed-{request.node.name}-{number}")
        watched.check_texts()
        problems += watched.problems
        if is_good and watched.clear():
            chromium.pages.append(watched)
        else:
            watched.context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def server() -> Iterator[Served]:
    """The app in a thread of this process, so that tests can call its API and replace its parts."""
    with served() as running:
        yield running


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    return open_page()


@pytest.fixture
def own_page(open_page: Callable[..., Page]) -> Page:
    return open_page(own=True)


@pytest.fixture
def shoot() -> Callable[[Page, str], Path | None]:
    """A screenshot costs a fifth of a second of processor time."""
    return _shoot if "TILEWRIGHT_SCREENSHOTS" in os.environ else lambda page, name: None


def _shoot(page: Page, name: str) -> Path:
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTEFACTS / f"{''.join(c if c.isalnum() or c in '-_.' else '-' for c in name)}.png"
    page.screenshot(path=path)
    return path


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., str]]:
    """Panel apps in a thread of this process until the end of the file, so that a test can inspect the Python side too."""
    import panel as pn
    from support.browser.alone import ROUTES

    servers: list[Any] = []

    def serve_one(app: Any, **options: Any) -> str:
        port = free_port(0)
        options = {
            "address": "127.0.0.1",
            "port": port,
            "show": False,
            "threaded": True,
            "verbose": False,
            **ROUTES,
            **options,
        }
        options.setdefault("websocket_origin", [f"127.0.0.1:{port}"])
        servers.append(pn.serve(app, **options))
        url = f"http://127.0.0.1:{port}"
        wait_until_serving(url)
        return url

    yield serve_one
    for server in servers:
        server.stop()


@pytest.fixture
def serve_page() -> Iterator[Callable[..., str]]:
    with ExitStack() as servers:

        def start(path: Path | None = None, open_files: OpenFileRegistry | None = None) -> str:
            url = servers.enter_context(served(path, make_policy(requires_token=False), open_files)).url
            return f"{url}/file/{path.name}" if path is not None and path.is_file() else url

        yield start


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """In a separate process: it does not share Python with the browser's driver, and starts once."""
    yield from _served(
        tmp_path_factory.mktemp("app") / "server.log", "-m", "tilewright", "serve", "--no-token", "--port", "{port}"
    )


def _served(log: Path, *argv: str) -> Iterator[str]:
    """The address of `python argv…`, which ends with the generator."""
    port = free_port(0)
    with log.open("wb") as out:
        command = [sys.executable, *(a.replace("{port}", str(port)) for a in argv)]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        try:
            wait_until_serving(url, process)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{log.read_text()}") from None
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@pytest.fixture
def serve_command(tmp_path: Path) -> Iterator[Callable[..., str]]:
    with ExitStack() as servers:

        def start(*argv: str) -> str:
            log = tmp_path / f"server-{time.monotonic_ns()}.log"
            return servers.enter_context(contextmanager(_served)(log, *argv))

        yield start


def wait_until_serving(url: str, process: subprocess.Popen[bytes] | None = None) -> None:
    """Return when a server listens at `url`; TimeoutError after the deadline, or when `process` has ended."""
    cancel = time.monotonic() + START_SECONDS
    place = urlsplit(url)
    while time.monotonic() < cancel:
        try:
            socket.create_connection((place.hostname, place.port), timeout=5).close()
            return
        except OSError:
            if process is not None and process.poll() is not None:
                raise TimeoutError(f"the server ended with code {process.returncode}") from None
            time.sleep(0.1)
    raise TimeoutError(f"nothing answers at {url}")
