"""The notebook column's value: the cells of the file, the schedule's lines as steps with what each one changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...engine.hwsim import Report
from ...engine.schedule import PRIMITIVES
from ..document import Cell, Notebook, NotebookStep
from ..state import State
from ..store import Store
from .numbers import change_of, grouped


def notebook_value(state: State, store: Store, changes: dict[int, dict[str, str]]) -> dict[str, Any]:
    """Cells in the file's order. `changes` is what `step_changes` found so far, by step."""
    if state.notebook is None:
        return {"title": "", "cells": [], "chosen": 0, "banner": None}
    notebook = state.notebook
    numbers = _numbers(notebook.steps)
    cells = [
        _cell(index, cell, _steps_in(cell, notebook), numbers, changes, notebook)
        for index, cell in enumerate(notebook.document.cells)
        if cell.kind != "preamble" or cell.text.strip()
    ]
    last = len(notebook.states) - 1
    banner = f"You are looking at the program after step {state.step_count} of {last}." if state.looks_back else None
    return {"title": state.title, "cells": cells, "chosen": state.step_count, "banner": banner}


def step_changes(state: State, store: Store) -> dict[int, dict[str, str]]:
    """By step, how the cycles changed with it. Simulates programs that were not simulated yet: not for the path of a drag."""
    found: dict[int, dict[str, str]] = {}
    if state.shown is None:
        return found
    machine = store.machine(state)
    reports = [store.report(store.costed(state, moment.schedule), machine) for moment in state.shown.states]
    for step in state.shown.steps:
        if step.index + 1 >= len(reports):
            break
        before, after = reports[step.index], reports[step.index + 1]
        if not isinstance(after, Report) or before is after:
            continue
        if not isinstance(before, Report):
            hint = f"The machine can run the program from here on: {grouped(after.cycles)} cycles"
            found[step.index] = {"change": "runs", "trend": "better", "hint": hint}
        elif before.cycles != after.cycles:
            text, trend = change_of(before.cycles, after.cycles)
            hint = f"{grouped(before.cycles)} → {grouped(after.cycles)} cycles"
            found[step.index] = {"change": text, "trend": trend, "hint": hint}
    return found


def _cell(
    index: int,
    cell: Cell,
    steps: Iterable[NotebookStep],
    numbers: dict[int, int],
    changes: dict[int, dict[str, str]],
    notebook: Notebook,
) -> dict[str, Any]:
    value: dict[str, Any] = {
        "index": index,
        "kind": cell.kind,
        "title": cell.title,
        "body": cell.body,
        "error": _error_in(cell, notebook),
    }
    if cell.kind == "markdown":
        value["prose"] = cell.prose
    if cell.kind == "schedule":
        value["steps"] = [_step(step, numbers.get(step.index, 0), changes.get(step.index, {})) for step in steps]
    return value


def _step(step: NotebookStep, number: int, change: dict[str, str]) -> dict[str, Any]:
    return {
        "index": step.index,
        "number": number,
        "count": step.index + 1,
        "text": step.text,
        "status": step.status,
        "query": step.call.method not in PRIMITIVES,
        "error": step.error.refusal.message if step.error is not None else None,
        "change": change.get("change"),
        "trend": change.get("trend", ""),
        "hint": change.get("hint"),
    }


def _numbers(steps: tuple[NotebookStep, ...]) -> dict[int, int]:
    """Steps that change the program are counted from 1; queries have no number."""
    changing = [step.index for step in steps if step.call.method in PRIMITIVES]
    return {index: number for number, index in enumerate(changing, 1)}


def _lines(cell: Cell) -> range:
    return range(cell.first_line, cell.first_line + max(1, len(cell.text.splitlines())))


def _steps_in(cell: Cell, notebook: Notebook) -> list[NotebookStep]:
    return [step for step in notebook.steps if step.place.line in _lines(cell)]


def _error_in(cell: Cell, notebook: Notebook) -> str | None:
    """The notebook's error where this cell holds it and no step says it already."""
    error = notebook.error
    if error is None or any(step.error is error for step in notebook.steps):
        return None
    place = error.refusal.place
    if place is None or place.line not in _lines(cell):
        return None
    return f"line {place.line}: {error.refusal.message}"
