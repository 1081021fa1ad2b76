"""Values for the code panes: the program as TVMScript with the selected step's changes marked, and the exported Python."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from ....engine.ir import TilewrightError
from ...document.files.merging import alike
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ..labels.values import Value

MAX_LINES = 4_000
"""The maximum number of lines; a browser lays out more too slowly. Downloads are complete."""

EXPORT_FILE = "schedule_tvm.py"


MARKS = Derived["list[CodeLine]"]("marked lines")


class CodeLine(Value, frozen=True):
    """A line; one that was removed has no number. "gap" stands for lines that are left out."""

    number: int | None
    text: str
    mark: Literal["added", "removed", "gap"] | None = None


class Code(Value, frozen=True):
    """A program text. `file` is its name as a download; `reveal`: the view scrolls to the first mark; `playhead`: it
    follows the timeline."""

    caption: str
    file: str | None
    reveal: bool
    lines: list[CodeLine]
    playhead: bool = False


def script_value(state: State, store: Store) -> Code:
    """The program at the chosen step; lines that are new since the program before it are "added", lines that went "removed"."""
    if state.moment is None:
        return _plain("TVMScript", "")
    text = store.script(state.moment.schedule)
    if state.before is None:
        return replace(_plain("TVMScript", text), playhead=True)
    old = store.script(state.before.schedule)
    lines = store.remember(MARKS(state.before.schedule.func, state.moment.schedule.func), lambda: marked(old, text))
    return Code(_caption(state), None, reveal=True, lines=lines, playhead=True)


def _caption(state: State) -> str:
    """The caption with the step that the marks show: the last one that changed the displayed program."""
    assert state.shown is not None and state.moment is not None
    func = state.moment.schedule.func
    made = next((n for n, moment in enumerate(state.shown.states) if moment.schedule.func is func), 0)
    step = state.shown.steps[made - 1].text if made else ""
    return f"Marked: changes by {' '.join(step.split())}"


def python_value(state: State, store: Store) -> Code:
    """The schedule as a Python file for TVM."""
    if state.moment is None:
        return _plain("Python", "")
    exported = store.exported(state.moment)
    if isinstance(exported, TilewrightError):
        return _plain(f"The schedule cannot be exported: {exported.refusal.message}", "")
    return replace(_plain("Python for Apache TVM 0.26 or newer", exported), file=EXPORT_FILE)


def _plain(caption: str, text: str) -> Code:
    lines = [CodeLine(number, line) for number, line in enumerate(text.splitlines()[:MAX_LINES], 1)]
    return Code(caption, None, reveal=False, lines=lines)


def marked(old: str, new: str) -> list[CodeLine]:
    """The lines of `new` with marks against `old`."""
    before, after = old.splitlines()[:MAX_LINES], new.splitlines()[:MAX_LINES]
    lines: list[CodeLine] = []
    old_line = new_line = 0
    for from_old, from_new, length in (*alike(before, after), (len(before), len(after), 0)):
        lines += [CodeLine(None, text, "removed") for text in before[old_line:from_old]]
        lines += [CodeLine(n + 1, after[n], "added") for n in range(new_line, from_new)]
        lines += [CodeLine(n + 1, after[n]) for n in range(from_new, from_new + length)]
        old_line, new_line = from_old + length, from_new + length
    return lines
