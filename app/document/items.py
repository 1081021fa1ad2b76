"""The schedule's lines as editable items: steps and disabled steps.

A disabled step stays in its place as a comment, `# off: sch.double_buffer(AL)`; a statement of several lines has the prefix on each line.
Python and `evaluate` ignore it. This module distinguishes it from other comments and restores its exact bytes when it is enabled. Every
edit leaves all other text unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ...engine.ir import Place, Refusal, TilewrightError
from ...engine.script import CallStep, find_tree, read_calls
from .calls import schedule_calls
from .cells import Cell, Document, lines_of, read_document
from .editing.apply import remove_call, replace_call, whole_lines
from .files.read_write import DocumentError

OFF = "# off: "
MOST_LINES = 64
"""The most lines of a disabled statement; a longer one is treated as a plain comment."""

_CELL = re.compile(r"#[ \t]*%%")
_OFF_LINE = re.compile(r"#[ \t]*off:[ ]?")


class Item(msgspec.Struct, frozen=True, eq=False):
    """An enabled or disabled step, in the file's order. `index` counts all items from 0, `step` only enabled ones (None: disabled).

    `text` is the statement, a call of `method`; `place` is its range in the file, for a disabled step its full lines. `note` is the comment
    directly above it, which begins on `first_line`.
    """

    index: int
    text: str
    method: str
    place: Place
    step: int | None
    first_line: int
    note: str

    @property
    def on(self) -> bool:
        """Whether the step is enabled."""
        return self.step is not None


def schedule_items(document: Document) -> tuple[Item, ...]:
    """The items below `sch = tilewright.Schedule(...)`. Raises ParseError if the schedule cannot be read."""
    calls = schedule_calls(document)
    taken = {line for call in calls for line in range(call.place.line, call.place.end_line + 1)}
    found = [(call.place, call, True) for call in calls[1:]]
    first = calls[0].place.line if calls else 0
    for cell in document.of_kind("schedule") if calls else ():
        found += ((place, call, False) for place, call in _switched_off(cell, taken) if place.line > first)
    found.sort(key=lambda item: (item[0].line, item[0].column))
    items: list[Item] = []
    step, lines = 0, lines_of(document.text)
    for index, (place, call, on) in enumerate(found):
        start = _first_line(lines, place, _cell_at(document, place.line).body_line)
        note = "\n".join(line.strip()[1:].strip() for line in lines[start - 1 : place.line - 1])
        items.append(Item(index, call.text, call.method, place, step if on else None, start, note))
        step += on
    return tuple(items)


def switch_off(document: Document, index: int) -> Document:
    """The document with a step disabled, as a comment that `switch_on` can restore."""
    document = _alone(document, index)
    item = item_of(document, index)
    return _with_lines(document, item, [OFF + line for line in _lines_of(document, item)]) if item.on else document


def switch_on(document: Document, index: int) -> Document:
    """The document with a disabled step enabled in its place."""
    item = item_of(document, index)
    if item.on:
        return document
    return _with_lines(document, item, [_OFF_LINE.sub("", line, count=1) for line in _lines_of(document, item)])


def with_comment(document: Document, index: int, text: str) -> Document:
    """The document with `text` as the comment above a step; without text it has none. Raises DocumentError "bad-comment" for a line that
    would be a disabled step or a cell."""
    document = _alone(document, index)
    item = item_of(document, index)
    written = [f"# {line.strip()}" for line in text.splitlines() if line.strip()]
    for line in written:
        if not _is_comment(line):
            message = "a comment of a step cannot begin with off: or %%"
            raise DocumentError(Refusal("bad-comment", message, found=line[:80]))
    lines = lines_of(document.text)
    first = item.first_line - 1
    added = [line + document.newline for line in written]
    return read_document("".join([*lines[:first], *added, *lines[item.place.line - 1 :]]), document.path)


def _first_line(lines: Sequence[str], place: Place, top: int) -> int:
    """The line in the file where a step begins with the comment above it; `top` is the first line of its cell's text."""
    first = place.line
    if lines[first - 1][: place.column - 1].strip():
        return first  # behind another statement
    while first > top and _is_comment(lines[first - 2]):
        first -= 1
    return first


