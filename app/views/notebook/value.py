"""The notebook column's value: the cells of the file, the branches of its schedule, and the errors of its text with their places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....engine.ir import TilewrightError
from ...document import Cell, Notebook
from ...document.cells import lines_of
from ...document.editing.branches import branches, steps_shared
from ...document.editing.suggestions import culprit, suggestion
from ...document.items import Item, takes_steps
from ...document.notebook import GIVEN_UP, revision_of
from ...document.posts import Post
from ...state.derived import Store
from ...state.model import State
from .file_status import file_banners
from .step_costs import known_changes
from .steps import items_of, schedule_rows

__all__ = ["known_changes", "notebook_value"]


def notebook_value(state: State, store: Store, changes: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Cells in the file's order. `changes` is what `known_changes` found so far, by step.

    banners [{kind, text, count, others [{number, label}]}], branches [{name, current, steps, shared}], problems [{line, column, end_line,
    end_column, message, found, expected, code, mend}] with the file's lines; `draft`: something is being typed; `revision`: by this the
    text is known that is shown.
    """
    if state.notebook is None:
        return {"title": "", "cells": [], "chosen": 0, "banners": [], "branches": [], "problems": [], "draft": False}
    notebook = state.notebook
    items = items_of(notebook, store)
    cells = [
        _cell(index, cell, state, store, changes, items)
        for index, cell in enumerate(notebook.document.cells)
        if cell.kind != "branch" and (cell.kind != "preamble" or cell.text.strip())
    ]
    return {
        "title": state.title,
        "revision": revision_of(notebook),
        "cells": cells,
        "chosen": state.step_count,
        "examined": state.chosen_step is not None,
        "banners": [*file_banners(state), *_banners(state)],
        "branches": store.remember("branches", (notebook.document,), lambda: _branches(notebook)),
        "problems": _problems(notebook),
        "draft": state.draft_of is not None,
    }


def _banners(state: State) -> list[dict[str, Any]]:
    """The banners about the displayed program: it is one of several, of an earlier step, or of the last valid text."""
    notebook, shown = state.notebook, state.shown
    assert notebook is not None
    found: list[dict[str, Any]] = []
    if state.post is not None and (len(state.post.labels) > 1 or state.post.has_graph):
        found.append(_choice_banner(state.post, state.folder))
    if state.looks_back and shown is not None:
        numbers = shown.step_numbers
        here = sum(index < state.step_count for index in numbers)
        there = sum(index < len(shown.states) - 1 for index in numbers)
        text = f"The page shows the program after step {here} of {there}."
        found.append({"kind": "back", "text": text, "count": state.step_count})
    error = notebook.error
    if error is None:
        return found
    place = error.refusal.place
    where = f"Line {place.line}" if place is not None else "The text"
    if shown is None or shown.document.text != notebook.document.text:
        fault = "was not evaluated" if error.code == GIVEN_UP else "has an error"
        text = f"{where} {fault}. The views show the last valid program."
        found.append({"kind": "stale", "text": text, "count": None})
    elif any(step.status == "failed" for step in notebook.steps):
        applied = len(notebook.states) - 1
        text = f"{where} does not apply. The views show the program after the {applied} line{'s' * (applied != 1)} before it."
        found.append({"kind": "stopped", "text": text, "count": None})
    return found


def _choice_banner(post: Post, folder: str) -> dict[str, Any]:
    """The other programs of the text that was opened, and the model that it describes; a model needs a `folder`."""
    count, can_be_model = len(post.labels), post.has_graph and bool(folder)
    text = (
        f"The text has {count} {post.words if count > 1 else post.words[:-1]}. This is {post.labels[post.number - 1]}."
    )
    if post.has_graph and not can_be_model:
        text += " tilewright import FILE -o FOLDER makes a model of its graph."
    others = [{"number": n, "label": label} for n, label in enumerate(post.labels, 1) if n != post.number]
    return {"kind": "programs", "text": text, "count": post.number, "others": others, "model": can_be_model}


def _branches(notebook: Notebook) -> list[dict[str, Any]]:
    """Name, whether it is the current one, and how many of the first steps it shares with that."""

    def shared(name: str) -> int | None:
        try:
            return steps_shared(notebook.document, name)
        except TilewrightError:
            return None

    return [
        {"name": branch.name, "current": branch.current, "shared": None if branch.current else shared(branch.name)}
        for branch in branches(notebook.document)
    ]


def _problems(notebook: Notebook) -> list[dict[str, Any]]:
    errors = [notebook.error, *(step.error for step in notebook.steps)]
    return [_problem(notebook, error) for error in dict.fromkeys(errors) if error is not None]


def _problem(notebook: Notebook, error: TilewrightError) -> dict[str, Any]:
    """An error with its place; `mend` is the replacement text of the fix, if any."""
    refusal, place, near = error.refusal, culprit(notebook, error), suggestion(notebook, error)
    return {
        "line": place.line if place is not None else None,
        "column": place.column if place is not None else None,
        "end_line": place.end_line if place is not None else None,
        "end_column": place.end_column if place is not None else None,
        "message": refusal.message,
        "found": refusal.found,
        "expected": refusal.expected,
        "code": refusal.code,
        "mend": near.new if near is not None else None,
    }


def _cell(
    index: int,
    cell: Cell,
    state: State,
    store: Store,
    changes: Mapping[int, Mapping[str, Any]],
    items: tuple[Item, ...] | None,
) -> dict[str, Any]:
    """index, kind, title, body, first_line (of the body), lines (of it); prose of markdown; rows of a schedule that can be read;
    of one without steps whether it `takes_steps`."""
    value: dict[str, Any] = {
        "index": index,
        "kind": cell.kind,
        "title": cell.title,
        "body": cell.body,
        "first_line": cell.body_line,
        "lines": len(lines_of(cell.body)),
    }
    if cell.kind == "markdown":
        value["prose"] = cell.prose
    if cell.kind == "schedule":
        rows = None if items is None else schedule_rows(cell, state, store, changes, items)
        value["rows"] = rows
        if rows is not None and all(row["kind"] == "note" for row in rows):
            assert state.notebook is not None
            value["takes_steps"] = takes_steps(state.notebook.document, cell)
    return value
