"""A schedule cell's value: its lines as rows, with the changes of each, and the failing line with its possible fixes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import asdict, replace

from ....engine.adopt import hole_of, is_hole
from ....engine.ir import TilewrightError
from ....engine.schedule import PRIMITIVES
from ...document import Cell, Document, Notebook, NotebookStep
from ...document.cells import lines_of
from ...document.editing.conflicts import Conflict, StepChange, conflict_of
from ...document.editing.suggestions import culprit, suggestion
from ...document.items import Item, schedule_items
from ...state.derived import Store, attempt
from ...state.model import State
from ..labels.holes import Axis, axis_of
from ..labels.values import Trend, Value
from ..tree.structure import WORDS, Sign, chosen_changes
from .step_costs import StepCosts, StepFigure


class StepHole(Axis, frozen=True, kw_only=True):
    """A parameter in a line, and the variable that the line assigns; the first value is the default."""

    target: str


class TreeChange(Value, frozen=True):
    """A change of the tree by a step."""

    sign: Sign
    word: str
    text: str
    rows: tuple[str, ...]


class StepDetails(Value, frozen=True):
    """What the chosen step changed."""

    figures: Sequence[StepFigure]
    changes: list[TreeChange]


class ConflictText(Value, frozen=True):
    """A missing name, or an edit that caused a conflict."""

    text: str


class ConflictChoice(Value, frozen=True):
    """A way to continue: the message that does it; the view itself performs one of the kind "edit"."""

    label: str
    hint: str
    message: dict[str, object]


class StepConflict(Value, frozen=True, kw_only=True):
    """Why a step does not apply: what it needs, the edits that caused it, and the ways to continue; `waiting` counts the later steps."""

    title: str
    why: str
    found: str
    expected: str
    code: str
    needs: list[ConflictText]
    changes: list[ConflictText]
    waiting: int
    choices: list[ConflictChoice]


class ScheduleNote(Value, frozen=True):
    """A comment between the lines of the schedule that belongs to none of them."""

    text: str
    kind: Literal["note"] = "note"


class ScheduleLine(Value, frozen=True, kw_only=True):
    """A line of the schedule, or a disabled one ("off"). `item` is its number among all lines, `line` that in the
    file, `index` that among the enabled lines, `number` that of the step, `count` the number of lines up to it;
    `comment` stands behind it, `note` above it, `query`: it changes nothing; `underline` is the part of the text that the error is
    about. The chosen step has `details`, the one that does not apply a `conflict`."""

    kind: Literal["step", "off"]
    text: str
    item: int
    line: int
    comment: str
    note: str
    hole: StepHole | None = None
    index: int = 0
    number: int = 0
    count: int = 0
    status: Literal["", "applied", "failed", "skipped"] = ""
    query: bool = False
    error: str | None = None
    underline: tuple[int, int] | None = None
    change: str | None = None
    trend: Trend | None = None
    hint: str | None = None
    details: StepDetails | None = None
    conflict: StepConflict | None = None


def schedule_rows(
    cell: Cell, state: State, store: Store, changes: Mapping[int, StepCosts], items: Iterable[Item]
) -> list[ScheduleLine | ScheduleNote]:
    """The rows of a cell in the text's order."""
    notebook = state.notebook
    assert notebook is not None
    document = notebook.document
    end = _end_line(cell)
    mine = [item for item in items if cell.first_line <= item.place.line < end]
    numbers = notebook.step_numbers
    lines = lines_of(document.text)
    rows = [(item.place.line, _row(item, lines, notebook, numbers)) for item in mine]
    found = [(line, _findings(row, state, store, changes) if row.kind == "step" else row) for line, row in rows]
    found = [*found, *_notes(cell, mine, notebook)]
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def items_of(notebook: Notebook, store: Store) -> tuple[Item, ...] | None:
    """The lines of the schedule; None where its text cannot be read."""
    return None if notebook.unread else store.once(_items, notebook.document)


def _items(document: Document) -> tuple[Item, ...] | None:
    try:
        return schedule_items(document)
    except TilewrightError:
        return None


def conflict_value(conflict: Conflict, notebook: Notebook) -> StepConflict:
    """Why a step does not apply, and what can be done about it."""
    refusal = conflict.error.refusal
    was = "no longer applies" if conflict.applied_before else "does not apply"
    edits = conflict.changes if conflict.applied_before else ()
    return StepConflict(
        title=f"This step {was}",
        why=refusal.message,
        found=refusal.found,
        expected=refusal.expected,
        code=refusal.code,
        needs=[ConflictText(text) for text in _needs_text(conflict)],
        changes=[ConflictText(_change_text(change)) for change in edits],
        waiting=conflict.waiting,
        choices=list(_choices(conflict, notebook)),
    )


def _needs_text(conflict: Conflict) -> Iterator[str]:
    """The names that are missing, those of one line together."""
    for made_by in dict.fromkeys(need.made_by for need in conflict.needs):
        names = ", ".join(need.name for need in conflict.needs if need.made_by == made_by)
        yield f"{names}, created by `{_one_line(made_by)}`" if made_by else f"{names}, which no line creates"


