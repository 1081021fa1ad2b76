"""What views ask about the picture: answered from what is known of it, and nothing is changed."""

from __future__ import annotations

from typing import Any

from ..engine.ir import Proposal, TilewrightError
from .actions import repair_of
from .messages import MOVED, Message, call_of
from .state import State
from .store import Store
from .views.menus import SCOPES, Facts, menu_of, scopes_of
from .views.timeline import answer


def repair_texts(state: State, wish: Message) -> list[str]:
    """The calls that would make a drop possible, the drop last; none where nothing is known to help."""
    try:
        call = call_of({**wish, "kind": "move"}, state)
    except (TilewrightError, KeyError, ValueError):
        return []
    calls = repair_of(state, call)
    drop = Proposal(call.method, tuple(zip(MOVED, call.args, strict=True)))
    return [str(proposal) for proposal in (*calls, drop)] if calls else []


def row_menu(state: State, store: Store, row: str) -> list[dict[str, Any]]:
    """What may be done to a row of the tree."""
    if state.moment is None:
        return []
    schedule, machine = state.moment.schedule, store.machine(state)
    names = schedule.intrinsics

    def facts() -> Facts:
        if isinstance(machine, TilewrightError):
            return Facts(schedule.func, SCOPES, None, names)
        return Facts(schedule.func, scopes_of(machine), machine, names)

    known = store.remember(f"facts {names}", (schedule.func, machine), facts)
    return menu_of(known, row) if row in known.ids else []


def timeline_answer(state: State, store: Store, message: Message) -> Message | None:
    """What the timeline asks for: a window, when a task starts, which step an engine's wait is due to. None for what makes no sense."""
    try:
        return answer(state, store, message)
    except (KeyError, TypeError, ValueError, IndexError):
        return None


__all__ = ["repair_texts", "row_menu", "timeline_answer"]
