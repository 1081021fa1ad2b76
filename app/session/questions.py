"""Queries of views about the visible program, answered from known results; they change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.ir import Proposal, TilewrightError
from ..actions.table import repair_of
from ..protocol.messages import MOVED, Message, call_of
from ..state.derived import Store
from ..state.model import State
from ..views.explore.value import trials_answer
from ..views.menus import SCOPES, Facts, menu_of, scopes_of
from ..views.timeline.value import answer


class Questions:
    """The queries of one page's views, about its current state."""

    def __init__(self, state: Callable[[], State], store: Store) -> None:
        self._state = state
        self._store = store

    def repair(self, wish: Message) -> list[str]:
        """The calls that make a drop legal, as texts, with the drop last; empty if no repair is known."""
        state = self._state()
        try:
            call = call_of({**wish, "kind": "move"}, state)
        except (TilewrightError, KeyError, ValueError):
            return []
        calls = repair_of(state, call)
        drop = Proposal(call.method, tuple(zip(MOVED, call.args, strict=True)))
        return [str(proposal) for proposal in (*calls, drop)] if calls else []

    def menu(self, row: str) -> list[dict[str, Any]]:
        """The menu of a row of the tree."""
        state = self._state()
        if state.moment is None:
            return []
        schedule, machine = state.moment.schedule, self._store.machine(state)
        names = schedule.intrinsics

        def facts() -> Facts:
            if isinstance(machine, TilewrightError):
                return Facts(schedule.func, SCOPES, None, names)
            return Facts(schedule.func, scopes_of(machine), machine, names)

        known = self._store.remember(f"facts {names}", (schedule.func, machine), facts)
        return menu_of(known, row) if row in known.ids else []

    def timeline(self, message: Message) -> Message | None:
        """The answer to a query of the timeline: a window, the start of a task, the step that causes an engine's wait. None for a malformed
        message."""
        try:
            return answer(self._state(), self._store, message)
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    def trials(self, message: Message) -> Message | None:
        """Candidates of the search that the Explore pane lacks. None for other messages."""
        return trials_answer(self._state(), self._store, message)


__all__ = ["Questions"]
