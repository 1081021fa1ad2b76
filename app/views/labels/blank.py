"""The placeholder of an empty pane: its purpose, the reason for being empty, and the next action."""

from __future__ import annotations

from collections.abc import Sequence

from ....engine.ir import TilewrightError
from ...document import is_applicable
from ...state.derived import Store
from ...state.model import State
from .settings import SettingField, setting_fields
from .values import Value


class Blank(Value, frozen=True):
    """A pane without a value: what it `shows`, the reason `why` it is empty, and the `calls` that would fill it. A line of settings has
    `fields` for its values, and `setting` is its name."""

    shows: str
    why: str
    expected: str
    calls: tuple[str, ...]
    setting: str = ""
    fields: Sequence[SettingField] = ()


def blank_value(state: State, store: Store, shows: str) -> Blank | None:
    """The placeholder of a pane; its calls can be applied directly. None with a report or while it is computed.
    Without calls, or with several alternatives, the user continues in the Problems pane, which tries fixes."""
    report = store.known_report(state)
    if not isinstance(report, TilewrightError) or state.moment is None:
        return None
    refusal = report.refusal
    why = f"{refusal.message[:1].upper()}{refusal.message[1:]}."
    notebook = state.notebook
    now = not state.looks_back and notebook is not None and notebook.error is None
    if notebook is None or not now or len(refusal.fix) != 1 or not is_applicable(state.moment, refusal.fix):
        return Blank(shows, why, refusal.expected, ())
    setting, fields = setting_fields(refusal.fix[0], notebook.document)
    return Blank(shows, why, refusal.expected, tuple(refusal.fix), setting, fields)