def _is_comment(line: str) -> bool:
    text = line.strip()
    return text.startswith("#") and bool(text.strip("# \t")) and not _OFF_LINE.match(text) and not _CELL.match(text)


def remove_item(document: Document, index: int) -> Document:
    """The document without a step, enabled or disabled, and without its comment."""
    item = item_of(document, index)
    removed = _with_lines(document, item, []) if item.step is None else remove_call(document, item.step)
    if not item.note:
        return removed
    lines = lines_of(removed.text)
    del lines[item.first_line - 1 : item.place.line - 1]
    return read_document("".join(lines), document.path)


def replace_item(document: Document, index: int, text: str) -> Document:
    """The document with a step's statement replaced by `text` (a disabled step stays disabled); an empty `text` removes it."""
    item = item_of(document, index)
    if not text.strip():
        return remove_item(document, index)
    if item.step is not None:
        return replace_call(document, item.step, text)
    return _with_lines(document, item, [OFF + line for line in lines_of(whole_lines(text, document.newline))])


def insert_item(document: Document, index: int, text: str) -> Document:
    """The document with `text` (one or more lines) inserted before an item."""
    document = _alone(document, index)
    item = item_of(document, index)
    added = lines_of(whole_lines(text, document.newline))
    lines = lines_of(document.text)
    first = item.first_line - 1
    return read_document("".join([*lines[:first], *added, *lines[first:]]), document.path)


def move_item(document: Document, index: int, target: int, *, after: bool = False) -> Document:
    """The document with an item moved before (or with `after`, behind) item `target`. Its comments move with it."""
    if target == index or target == (index - 1 if after else index + 1):
        # The item is already there, unless a cell boundary lies between.
        near, item = item_of(document, target), item_of(document, index)
        if target == index or _cell_at(document, near.place.line) is _cell_at(document, item.place.line):
            return document
    for other in sorted((index, target), reverse=True):
        document = _alone(document, other)
    item, near = item_of(document, index), item_of(document, target)
    return _moved(document, item, near.place.end_line if after else near.first_line - 1)


def takes_steps(document: Document, cell: Cell) -> bool:
    """Whether a step can be placed at the end of `cell`: a schedule cell that contains the schedule's first line or comes after it."""
    calls = schedule_calls(document)
    end = cell.first_line + len(lines_of(cell.text))
    return cell.kind == "schedule" and bool(calls) and calls[0].place.end_line < end


def move_item_into(document: Document, index: int, cell: int) -> Document:
    """The document with an item moved to the end of a schedule cell, which may be empty. Raises DocumentError "not-a-schedule"."""
    goal = document.cells[cell] if 0 <= cell < len(document.cells) else None
    if goal is None or not takes_steps(document, goal):
        raise DocumentError(
            Refusal("not-a-schedule", "a step can only be moved to a cell after the start of its schedule")
        )
    document = _alone(document, index)
    item, goal = item_of(document, index), document.cells[cell]
    body = lines_of(goal.text)
    while len(body) > 1 and not body[-1].strip():
        body.pop()
    return _moved(document, item, goal.first_line - 1 + len(body))


def item_of(document: Document, index: int) -> Item:
    """The item at `index`. Raises DocumentError "no-such-step"."""
    items = schedule_items(document)
    if not 0 <= index < len(items):
        expected = f"0 to {len(items) - 1}" if items else "no steps yet"
        raise DocumentError(Refusal("no-such-step", f"the schedule has no line {index}", expected=expected))
    return items[index]


def item_of_step(document: Document, step: int) -> Item:
    """The item of a step. Raises DocumentError "no-such-step"."""
    for item in schedule_items(document):
        if item.step == step:
            return item
    raise DocumentError(Refusal("no-such-step", f"the schedule has no step {step}"))


