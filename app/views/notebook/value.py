"""The notebook column's value: the cells of the file, the branches of its schedule, and the errors of its text with their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ....engine.ir import TilewrightError
from ...document import Cell, Notebook
from ...document.cells import lines_of
from ...document.editing.branches import branches, steps_shared
from ...document.editing.suggestions import culprit, suggestion
from ...document.items import Item, takes_steps
from ...document.notebook import GIVEN_UP, revision_of
from ...document.posts import Post
from ...state.addresses import Address
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import RelatedPage, State
from ..labels.values import Value
from .file_status import Banner, OtherProgram, PageLink, file_banners
from .step_costs import StepCosts, known_changes
from .steps import ScheduleLine, ScheduleNote, items_of, schedule_rows

__all__ = ["known_changes", "notebook_value"]


MOST_CALLS = 3
"""The calls of a post whose documentation is offered."""

_BRANCHES = Derived["list[NotebookBranch]"]("branches")


class NotebookBranch(Value, frozen=True):
    """A branch, and how many of the first steps it shares with the current one; None for that one, or if its text cannot be read."""

    name: str
    current: bool
    shared: int | None


class TextProblem(Value, frozen=True, kw_only=True):
    """An error of the text. Lines of the file and columns count from 1; `mend` is the replacement text of the fix."""

    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    message: str
    found: str
    expected: str
    code: str
    mend: str | None


class NotebookCell(Value, frozen=True, kw_only=True, omit_defaults=True):
    """A cell. `first_line` is that of its body, `lines` counts them; one of Markdown has `prose`, a schedule that
    can be read its `rows`; one without steps may take the steps of drags."""

    index: int
    kind: str
    title: str
    body: str
    first_line: int
    lines: int
    prose: str | None = None
    rows: list[ScheduleLine | ScheduleNote] | None = None
    takes_steps: bool = False


class NotebookColumn(Value, frozen=True, kw_only=True):
    """The cells in the order of the file. `chosen` is the number of lines that the displayed program has,
    `examined`: a step was selected; `draft`: something is being typed; `revision` identifies the text that is shown."""

    title: str = ""
    revision: int = 0
    cells: Sequence[NotebookCell] = ()
    chosen: int = 0
    examined: bool = False
    banners: Sequence[Banner] = ()
    branches: Sequence[NotebookBranch] = ()
    problems: Sequence[TextProblem] = ()
    draft: bool = False


def notebook_value(state: State, store: Store, changes: Mapping[int, StepCosts]) -> NotebookColumn:
    """The column's value. `changes` is what `known_changes` found so far, by step."""
    if state.notebook is None:
        return NotebookColumn()
    notebook = state.notebook
    items = items_of(notebook, store)
    cells = [
        _cell(index, cell, state, store, changes, items)
        for index, cell in enumerate(notebook.document.cells)
        if cell.kind != "branch" and (cell.kind != "preamble" or cell.text.strip())
    ]
    return NotebookColumn(
        title=state.title,
        revision=revision_of(notebook),
        cells=cells,
        chosen=state.step_count,
        examined=state.chosen_step is not None,
        banners=[*file_banners(state), *_banners(state)],
        branches=store.remember(_BRANCHES(notebook.document), lambda: _branches(notebook)),
        problems=_problems(notebook),
        draft=state.draft_of is not None,
    )


def _banners(state: State) -> list[Banner]:
    """The banners about the displayed program: it is one of several, of an earlier step, or of the last valid text."""
    notebook, shown = state.notebook, state.shown
    assert notebook is not None
    found: list[Banner] = []
    if state.post is not None and (len(state.post.labels) > 1 or state.post.has_graph):
        found.append(_choice_banner(state.post))
    if state.related:
        found.append(_related_banner(state.related))
    if state.looks_back and shown is not None:
        numbers = shown.step_numbers
        here = sum(index < state.step_count for index in numbers)
        there = sum(index < len(shown.states) - 1 for index in numbers)
        text = f"The page shows the program after step {here} of {there}."
        found.append(Banner("back", text, state.step_count))
    error = notebook.error
    if error is None:
        return found
    place = error.refusal.place
    where = f"Line {place.line}" if place is not None else "The text"
    if shown is None or shown.document.text != notebook.document.text:
        fault = "was not evaluated" if error.code == GIVEN_UP else "has an error"
        text = f"{where} {fault}. The views show the last valid program."
        found.append(Banner("stale", text, None))
    elif any(step.status == "failed" for step in notebook.steps):
        applied = len(notebook.states) - 1
        text = f"{where} does not apply. The views show the program after the {applied} line{'s' * (applied != 1)} before it."
        found.append(Banner("stopped", text, None))
    return found


def _related_banner(related: Sequence[RelatedPage]) -> Banner:
    """The worked examples and pages of the guide about the calls of the post."""
    examples = [one for one in related if one.kind == "example"]
    calls = tuple(dict.fromkeys(call for one in examples or related for call in one.calls))
    if related[0].is_answer:
        text = "A worked example answers this post."
    else:
        text = f"{'Worked examples' if examples else 'The guide'} with {', '.join(calls)}."
    links = tuple(PageLink(Address("example", one.name).path, one.title) for one in examples)
    guide = tuple(PageLink(one.name, one.title) for one in related if one.kind == "guide")
    return Banner("related", text, None, links=links, guide=guide, calls=calls[:MOST_CALLS])


def _choice_banner(post: Post) -> Banner:
    """The other programs of the text that was opened, and the model that it describes."""
    count = len(post.labels)
    text = (
        f"The text has {count} {post.words if count > 1 else post.words[:-1]}. This is {post.labels[post.number - 1]}."
    )
    others = tuple(OtherProgram(n, label) for n, label in enumerate(post.labels, 1) if n != post.number)
    return Banner("programs", text, post.number, others, post.has_graph)


def _branches(notebook: Notebook) -> list[NotebookBranch]:

    def shared(name: str) -> int | None:
        try:
            return steps_shared(notebook.document, name)
        except TilewrightError:
            return None

    return [
        NotebookBranch(branch.name, branch.current, None if branch.current else shared(branch.name))
        for branch in branches(notebook.document)
    ]


def _problems(notebook: Notebook) -> list[TextProblem]:
    errors = [notebook.error, *(step.error for step in notebook.steps)]
    return [_problem(notebook, error) for error in dict.fromkeys(errors) if error is not None]


def _problem(notebook: Notebook, error: TilewrightError) -> TextProblem:
    refusal, place, near = error.refusal, culprit(notebook, error), suggestion(notebook, error)
    return TextProblem(
        line=place.line if place is not None else None,
        column=place.column if place is not None else None,
        end_line=place.end_line if place is not None else None,
        end_column=place.end_column if place is not None else None,
        message=refusal.message,
        found=refusal.found,
        expected=refusal.expected,
        code=refusal.code,
        mend=near.new if near is not None else None,
    )


def _cell(
    index: int,
    cell: Cell,
    state: State,
    store: Store,
    changes: Mapping[int, StepCosts],
    items: tuple[Item, ...] | None,
) -> NotebookCell:
    value = NotebookCell(
        index=index,
        kind=cell.kind,
        title=cell.title,
        body=cell.body,
        first_line=cell.body_line,
        lines=len(lines_of(cell.body)),
        prose=cell.prose if cell.kind == "markdown" else None,
    )
    if cell.kind != "schedule" or items is None:
        return value
    assert state.notebook is not None
    rows = schedule_rows(cell, state, store, changes, items)
    is_empty = all(row.kind == "note" for row in rows)
    return replace(value, rows=rows, takes_steps=is_empty and takes_steps(state.notebook.document, cell))
