"""The placeholder of an empty pane: its purpose, the reason for being empty, and the next action."""

from __future__ import annotations

from ....engine.ir import TilewrightError
from ...document import is_applicable, is_data_line
from ...state.derived import Store
from ...state.model import State
from .values import Value


class Blank(Value, frozen=True):
    """A pane without a value: what it `shows`, the reason `why` it is empty, and the `calls` that would fill it."""

    shows: str
    why: str
    expected: str
    calls: tuple[str, ...]


def blank_value(state: State, store: Store, shows: str) -> Blank | None:
    """The placeholder of a pane; its calls can be applied directly. None with a report or while it is computed.
    Without calls, with several alternatives, or with data to be typed, the user continues in the Problems pane, which tries fixes."""
    report = store.known_report(state)
    if not isinstance(report, TilewrightError) or state.moment is None:
        return None
    refusal = report.refusal
    now = not state.looks_back and state.notebook is not None and state.notebook.error is None
    can = (
        len(refusal.fix) == 1 and now and is_applicable(state.moment, refusal.fix) and not is_data_line(refusal.fix[0])
    )
    why = f"{refusal.message[:1].upper()}{refusal.message[1:]}."
    return Blank(shows, why, refusal.expected, tuple(refusal.fix) if can else ())
