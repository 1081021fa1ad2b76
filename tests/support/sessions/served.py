"""A server like that of `tilewright serve`, in a thread of the test's process, and a client without a browser."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.app.page.notebook_catalog import Thumbnails
from tilewright.app.server.access import AccessPolicy, make_policy
from tilewright.app.server.api import ApiContext
from tilewright.app.server.http import open_server
from tilewright.app.server.page_application import make_page
from tilewright.app.session.registry import SessionRegistry
from tilewright.app.storage.registry import OpenFileRegistry, open_file_registry


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """A running server."""

    def __init__(self, server: Any, policy: AccessPolicy, sessions: SessionRegistry) -> None:
        self.port: int = server.port
        self.application = server._tornado
        self.policy = policy
        self.sessions = sessions
        self.url = f"http://127.0.0.1:{self.port}{policy.prefix}"

    def page_url(self, path: str = "/") -> str:
        """The address of a first visit, with the token."""
        return f"{self.url}{path}{self.policy.invitation}"

    def ask(self, method: str, target: str, body: Any = None, *, token: str | None = "", **headers: str) -> Answer:
        """One request; `body` is JSON unless it is bytes. `token` defaults to the server's; None sends none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if sent is not None:
            named.setdefault("Content-Type", "application/json")
        if token is not None:
            named["Authorization"] = f"Bearer {token or self.policy.token}"
        try:
            connection.request(method, target, sent, named)
            got = connection.getresponse()
            return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        finally:
            connection.close()

    def opened(self, name: str = "place_the_copies", **opening: str) -> str:
        """The address of a session that the API opens."""
        answer = self.ask("POST", "/api/sessions", opening or {"name": name})
        assert answer.status == 201, answer.body
        return answer.headers["location"]

    def raw(self, data: bytes, seconds: float = 5) -> bytes:
        """The answer to raw bytes, until the server closes the connection or stops sending."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as plug:
            plug.sendall(data)
            got = b""
            try:
                while piece := plug.recv(65536):
                    got += piece
            except (TimeoutError, ConnectionError):
                pass
            return got


@contextmanager
def served(
    path: Path | None = None,
    policy: AccessPolicy | None = None,
    open_files: OpenFileRegistry | None = None,
    port: int = 0,
    **options: Any,
) -> Iterator[Served]:
    """A server until the end of the block, on any free port unless one is named; `options` are Panel's."""
    policy = policy or make_policy()
    servers: list[Served] = []
    ready, loops = threading.Event(), list[asyncio.AbstractEventLoop]()

    async def run() -> None:
        sessions, thumbnails, files = SessionRegistry(), Thumbnails(), open_files or open_file_registry(path)
        api_context = ApiContext(sessions, path, files)
        ended = asyncio.Event()

        def page() -> Any:
            return make_page(path, thumbnails, sessions, files, base=f"{policy.prefix}/")

        server = open_server(page, api_context, policy, port, **options)
        server.start()
        servers.append(Served(server, policy, sessions))
        loops.append(asyncio.get_running_loop())
        ends.append(ended)
        ready.set()
        upkeep = asyncio.ensure_future(sessions.close_idle_often(0.05))
        await ended.wait()
        upkeep.cancel()
        server.stop()
        for handle in list(sessions.all.values()):
            sessions.leave(handle)
        files.close()

    ends: list[asyncio.Event] = []
    thread = threading.Thread(target=lambda: asyncio.run(run()), name="server", daemon=True)
    thread.start()
    assert ready.wait(60), "the server did not start"
    try:
        yield servers[0]
    finally:
        loops[0].call_soon_threadsafe(ends[0].set)
        thread.join(30)
