"""The allowlist against the running application: each rule is listed with a reason or closed, and no URL has a side effect."""

from __future__ import annotations

import logging
import re
import socket
import sys
from collections.abc import Iterator

import pytest
from support.profile import IS_DEEP
from support.sessions.served import Served, served
from support.sessions.urls import targets

from tilewright.app.components.page_root import MODULE
from tilewright.app.server.access import make_policy
from tilewright.app.server.routes import ROUTES, find_route

URLS = 600
"""URLs per run; 100 000 with the deep profile."""

SAMPLES = {
    "/favicon.ico$": "/favicon.ico",
    rf"/{re.escape(MODULE)}$": f"/{MODULE}",
    "/ws$": "/ws",
    "/metadata$": "/metadata",
    "/autoload.js$": "/autoload.js",
    "/?$": "/",
    "/static/(?!extensions/)(.*)$": "/static/js/bokeh.min.js",
    "/static/extensions/(.*)$": "/static/extensions/panel/panel.min.js",
    "/static/(.*)$": "/static/js/bokeh.min.js",
    "/components/(.*)$": "/components/payload/x/__css__/y",
    "/login$": "/login",
    "/healthz$": "/healthz",
}
"""An address of each rule outside the API."""

CLOSED = {"/metadata$", "/autoload.js$", "/components/(.*)$"}
"""Rules of Bokeh and Panel that the gate keeps closed."""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(policy=make_policy(requires_token=False)) as running:
        yield running


def rules(server: Served) -> list[str]:
    return [rule.matcher.regex.pattern for rule in server.application.wildcard_router.rules]


def test_every_rule_of_the_application_is_listed_or_closed(server: Served) -> None:
    found = rules(server)
    assert len(found) > 15
    for pattern in found:
        api = pattern.replace("([0-9a-f]{1,40})", "0123456789ab").replace("/?$", "").replace("/.*$", "/x")
        address = api if pattern.startswith("/api") else SAMPLES.get(pattern)
        assert address is not None, f"a new rule {pattern}: put it on the list with a reason, or among the closed ones"
        assert re.fullmatch(pattern, address), (pattern, address)
        route = find_route(address)
        assert (route is None) == (pattern in CLOSED), pattern
        assert route is None or route.reason
        if route is None:
            assert server.ask("GET", address).status == 403
    assert len(server.application.default_router.rules) == 1, "rules of a host of their own are behind the same gate"


def test_a_route_imports_no_module_that_the_url_names(
    server: Served, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("cwd")
    (folder / "payload.py").write_text(f"open({str(folder / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for target in ("/components/payload/x/__css__/y", "/components/unittest.__main__/x/__css__/y"):
        assert server.ask("GET", target).status == 403
        link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
        assert server.ask("GET", target, **link).status == 403
    assert not (folder / "ran").exists() and "payload" not in sys.modules


@pytest.mark.deep
def test_no_url_imports_a_module_or_fails(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    """Pipelined on a few connections: each is answered with a status below 500, without a traceback in the page or the log."""
    urls = targets(20261123, 100_000 if IS_DEEP else URLS, lambda target: not is_page(target))
    assert server.ask("GET", "/").status == 200
    before = set(sys.modules)
    seen: dict[int, int] = {}
    with caplog.at_level(logging.ERROR):
        for start in range(0, len(urls), 200):
            for answer in answers(server, urls[start : start + 200]):
                seen[answer] = seen.get(answer, 0) + 1
    print(dict(sorted(seen.items())))
    assert sum(seen.values()) == len(urls), "each is answered"
    assert seen[200] > len(urls) * 0.02, "some are addresses that there are"
    assert max(seen) < 500 and set(seen) <= {200, 302, 400, 403, 404, 405, 409}
    assert {name for name in set(sys.modules) - before if not name.startswith("encodings")} == set()
    assert not [record for record in caplog.records if record.exc_info], "no traceback in the log"
    assert server.ask("GET", "/healthz").json == {"status": "ok"}


def is_page(target: str) -> bool:
    """Each visit builds a page, which needs half a second; pages have separate tests."""
    route = find_route(target.partition("?")[0]) if target.startswith("/") else None
    return route is not None and route.kind in ("start", "page")


def answers(server: Served, urls: list[str]) -> list[int]:
    """The status of each request, on connections that end at a request that cannot be read."""
    found: list[int] = []
    while urls:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as plug:
            lines = [f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" for target in urls]
            lines.append("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            plug.sendall("".join(lines).encode("latin-1", "replace"))
            got = b""
            try:
                while piece := plug.recv(1 << 16):
                    got += piece
            except ConnectionError:
                pass
        assert b"Traceback" not in got
        statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", got)]
        if len(statuses) > len(urls):
            return found + statuses[: len(urls)]
        found += statuses
        urls = urls[max(len(statuses), 1) :]
    return found


def test_every_route_of_the_allowlist_has_a_reason() -> None:
    assert all(len(route.reason) > 10 for route in ROUTES)
    public = ["/static/js/x.js", "/static/extensions/panel/x.js", f"/{MODULE}", "/favicon.ico", "/login", "/healthz"]
    assert [route for route in ROUTES if route.public] == [find_route(path) for path in public]
