"""`panel serve app/main.py`: gated by the plugin, ended without it."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tilewright.app
from tilewright.app.cli.commands.serve import free_port

MAIN = str(Path(tilewright.app.__path__[0]) / "main.py")
TOKEN = "a-token-of-some-length"


@contextmanager
def panel(port: int, *more: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "panel", "serve", MAIN, "--port", str(port), "--address", "127.0.0.1", *more]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate()


def status(port: int, target: str, **headers: str) -> tuple[int, str]:
    """The status of a response, and where it leads; waits for the server to come up."""
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


def test_given_the_plugin_then_panels_server_has_the_same_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_TOKEN", TOKEN)
    port = free_port(0)
    with panel(port, "--plugins", "tilewright.app.server.panel_plugin"):
        shown = {"Authorization": f"Bearer {TOKEN}"}
        for target in ("/", "/main/ws", "/ws", "/components/payload/x/__css__/y", "/metadata", "/api", "/nothing"):
            assert status(port, target)[0] == 401, target
        for target in ("/components/payload/x/__css__/y", "/main/metadata", "/main/autoload.js", "/liveness"):
            assert status(port, target, **shown)[0] == 403, target
        assert status(port, "/main") == (302, "/"), "the page is at the start page"
        assert status(port, "/", **shown)[0] == 200
        assert status(port, "/example/box_blur", **shown)[0] == 200
        assert status(port, "/api", **shown)[0] == 200 and status(port, "/healthz")[0] == 200


def test_given_no_plugin_then_the_server_says_why_and_ends() -> None:
    port = free_port(0)
    with panel(port) as process:
        status(port, "/main")
        process.wait(30)
        assert process.stderr is not None
        said = process.stderr.read()
    assert "--plugins tilewright.app.server.panel_plugin" in said and "tilewright serve" in said