def _switched_off(cell: Cell, taken: set[int]) -> Iterator[tuple[Place, CallStep]]:
    """The disabled steps of a cell, outside of statement lines (`taken`)."""
    run: list[str] = []
    lines = lines_of(cell.body)
    for number, line in enumerate([*lines, ""], cell.body_line):
        sign = _OFF_LINE.match(line)
        if sign is not None and number not in taken:
            run.append(line)
            continue
        yield from _statements(run, number - len(run))
        run = []


def _statements(lines: Sequence[str], first_line: int) -> Iterator[tuple[Place, CallStep]]:
    """The statements that can be read as a step, in consecutive prefixed lines; the first line's number is `first_line`."""
    bare = [_OFF_LINE.sub("", line, count=1) for line in lines]
    for start, end in _spans(bare):
        text = "".join(bare[start:end]).rstrip("\r\n")
        try:
            calls = read_calls(text)
        except TilewrightError:
            continue
        if len(calls) == 1:
            yield (
                Place(first_line + start, 1, first_line + end - 1, len(lines[end - 1].rstrip("\r\n")) + 1),
                calls[0],
            )


def _spans(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The line range (start, end) of each statement; a line that begins no statement is a plain comment."""
    start = 0
    while start < len(lines):
        ends = range(start + 1, min(len(lines), start + MOST_LINES) + 1)
        end = next((end for end in ends if _is_statement("".join(lines[start:end]))), None)
        if end is not None:
            yield start, end
        start = end or start + 1


def _is_statement(text: str) -> bool:
    tree = find_tree(text)
    return tree is not None and len(tree.body) == 1


def _alone(document: Document, index: int) -> Document:
    """The document with an item on separate lines: statements joined by semicolons are split into lines."""
    item = item_of(document, index)
    if item.step is None:
        return document
    lines = lines_of(document.text)
    first, last = lines[item.place.line - 1], lines[item.place.end_line - 1]
    before, after = first[: item.place.column - 1], last[item.place.end_column - 1 :]
    behind = re.match(r"[ \t]*;[ \t]*(?=[^ \t\r\n#])", after)
    if behind is not None:
        cut = item.place.end_column - 1
        lines[item.place.end_line - 1] = last[:cut] + document.newline + last[cut + behind.end() :]
    ahead = re.search(r"(?<![ \t])[ \t]*;[ \t]*$", before)
    if ahead is not None:
        line = lines[item.place.line - 1]
        lines[item.place.line - 1] = before[: ahead.start()] + document.newline + line[len(before) :]
    return read_document("".join(lines), document.path) if behind or ahead else document


def _cell_at(document: Document, line: int) -> Cell:
    return next(cell for cell in reversed(document.cells) if cell.first_line <= line)


def _lines_of(document: Document, item: Item) -> list[str]:
    return lines_of(document.text)[item.place.line - 1 : item.place.end_line]


def _moved(document: Document, item: Item, at: int) -> Document:
    """The document with an item's lines moved after the first `at` lines."""
    lines = lines_of(document.text)
    ended = document.text.endswith(("\n", "\r"))
    lines[-1] += "" if ended else document.newline
    first = item.first_line - 1
    moved = lines[first : item.place.end_line]
    rest = lines[:first] + [""] * len(moved) + lines[item.place.end_line :]
    text = "".join([*rest[:at], *moved, *rest[at:]])
    return read_document(text if ended else text.removesuffix(document.newline), document.path)


def _with_lines(document: Document, item: Item, new: Sequence[str]) -> Document:
    lines = lines_of(document.text)
    text = "".join([*lines[: item.place.line - 1], *new, *lines[item.place.end_line :]])
    return read_document(text, document.path)


__all__ = [
    "Item",
    "insert_item",
    "item_of",
    "item_of_step",
    "move_item",
    "move_item_into",
    "remove_item",
    "replace_item",
    "schedule_items",
    "switch_off",
    "switch_on",
    "takes_steps",
    "with_comment",
]
