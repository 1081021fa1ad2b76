"""Values for the code panes: the program as TVMScript with the selected step's changes marked, and the exported Python."""

from __future__ import annotations

from typing import Any

from ....engine.ir import TilewrightError
from ...document.files.merging import alike
from ...state.derived import Store
from ...state.model import State

MAX_LINES = 4_000
"""The maximum number of lines; a browser lays out more too slowly. Downloads are complete."""

EXPORT_FILE = "schedule_tvm.py"


def script_value(state: State, store: Store) -> dict[str, Any]:
    """The program at the chosen step; lines that are new since the program before it are "added", lines that went "removed"."""
    if state.moment is None:
        return _plain("TVMScript", "")
    text = store.script(state.moment.schedule)
    if state.before is None:
        return _plain("TVMScript", text) | {"playhead": True}
    old = store.script(state.before.schedule)
    lines = store.remember("marks", (state.before.schedule.func, state.moment.schedule.func), lambda: marked(old, text))
    return {
        "caption": _caption(state),
        "file": None,
        "reveal": True,
        "playhead": True,
        "lines": lines,
    }


def _caption(state: State) -> str:
    """The caption with the step that the marks show: the last one that changed the displayed program."""
    assert state.shown is not None and state.moment is not None
    func = state.moment.schedule.func
    made = next((n for n, moment in enumerate(state.shown.states) if moment.schedule.func is func), 0)
    step = state.shown.steps[made - 1].text if made else ""
    return f"Marked: changes by {' '.join(step.split())}"


def python_value(state: State, store: Store) -> dict[str, Any]:
    """The schedule as a Python file for TVM."""
    if state.moment is None:
        return _plain("Python", "")
    exported = store.exported(state.moment)
    if isinstance(exported, TilewrightError):
        return _plain(f"The schedule cannot be exported: {exported.refusal.message}", "")
    return _plain("Python for Apache TVM 0.26 or newer", exported) | {"file": EXPORT_FILE}


def _plain(caption: str, text: str) -> dict[str, Any]:
    lines = [_line(number, line) for number, line in enumerate(text.splitlines()[:MAX_LINES], 1)]
    return {"caption": caption, "file": None, "reveal": False, "lines": lines}


def marked(old: str, new: str) -> list[dict[str, Any]]:
    """The lines of `new` with marks against `old`."""
    before, after = old.splitlines()[:MAX_LINES], new.splitlines()[:MAX_LINES]
    lines: list[dict[str, Any]] = []
    old_line = new_line = 0
    for from_old, from_new, length in (*alike(before, after), (len(before), len(after), 0)):
        lines += [_line(None, text, "removed") for text in before[old_line:from_old]]
        lines += [_line(n + 1, after[n], "added") for n in range(new_line, from_new)]
        lines += [_line(n + 1, after[n]) for n in range(from_new, from_new + length)]
        old_line, new_line = from_old + length, from_new + length
    return lines


def _line(number: int | None, text: str, mark: str | None = None) -> dict[str, Any]:
    return {"number": number, "text": text, "mark": mark, "error": None}
