"""Answers of the API about a session: the state is taken on the event loop of the session, and its parts are made in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ...engine.processes import Budget, within
from ..limits import LIMITS
from ..session.registry import SessionHandle

Known = tuple[dict[str, Any], list[str]]
"""Fields of an answer, and the names of the pending ones."""

Look = Callable[[], Callable[[], Known]]
"""Called on the session's loop; what it returns is called in a thread, because the parts of a large program take seconds."""


def head(handle: SessionHandle) -> dict[str, Any]:
    """The first fields of every answer about a session."""
    state = handle.session.state
    return {
        "session": handle.key,
        "version": handle.screen.version,
        "page": handle.has_page,
        "revision": state.revision,
        "durable": state.durable,
    }


async def looked(handle: SessionHandle, look: Look) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The first fields of the answer, and what `look` finds."""
    facts, known = await handle.do(lambda: (head(handle), look()))
    told, pending = await asyncio.to_thread(_within_budget, known)
    return facts, told, pending


def _within_budget(known: Callable[[], Known]) -> Known:
    with within(Budget(LIMITS.change_seconds, LIMITS.memory_bytes), "the answer"):
        return known()


__all__ = ["Known", "Look", "head", "looked"]
