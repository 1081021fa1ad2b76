"""Small but costly programs on a server: other requests are answered meanwhile, and a signal ends it."""

from __future__ import annotations

import asyncio
import http.client
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from support.fuzzing.towers import HOSTILE, nested_divisions
from support.sessions.watched import WatchedServer, watched_server

from tilewright.app.server import looks
from tilewright.app.server.looks import Known
from tilewright.app.session.registry import SessionHandle

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

SILENT_S = 5.0
"""Far above half a second, the goal that `bench/hostile.py` measures: a test may run beside others."""


def post(server: WatchedServer, text: str) -> None:
    with suppress(OSError, http.client.HTTPException):  # the server ends first
        server.ask("POST", "/api/sessions", {"text": text})


@pytest.mark.parametrize(
    "name",
    [
        "32 doubled lets",
        pytest.param("6 nested divisions", marks=pytest.mark.slow),
        pytest.param("f-string of 480,000 characters", marks=pytest.mark.slow),
    ],
)
def test_a_costly_program_is_answered_while_the_server_responds(name: str) -> None:
    with watched_server() as server:
        status, created = server.ask("POST", "/api/sessions", {"text": HOSTILE[name]()}, 60)
        if status == 201:
            path = f"/api/sessions/{created['session']}?parts=report,verdict&wait=50"
            status, created = server.ask("GET", path, seconds=60)
            assert created["state"]["verdict"]["status"] in ("tested", "unknown")
        else:
            assert created["error"]["code"] in ("too-large", "over-budget")
        assert server.silence < SILENT_S
        # A signal ends a server that computes.
        threading.Thread(target=post, args=(server, nested_divisions(30)), daemon=True).start()
        time.sleep(2.0)
        ended = server.terminate()
        assert ended is not None and ended < SILENT_S


def test_answers_about_large_programs_leave_the_event_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    async def on_loop() -> None:
        class Handle:
            async def do(self, work: Callable[[], Any]) -> Any:
                threads.append(threading.get_ident())
                return work()

        def analysis() -> Callable[[], Known]:
            def known() -> Known:
                threads.append(threading.get_ident())
                return {}, []

            return known

        monkeypatch.setattr(looks, "head", lambda _: {})
        assert await looks.looked(cast("SessionHandle", Handle()), analysis) == ({}, {}, [])

    asyncio.run(on_loop())
    assert threads[0] == threading.get_ident() != threads[1]
