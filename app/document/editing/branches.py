"""Branches: named alternatives of the schedule, stored in the file.

The schedule cells are the current branch, so `python file.py` runs it. Each other branch is a cell with the whole schedule (and the
prose between its cells) as comments, in the state in which the user left it:

    # %% branch: main
    # # %% schedule
    # sch = tilewright.Schedule(matmul)
    # …

    # %% branch (current): wide tiles

Switching exchanges the two texts and changes nothing else; switching back restores the same bytes. A file without branches has no
such cell, and its only branch is named "main". The text of a TileLang kernel has its schedule, so its branches have the workload cell, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ....engine.ir import Refusal
from ..cells import Cell, Document, lines_of, read_document
from ..files.read_write import DocumentError
from ..items import schedule_items
from ..workload import is_kernel, workload_cell

FIRST_NAME = "main"
MAX_NAME = 60
MAX_BRANCHES = 50

_TITLE = re.compile(r"branch[ \t]*(?P<current>\(current\))?[ \t]*:?[ \t]*(?P<name>.*)", re.IGNORECASE)


class Branch(msgspec.Struct, frozen=True):
    """A branch. `text` is its schedule cells: for the current branch those of the document, else the stored text, uncommented."""

    name: str
    current: bool
    text: str


def branches(document: Document) -> tuple[Branch, ...]:
    """The branches in the file's order, exactly one of them current; empty for a file without branches."""
    cells = document.of_kind("branch")
    named = {_name(cell): cell for cell in reversed(cells)}
    current = _current_cell(cells)
    shown = schedule_cells(document)
    found = [
        Branch(name, cell is current, shown if cell is current else _opened(cell))
        for name, cell in reversed(list(named.items()))
    ]
    if found and current is None:
        found.insert(0, Branch(_free(FIRST_NAME, [b.name for b in found]), True, shown))
    return tuple(found)


def current_branch(document: Document) -> str:
    """The name of the current branch."""
    return next((branch.name for branch in branches(document) if branch.current), FIRST_NAME)


def add_branch(document: Document, name: str, steps: int | None = None) -> Document:
    """The document on a new branch `name` with the first `steps` steps (None: all); the branch that was current is stored.

    Raises DocumentError "no-schedule", "bad-branch-name", "branch-exists", "too-many-branches".
    """
    known = branches(document)
    if not document.of_kind("schedule") and not is_kernel(document):
        raise DocumentError(Refusal("no-schedule", "there is no schedule to branch from", expected="a schedule cell"))
    name = _checked(name, {branch.name for branch in known} or {FIRST_NAME})
    if len(known) >= MAX_BRANCHES:
        raise DocumentError(
            Refusal("too-many-branches", f"the notebook has {len(known)} branches", expected=f"at most {MAX_BRANCHES}")
        )
    document = _named(document)
    (cell,) = [c for c in document.of_kind("branch") if _is_current(c)]
    newline = document.newline
    kept = _marker(_name(cell), newline) + _closed(schedule_cells(document), newline) + (_tail(cell) or newline)
    new = _marker(name, newline, current=True) + newline
    return _cut(_with_cells(document, {cell: kept + new}), steps)


def with_branch(document: Document, name: str) -> Document:
    """The document switched to branch `name`; the branch that was current is stored. Raises DocumentError "no-such-branch"."""
    cell = _cell_of(document, name)
    if cell is None or _is_shown(document, cell):
        return document
    document = _named(document)
    cell = _cell_of(document, name)
    assert cell is not None
    (shown,) = [c for c in document.of_kind("branch") if _is_current(c)]
    newline = document.newline
    texts = {
        shown: _marker(_name(shown), newline) + _closed(schedule_cells(document), newline) + (_tail(shown) or newline),
        cell: _marker(name, newline, current=True) + _tail(cell),
    }
    opened = _opened(cell)
    return with_schedule(_with_cells(document, texts), opened)


def rename_branch(document: Document, name: str, new: str) -> Document:
    """The document with branch `name` renamed to `new`. Raises DocumentError "no-such-branch", "bad-branch-name", "branch-exists"."""
    cell = _cell_of(document, name)
    if name == new:
        return document
    new = _checked(new, {branch.name for branch in branches(document)})
    document = _named(document)
    cell = _cell_of(document, name) or next(c for c in document.of_kind("branch") if _is_current(c))
    marker = _marker(new, document.newline, current=_is_current(cell))
    return _with_cells(document, {cell: marker + cell.body})


def delete_branch(document: Document, name: str) -> Document:
    """The document without a branch. If only "main" remains, its cell is removed too. Raises DocumentError "current-branch"."""
    cell = _cell_of(document, name)
    if cell is None or _is_shown(document, cell):
        raise DocumentError(
            Refusal("current-branch", f"branch {name!r} is the current branch", expected="another branch to be current")
        )
    document = _with_cells(document, {cell: ""})
    left = document.of_kind("branch")
    if len(left) == 1 and _is_current(left[0]) and _name(left[0]) == FIRST_NAME:
        document = _with_cells(document, {left[0]: ""})
    return document


def steps_shared(document: Document, name: str) -> int:
    """The number of leading steps that a branch shares with the current one."""
    here = schedule_items(document)
    there = schedule_items(with_branch(document, name))
    same = 0
    for one, other in zip(here, there, strict=False):
        if one.text != other.text or one.on != other.on:
            break
        same += one.on
    return same


