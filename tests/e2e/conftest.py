"""What the browser tests share: a Chromium, pages that fail on console errors and on requests to the outside, servers, screenshots.

- `page`: a 1280x800 page in light mode. `open_page(width=…, height=…, dark=…, **context)`: more pages, other sizes and themes.
- `app_url`: Tilewright as a person starts it, one server for all tests that look at the page only; each page has a session of its own.
- `serve_page(path, cabinet=…)`: Tilewright in a thread of this process, which asks for no token; its address.
- `serve(app)`: a Panel app (a function that makes a viewable, or a dict of path -> function) on a free port of 127.0.0.1; its address.
- `serve_command(*argv)`: `python argv… ` as a process of its own; `{port}` in an argument becomes a free port. Returns the address.
- `shoot(page, name)`: a screenshot into `artefacts/e2e/NAME.png`; a failing test leaves one of each of its pages.

Chromium: `TILEWRIGHT_CHROMIUM`, else one on the PATH, else Playwright's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from support.sessions.served import Served, served

from tilewright.app.cli.commands.serve import free_port
from tilewright.app.server.access import make_policy
from tilewright.app.storage.registry import OpenFileRegistry

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
)
START_SECONDS = 90.0
expect.set_options(timeout=15_000)  # what is waited for comes, on a busy machine too


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            # Clicks and deadlines of a real browser on a machine that others use too: what fails is tried twice more, and told as rerun.
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    setattr(item, f"report_{report.when}", report)
    return report


def chromium_path() -> str | None:
    """The browser to drive; None leaves the choice to Playwright."""
    named = os.environ.get("TILEWRIGHT_CHROMIUM")
    return named or next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(QUIET))
        yield browser
        browser.close()


class WatchedPage:
    """A page with what went wrong in it."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.page = context.new_page()
        self.problems: list[str] = []
        self.page.on("console", lambda m: self.problems.append(f"console: {m.text}") if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.problems.append(f"exception: {e}"))
        context.route("**/*", self._local_only)

    def look(self) -> None:
        """At what stands there in the end: values that were no text are written so by the browser."""
        if not self.page.is_closed():
            self.problems += self.page.get_by_text("[object ").all_inner_texts()

    def _local_only(self, route: Any) -> None:
        url = route.request.url
        if url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:")):
            route.continue_()
        else:
            self.problems.append(f"request to the outside: {url}")
            route.abort()


@pytest.fixture
def open_page(
    browser: Browser, request: pytest.FixtureRequest, serve: object, serve_command: object, serve_page: object
) -> Iterator[Callable[..., Page]]:
    """Made after the servers, so that pages are closed before them: a page that lost its server has errors to tell."""
    if "server" in request.fixturenames:
        request.getfixturevalue("server")
    opened: list[WatchedPage] = []

    def open_one(*, width: int = 1280, height: int = 800, dark: bool = False, **context: Any) -> Page:
        context = {
            "viewport": {"width": width, "height": height},
            "color_scheme": "dark" if dark else "light",
            "accept_downloads": True,
            **context,
        }
        watched = WatchedPage(browser.new_context(**context))
        watched.page.set_default_timeout(20_000)
        opened.append(watched)
        return watched.page

    yield open_one
    report = getattr(request.node, "report_call", None)
    for number, watched in enumerate(opened):
        if report is not None and report.failed:
            _shoot(watched.page, f"failed-{request.node.name}-{number}")
        watched.look()
        watched.context.close()
    problems = [problem for watched in opened for problem in watched.problems]
    assert not problems, "\n".join(problems)


@pytest.fixture
def server() -> Iterator[Served]:
    """The app in a thread of this process, whose API can be asked and whose parts can be replaced."""
    with served() as made:
        yield made


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    return open_page()


@pytest.fixture
def shoot() -> Callable[[Page, str], Path]:
    return _shoot


def _shoot(page: Page, name: str) -> Path:
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTEFACTS / f"{''.join(c if c.isalnum() or c in '-_.' else '-' for c in name)}.png"
    page.screenshot(path=path)
    return path


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Panel apps in a thread of this process, so that a test can look at the Python side too."""
    import panel as pn

    servers: list[Any] = []

    def serve_one(app: Any, **options: Any) -> str:
        port = free_port(0)
        options = {"address": "127.0.0.1", "port": port, "show": False, "threaded": True, "verbose": False, **options}
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
    """In a process of its own: it does not share Python with the browser's driver, and starts once."""
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
    """Return when something answers at `url`; TimeoutError when nothing does, or when `process` has ended."""
    cancel = time.monotonic() + START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < cancel:
        try:
            opener.open(url, timeout=5).close()
            return
        except urllib.error.HTTPError as error:
            error.close()
            return
        except OSError:
            if process is not None and process.poll() is not None:
                raise TimeoutError(f"the server ended with code {process.returncode}") from None
            time.sleep(0.1)
    raise TimeoutError(f"nothing answers at {url}")
