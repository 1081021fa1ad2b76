"""The state as JSON for the API's answers. No part starts an analysis: a result that is not available yet is listed as pending."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ....engine.hwsim import Machine, Report
from ....engine.ir import PrimFunc, TilewrightError
from ...document import with_origins
from ...document.editing.branches import branches
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ...state.row_ids import row_ids
from ..notebook.file_status import file_state
from ..notebook.steps import items_of
from ..problems.lints import lints_now
from ..problems.value import problems_value
from ..tree.rows import Row, tree_rows

ROW_FACTS = ("id", "parent", "depth", "kind", "name")
FACTS_OF = {"loop": ("extent", "loop_kind", "reduces"), "block": ("iters", "reads", "writes")}
"""What the part `tree` has of each row, and of a loop or a block."""

Known = Any | None
"""A part, or None while its analysis is pending."""


_ROWS = Derived["list[Row]"]("rows of the state")


def summary(state: State) -> dict[str, object]:
    """The entry of one session in the list of sessions."""
    notebook = state.notebook
    return {
        "title": state.title,
        "path": None if notebook is None else notebook.document.path,
        "open": notebook is not None,
        "unsaved": state.unsaved,
    }


def state_parts(state: State, store: Store, parts: Iterable[str]) -> tuple[dict[str, object], list[str]]:
    """The requested parts of `PARTS`, and the names of the pending ones."""
    values: dict[str, object] = {part: PARTS[part](state, store) for part in parts}
    return values, [part for part, value in values.items() if value is None and state.notebook is not None]


def _notebook(state: State, _: Store) -> Known:
    """Title, path, text, numbers of undo and redo steps, selected row, displayed step, and the first error of the text."""
    notebook = state.notebook
    return {
        **summary(state),
        "text": "" if notebook is None else notebook.document.text,
        "error": None if notebook is None or notebook.error is None else notebook.error.refusal.to_json(),
        "undo": len(state.past),
        "redo": len(state.future),
        "steps_shown": state.step_count,
        "looks_back": state.looks_back,
        "row": state.selected,
        "buffer": state.buffer,
        "pane": state.pane,
        "comparison": None if state.comparison is None else [state.comparison.a.key, state.comparison.b.key],
    }


def _file(state: State, _: Store) -> Known:
    """The notebook's file: name, draft (whether it is an unsaved notebook that the server keeps), status ("none", "new", "saving", "saved",
    "failed", "asking"), durable, error (the reason why it cannot be saved or has no history), notice (about automatic changes),
    and `conflict`, the merge conflict with another writer: {"id", "who", "places": [{"line", "ours", "theirs"}]}, which the intent Resolve
    answers."""
    return file_state(state)


def _cells(state: State, _: Store) -> Known:
    """The cells in file order: index, kind, text with its marker."""
    if state.notebook is None:
        return []
    cells = enumerate(state.notebook.document.cells)
    return [{"index": index, "kind": cell.kind, "text": cell.text} for index, cell in cells]


def _steps(state: State, store: Store) -> Known:
    """The lines of the schedule: item (its number among all lines), step (its number among the enabled lines), text, line, status
    ("applied", "failed", "skipped", "off") and the error of the failed line."""
    notebook = state.notebook
    items = () if notebook is None else items_of(notebook, store) or ()
    found: list[dict[str, object]] = []
    for item in items:
        assert notebook is not None
        step = notebook.steps[item.step] if item.step is not None and item.step < len(notebook.steps) else None
        status = "off" if not item.on else "skipped" if step is None else step.status
        error = None if step is None or step.error is None else step.error.refusal.to_json()
        place = {"item": item.index, "step": item.step, "line": item.place.line, "text": item.text}
        found.append(place | {"status": status, "error": error})
    return found


def _branches(state: State, _: Store) -> Known:
    """The branches of the notebook: name, and whether it is the displayed one."""
    if state.notebook is None:
        return []
    return [{"name": b.name, "current": b.current} for b in branches(state.notebook.document)]


def _tree(state: State, store: Store) -> Known:
    """The loop nest, parents first: id, parent, depth, kind ("loop", "block"), name, and of a loop extent, loop_kind, reduces, of a block
    iters, reads, writes."""
    func = _func(state)
    if func is None:
        return []
    rows = store.remember(_ROWS(func, state.moment), lambda: tree_rows(func, moment=state.moment))
    return [_row_facts(row) for row in rows]


def _row_facts(row: Row) -> dict[str, object]:
    facts: dict[str, object] = {name: getattr(row, name) for name in (*ROW_FACTS, *FACTS_OF[row.kind])}
    return facts | {"variable": row.variable} if row.variable else facts


def _script(state: State, store: Store) -> Known:
    """The program at the displayed step, as TVMScript."""
    return "" if state.moment is None else store.script(state.moment.schedule)


def _python(state: State, store: Store) -> Known:
    """The schedule as Python for Apache TVM, or {"error"}."""
    return "" if state.moment is None else _or_error(store.exported(state.moment))


def _machine(state: State, store: Store) -> Known:
    """The machine with all parameters, under the paths that SetParameter accepts, or {"error"}."""
    machine = store.machine(state)
    return msgspec.to_builtins(machine) if isinstance(machine, Machine) else _or_error(machine)


def _report(state: State, store: Store) -> Known:
    """The simulation report of the program, as `tilewright run --json` prints it, or {"error"}."""
    report = store.known_report(state)
    if not isinstance(report, Report):
        return _or_error(report)
    notebook, count = state.shown, state.step_count
    assert notebook is not None, "a simulated program is displayed"
    told = store.once(with_origins, report, notebook, count)
    return told.to_json()


def _verdict(state: State, store: Store) -> Known:
    """Whether the scheduled and the original program have the same result: status ("proved", "tested", "failed", "unknown") and
    a sentence."""
    verdict = None if state.moment is None else store.verdict(state, state.moment.schedule)
    return None if verdict is None else {"status": verdict.status, "detail": verdict.detail}


def _problems(state: State, store: Store) -> Known:
    """Errors, refusals and lints: severity, code, message, rows, fixes (for ApplyFix; they were tested)."""
    linted = lints_now(state, store)
    report = store.known_report(state)
    if report is None or (isinstance(report, Report) and (linted is None or not linted.is_complete)):
        return None
    return problems_value(state, store).problems


def _rows(state: State, _: Store) -> Known:
    """The ids of all rows of the tree, in tree order."""
    func = _func(state)
    return [] if func is None else list(row_ids(func))


def _func(state: State) -> PrimFunc | None:
    return None if state.moment is None else state.moment.schedule.func


def _or_error(value: Any) -> Any:
    return {"error": value.refusal.to_json()} if isinstance(value, TilewrightError) else value


PARTS: dict[str, Callable[[State, Store], Known]] = {
    "notebook": _notebook,
    "file": _file,
    "cells": _cells,
    "steps": _steps,
    "branches": _branches,
    "rows": _rows,
    "tree": _tree,
    "script": _script,
    "python": _python,
    "machine": _machine,
    "report": _report,
    "verdict": _verdict,
    "problems": _problems,
}
"""The parts of the state by name. Each function's docstring describes its part; docs/api.md is generated from them."""

USUAL = ("notebook", "file", "steps", "tree")
"""The default parts, if a request names none."""
