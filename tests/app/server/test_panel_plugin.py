"""`panel serve app/main.py`: gated by the plugin, ended without it."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bokeh.util.token import generate_jwt_token, generate_session_id

import tilewright.app
from tilewright.app.cli.commands.serve import free_port
from tilewright.panel_start import PLUGIN, with_plugin

MAIN = str(Path(tilewright.app.__path__[0]) / "main.py")
TOKEN = "a-token-of-some-length"


@contextmanager
def panel(port: int, *more: str, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """Panel's command in a process, which runs the statements `before` first."""
    code = f"{before}\nimport sys; from panel.command import main; main()"
    command = [sys.executable, "-c", code, "serve", MAIN, "--port", str(port), "--address", "127.0.0.1", *more]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate()


def status(port: int, target: str, **headers: str) -> tuple[int, str]:
    """The status and location of a response; waits for the server to start."""
    for _ in range(300):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Location", "")
        except ConnectionError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise AssertionError("the server does not answer")


def page_token(port: int, target: str, **headers: str) -> str | None:
    """Bokeh's token in a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", target, headers=headers)
    found = re.search(r'"token":"([^"]+)"', connection.getresponse().read().decode())
    connection.close()
    return None if found is None else found[1]


def websocket(port: int, token: str) -> int:
    """The status of the answer to the handshake of a websocket."""
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "A" * 22 + "==",
    }
    return status(port, "/ws", **headers, **{"Sec-WebSocket-Protocol": f"bokeh, {token}"})[0]


@pytest.mark.slow
def test_panel_serve_with_the_plugin_has_the_same_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_TOKEN", TOKEN)
    port = free_port(0)
    with panel(port, "--plugins", "tilewright.app.server.panel_plugin"):
        shown = {"Authorization": f"Bearer {TOKEN}"}
        for target in ("/main/ws", "/ws", "/components/payload/x/__css__/y", "/metadata", "/api", "/nothing"):
            assert status(port, target)[0] == 401, target
        assert page_token(port, "/") is None, "the page for visitors without a ticket"
        assert websocket(port, generate_jwt_token(generate_session_id(signed=False), signed=False)) == 401
        own = page_token(port, "/", **shown)
        assert own is not None and websocket(port, own) == 101, "the page's token, and no header"
        for target in ("/components/payload/x/__css__/y", "/main/metadata", "/main/autoload.js", "/liveness"):
            assert status(port, target, **shown)[0] == 403, target
        assert status(port, "/main") == (302, "/"), "the page is at the start page"
        assert status(port, "/", **shown)[0] == 200
        assert status(port, "/example/box_blur", **shown)[0] == 200
        assert status(port, "/api", **shown)[0] == 200 and status(port, "/healthz")[0] == 200


@pytest.mark.parametrize(
    ("arguments", "added"),
    [
        (["panel", "serve", MAIN], True),
        (["panel", "serve", "--port", "5007", MAIN], True),
        (["panel", "serve", MAIN, "--plugins", PLUGIN], False),
        (["panel", "serve", "other/main.py"], False),
        (["panel", "convert", MAIN], False),
        (["tilewright", "serve"], False),
        ([], False),
    ],
)
def test_panel_serve_of_the_app_gets_the_plugin(arguments: list[str], added: bool) -> None:
    assert with_plugin(arguments) == [*arguments, *(["--plugins", PLUGIN] if added else [])]


@pytest.mark.slow
def test_the_server_refuses_to_start_without_the_plugin() -> None:
    port = free_port(0)
    with panel(port, before="import importlib.metadata as m; m.entry_points = lambda **_: []") as process:
        status(port, "/main")
        process.wait(30)
        assert process.stderr is not None
        stderr = process.stderr.read()
    assert "--plugins tilewright.app.server.panel_plugin" in stderr and "tilewright serve" in stderr