def _checked(name: str, taken: set[str]) -> str:
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise DocumentError(
            Refusal("bad-branch-name", "invalid branch name", found=name[:80], expected=f"1 to {MAX_NAME} characters")
        )
    if name in taken:
        raise DocumentError(Refusal("branch-exists", f"branch {name!r} already exists", expected="another name"))
    return name


def _named(document: Document) -> Document:
    """The document with a cell that names the current branch."""
    if any(_is_current(cell) for cell in document.of_kind("branch")):
        return document
    newline, text = document.newline, document.text
    gap = "" if text.endswith(newline * 2) else newline if text.endswith(("\n", "\r")) else newline * 2
    name = current_branch(document)
    return read_document(text + gap + _marker(name, newline, current=True), document.path)


def _cell_of(document: Document, name: str) -> Cell | None:
    """The cell of a branch; None for the current branch of a file that does not name it."""
    for cell in document.of_kind("branch"):
        if _name(cell) == name:
            return cell
    if name == current_branch(document):
        return None
    names = ", ".join(branch.name for branch in branches(document))
    raise DocumentError(Refusal("no-such-branch", f"there is no branch {name!r}", expected=names or "no branches yet"))


def _current_cell(cells: tuple[Cell, ...]) -> Cell | None:
    return next((cell for cell in cells if _is_current(cell)), None)


def _is_current(cell: Cell) -> bool:
    found = _TITLE.match(cell.title)
    return found is not None and found["current"] is not None


def _is_shown(document: Document, cell: Cell) -> bool:
    return cell is _current_cell(document.of_kind("branch"))


def _name(cell: Cell) -> str:
    found = _TITLE.match(cell.title)
    return (found["name"].strip() if found else "") or "unnamed"


def _free(name: str, taken: list[str]) -> str:
    number, free = 1, name
    while free in taken:
        number, free = number + 1, f"{name} {number + 1}"
    return free


def _marker(name: str, newline: str, *, current: bool = False) -> str:
    return f"# %% branch{' (current)' if current else ''}: {name}{newline}"


# Conversion of a schedule to comments and back.


def _closed(text: str, newline: str) -> str:
    return "".join(_closed_line(line if line.endswith(("\n", "\r")) else line + newline) for line in lines_of(text))


def _closed_line(line: str) -> str:
    # "# %%" would open a cell.
    return f"#{line}" if not line.rstrip("\r\n") else f"#| {line}" if line.lstrip().startswith("%%") else f"# {line}"


def _opened(cell: Cell) -> str:
    return "".join(re.sub(r"#(\| | )?", "", line, count=1) for line in lines_of(cell.body) if line.startswith("#"))


def _tail(cell: Cell) -> str:
    """The text below a cell's comments, or below its marker if it has none: empty lines or text that the user wrote."""
    lines = lines_of(cell.body)
    last = max((n for n, line in enumerate(lines, 1) if line.startswith("#")), default=0)
    return "".join(lines[last:])


# The text of the schedule cells.


def _schedule_span(document: Document, *, with_kernel: bool = True) -> tuple[int, int]:
    """The half-open cell range from the first to the last schedule cell, with that of a TileLang kernel."""
    kernel = workload_cell(document) if with_kernel and is_kernel(document) else None
    numbers = [n for n, cell in enumerate(document.cells) if cell.kind == "schedule" or cell is kernel]
    return (numbers[0], numbers[-1] + 1) if numbers else (len(document.cells), len(document.cells))


def schedule_cells(document: Document, *, with_kernel: bool = True) -> str:
    """The schedule cells and the cells between them (branch cells excepted), without the empty lines at the end."""
    first, end = _schedule_span(document, with_kernel=with_kernel)
    text = "".join(cell.text for cell in document.cells[first:end] if cell.kind != "branch")
    kept = text.rstrip()
    return kept + (re.match(r"[ \t]*(\r\n|\r|\n|$)", text[len(kept) :]) or [""])[0]


def with_schedule(document: Document, text: str) -> Document:
    """The document with the schedule of the current branch replaced by `text`, a sequence of cells."""
    with_kernel = workload_cell(read_document(text)) is not None
    first, end = _schedule_span(document, with_kernel=with_kernel)
    between = [cell for cell in document.cells[first:end] if cell.kind == "branch"]
    whole = "".join(cell.text for cell in document.cells[first:end] if cell.kind != "branch")
    rest = whole[len(schedule_cells(document, with_kernel=with_kernel)) :]
    above = "".join(cell.text for cell in document.cells[:first])
    below = "".join(cell.text for cell in (*between, *document.cells[end:]))
    return read_document(above + text + rest + below, document.path)


def _cut(document: Document, steps: int | None) -> Document:
    """The document without the schedule text after the first `steps` steps."""
    items = schedule_items(document)
    last = [item for item in items if item.step is not None and (steps is None or item.step < steps)]
    if steps is None or len(last) == sum(item.on for item in items):
        return document
    line = last[-1].place.end_line if last else items[0].place.line - 1
    lines = lines_of(document.text)
    first, _ = _schedule_span(document)
    start = sum(len(cell.text) for cell in document.cells[:first])
    kept = "".join(lines[:line])[start:]
    return with_schedule(document, kept)


def _with_cells(document: Document, texts: Mapping[Cell, str]) -> Document:
    """The document with the texts of some cells replaced."""
    found = {id(cell): text for cell, text in texts.items()}
    return read_document("".join(found.get(id(cell), cell.text) for cell in document.cells), document.path)


__all__ = [
    "Branch",
    "add_branch",
    "branches",
    "current_branch",
    "delete_branch",
    "rename_branch",
    "schedule_cells",
    "steps_shared",
    "with_branch",
    "with_schedule",
]