def _choices(conflict: Conflict, notebook: Notebook) -> Iterator[ConflictChoice]:
    near = suggestion(notebook, conflict.error)
    repair = conflict.error.refusal.repair
    if near is not None and not any(need.made_by for need in conflict.needs):
        yield _choice("apply_suggestion", f"Replace with {near.new}", "The most similar existing name")
    elif repair:
        yield _choice(
            "apply_suggestion",
            f"Insert {'; '.join(map(str, repair))}",
            "Inserted before this step, it makes the step legal",
        )
    below = max((need.below for need in conflict.needs if need.below is not None), default=None)
    if below is not None:
        text = _short(schedule_items(notebook.document)[below].text)
        hint = "Its operands exist there"
        yield _choice("move_item", f"Move below {text}", hint, item=conflict.item, target=below, after=True)
    for change in conflict.changes if conflict.applied_before else ():
        if change.kind in ("removed", "off"):
            label = "Restore" if change.kind == "removed" else "Enable"
            yield _choice(
                "restore_step", f"{label} {_short(change.text)}", "Restores the line at its position", step=change.step
            )
    yield _choice("edit", "Edit step", "Change the call of this step")
    yield _choice("switch_item", "Disable step", "Keeps the line in the text, disabled", item=conflict.item, on=False)
    if conflict.waiting:
        yield _choice("skip_conflicts", "Disable all failing steps", "This step, and each later one that depends on it")
        yield _choice("stop_here", "Stop here", f"Disable this step and the {conflict.waiting} after it")


def _choice(kind: str, label: str, hint: str, **message: object) -> ConflictChoice:
    return ConflictChoice(label, hint, {"kind": kind, **message})


_CHANGES = {"removed": "removed", "off": "disabled", "edited": "edited", "moved": "moved", "added": "added"}


def _change_text(change: StepChange) -> str:
    if change.kind == "workload":
        return "the workload changed"
    return f"{_CHANGES[change.kind]}: {_one_line(change.text)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _short(text: str) -> str:
    text = _one_line(text)
    return text if len(text) <= 48 else f"{text[:46]} …"


def _row(item: Item, lines: list[str], notebook: Notebook, numbers: Mapping[int, int]) -> ScheduleLine:
    comment = _comment(item, lines)
    row = ScheduleLine(
        kind="off", item=item.index, line=item.place.line, text=item.text, comment=comment, note=item.note
    )
    if item.step is None:
        return row
    # Without a program there are lines, but no steps.
    step = notebook.steps[item.step] if item.step < len(notebook.steps) else None
    error = None if step is None else step.error
    return replace(
        row,
        kind="step",
        hole=None if step is None else _hole_value(step),
        index=item.step,
        number=numbers.get(item.step, 0),
        count=item.step + 1,
        status="skipped" if step is None else step.status,
        query=item.method not in PRIMITIVES,
        error=error.refusal.message if error is not None else None,
        underline=_underline(item, error, notebook),
    )


def _hole_value(step: NotebookStep) -> StepHole | None:
    if not is_hole(step.call):
        return None
    found = attempt("hole", lambda: hole_of(step.call))
    if isinstance(found, TilewrightError):
        return None
    return StepHole(**asdict(axis_of(found)), target=found.target)


def _underline(item: Item, error: TilewrightError | None, notebook: Notebook) -> tuple[int, int] | None:
    """The part of the row's text that an error is about, as offsets; of a text of several lines only a part of the first one."""
    place = None if error is None else culprit(notebook, error)
    if place is None or place.line != item.place.line or place.end_line != item.place.line:
        return None if error is None else (0, len(item.text))
    start = place.column - item.place.column
    return (start, start + place.end_column - place.column) if start >= 0 else None


def _comment(item: Item, lines: list[str]) -> str:
    if item.step is None:
        return ""
    behind = lines[item.place.end_line - 1][item.place.end_column - 1 :].strip()
    return behind.lstrip("#").strip() if behind.startswith("#") else ""


def _findings(row: ScheduleLine, state: State, store: Store, changes: Mapping[int, StepCosts]) -> ScheduleLine:
    """A step with its known results: its cost; its changes if it is selected; its conflict if it fails. While something is being typed, the
    editor reports the errors itself."""
    assert state.notebook is not None
    costs = changes.get(row.index, StepCosts()) if _is_shown(row, state) else StepCosts()
    row = replace(row, change=costs.change, trend=costs.trend, hint=costs.hint)
    if state.chosen_step == row.count and row.status == "applied":
        differences = [TreeChange(c.sign, WORDS[c.sign], c.text, c.rows) for c in chosen_changes(state, store)]
        row = replace(row, details=StepDetails(costs.figures, differences))
    if state.draft_of is not None:
        return replace(row, status="applied", error=None, underline=None)
    conflict = conflict_of(state.notebook, state.good) if row.status == "failed" else None
    return row if conflict is None else replace(row, conflict=conflict_value(conflict, state.notebook))


def _is_shown(row: ScheduleLine, state: State) -> bool:
    """Whether the displayed schedule has this step; while the text is invalid, another schedule may be displayed."""
    if state.shown is None or row.index >= len(state.shown.steps):
        return False
    return state.shown.steps[row.index].text == row.text


def _notes(cell: Cell, items: list[Item], notebook: Notebook) -> Iterator[tuple[int, ScheduleNote]]:
    """The comments between the lines that are above none of them."""
    document: Document = notebook.document
    taken = {line for item in items for line in range(item.first_line, item.place.end_line + 1)}
    for number, line in enumerate(lines_of(document.text)[cell.body_line - 1 : _end_line(cell) - 1], cell.body_line):
        text = line.strip()
        if number not in taken and text.startswith("#") and text.strip("# \t"):
            yield number, ScheduleNote(text.removeprefix("#").strip())


def _end_line(cell: Cell) -> int:
    return cell.first_line + len(lines_of(cell.text))


__all__ = ["conflict_value", "items_of", "schedule_rows"]
