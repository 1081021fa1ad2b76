"""Headers and connection settings that the gate adds."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from support.sessions.awaiting import awaited
from support.sessions.served import served
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import WebSocketHandler, websocket_connect

from tilewright.app.server.access import make_policy
from tilewright.app.server.gate import HEADERS, Gate, content_security_policy, with_nonce


def test_only_the_scripts_of_the_server_carry_the_nonce() -> None:
    page = b'<script>let a = "<script>x<\\/script>";</script><SCRIPT src="a.js"></SCRIPT><p onclick="x()">'
    tagged = with_nonce(page, "WORD")
    assert tagged.count(b'nonce="WORD"') == 2
    assert b'let a = "<script>x' in tagged, "the text of a script stays"
    rules = dict(part.split(" ", 1) for part in content_security_policy("WORD").split("; "))
    assert "'nonce-WORD'" in rules["script-src"]
    assert "unsafe" not in rules["script-src"]
    assert "*" not in content_security_policy("WORD") and "http" not in content_security_policy("WORD")
    assert rules["default-src"] == "'none'" and rules["base-uri"] == "'self'"
    assert "nonce" not in content_security_policy()
    assert HEADERS["X-Content-Type-Options"] == "nosniff"


def test_websocket_frames_are_sent_without_delay() -> None:
    """Nagle's algorithm would hold the second frame of each message back for 40 ms."""
    found: list[int] = []

    class Socket(WebSocketHandler):
        def open(self) -> None:
            stream: Any = getattr(self.ws_connection, "stream", None)
            found.append(stream.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            self.close()

    async def opened() -> None:
        listener, port = bind_unused_port()
        server = HTTPServer(Gate(Application([("/ws", Socket)]), make_policy(requires_token=False)))
        server.add_socket(listener)
        connection = await websocket_connect(f"ws://127.0.0.1:{port}/ws")
        assert await connection.read_message() is None
        connection.close()
        server.stop()

    awaited(opened())
    assert found and all(found)


def test_a_head_answer_has_no_body_and_keeps_the_connection(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with served() as server:
        requests = "".join(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" for method, target in (
            ("HEAD", "/"), ("HEAD", "/api"), ("HEAD", "/nothing"), ("GET", "/healthz")))  # fmt: skip
        got = server.raw(requests.encode(), seconds=2)
    statuses = [line.split()[1] for line in got.split(b"\r\n") if line.startswith(b"HTTP/1.1")]
    assert statuses == [b"200", b"401", b"401", b"200"]
    assert got.endswith(b'{"status": "ok"}') and b"<html" not in got and b"token-needed" not in got
    assert "Traceback" not in capfd.readouterr().err
