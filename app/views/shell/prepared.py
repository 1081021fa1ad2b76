"""What the screen draws of a program, made before it draws: the event loop, which has other pages to serve, finds it in the store."""

from __future__ import annotations

from ....engine.hwsim import Report
from ....engine.schedule import Schedule
from ...state.derived import Store
from ...state.model import State
from ..notebook.code import python_value, script_value
from ..timeline.value import timeline_of
from ..tree.tree_now import costs_of, rows_now


def prepared(state: State, store: Store) -> State:
    """Return the state, after making the parts of its views that take long for a large program: rows and texts."""
    if state.moment is not None and state.screen == "notebook":
        rows_now(state, store)
        if state.pane == "script":
            script_value(state, store)
        elif state.pane == "python":
            python_value(state, store)
    return state


def prepare_report(report: Report, schedule: Schedule, store: Store) -> None:
    """Make the parts of the views that show a report and take long for a large one: timeline and costs."""
    timeline_of(report, schedule, store)
    costs_of(report, schedule.func, store)


__all__ = ["prepare_report", "prepared"]
