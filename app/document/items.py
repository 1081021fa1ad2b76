"""The lines of the schedule as things to move about: steps, and steps that are switched off.

A step that is switched off stays where it is as a comment, `# off: sch.double_buffer(AL)`, a longer one with the sign before each of its
lines. Python passes it over and so does `evaluate`; here it is told from other comments, and switched on again it is what it was, byte for
byte. Every edit leaves all that it is not about as it stands.
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
"""A longer statement that is switched off is a comment like others."""

_OFF_LINE = re.compile(r"#[ \t]*off:[ ]?")


class Item(msgspec.Struct, frozen=True, eq=False):
    """A step or one that is switched off, in the file's order. `index` counts all items from 0, `step` the steps alone (None: it is off).

    `text` is the statement, a call of `method`; `place` its range in the file, of one that is off all of its lines.
    """

    index: int
    text: str
    method: str
    place: Place
    step: int | None

    @property
    def on(self) -> bool:
        """Whether it is a step."""
        return self.step is not None


def schedule_items(document: Document) -> tuple[Item, ...]:
    """What stands below `sch = tilewright.Schedule(...)`. Raises ParseError where the schedule cannot be read."""
    calls = schedule_calls(document)
    taken = {line for call in calls for line in range(call.place.line, call.place.end_line + 1)}
    found = [(call.place, call, True) for call in calls[1:]]
    first = calls[0].place.line if calls else 0
    for cell in document.of_kind("schedule") if calls else ():
        found += ((place, call, False) for place, call in _switched_off(cell, taken) if place.line > first)
    found.sort(key=lambda item: (item[0].line, item[0].column))
    items: list[Item] = []
    step = 0
    for index, (place, call, on) in enumerate(found):
        items.append(Item(index, call.text, call.method, place, step if on else None))
        step += on
    return tuple(items)


def switch_off(document: Document, index: int) -> Document:
    """The document with a step as a comment that `switch_on` makes a step again."""
    document = _alone(document, index)
    item = item_of(document, index)
    return _with_lines(document, item, [OFF + line for line in _lines_of(document, item)]) if item.on else document


def switch_on(document: Document, index: int) -> Document:
    """The document with a step that was switched off in its place again."""
    item = item_of(document, index)
    if item.on:
        return document
    return _with_lines(document, item, [_OFF_LINE.sub("", line, count=1) for line in _lines_of(document, item)])


def remove_item(document: Document, index: int) -> Document:
    """The document without a step, or without the comment that one is."""
    item = item_of(document, index)
    return _with_lines(document, item, []) if item.step is None else remove_call(document, item.step)


def replace_item(document: Document, index: int, text: str) -> Document:
    """The document with a step written as `text` (one that is off stays off); none at all removes it."""
    item = item_of(document, index)
    if not text.strip():
        return remove_item(document, index)
    if item.step is not None:
        return replace_call(document, item.step, text)
    return _with_lines(document, item, [OFF + line for line in lines_of(whole_lines(text, document.newline))])


def insert_item(document: Document, index: int, text: str) -> Document:
    """The document with `text`, one or more lines, before an item."""
    document = _alone(document, index)
    item = item_of(document, index)
    added = lines_of(whole_lines(text, document.newline))
    return _with_lines(document, item, [*added, *_lines_of(document, item)])


def move_item(document: Document, index: int, target: int, *, after: bool = False) -> Document:
    """The document with an item before another one, or behind it. A comment at the end of its line goes along."""
    if target == index or target == (index - 1 if after else index + 1):
        # Where it is already, unless a cell lies between.
        near, item = item_of(document, target), item_of(document, index)
        if target == index or _cell_at(document, near.place.line) is _cell_at(document, item.place.line):
            return document
    for other in sorted((index, target), reverse=True):
        document = _alone(document, other)
    item, near = item_of(document, index), item_of(document, target)
    return _moved(document, item, near.place.end_line if after else near.place.line - 1)


def takes_steps(document: Document, cell: Cell) -> bool:
    """Whether a step could stand at the end of `cell`: it is of the schedule, which begins in it or before it."""
    calls = schedule_calls(document)
    end = cell.first_line + len(lines_of(cell.text))
    return cell.kind == "schedule" and bool(calls) and calls[0].place.end_line < end


def move_item_into(document: Document, index: int, cell: int) -> Document:
    """The document with an item at the end of a cell of the schedule, which may be empty. Raises DocumentError "not-a-schedule"."""
    goal = document.cells[cell] if 0 <= cell < len(document.cells) else None
    if goal is None or not takes_steps(document, goal):
        raise DocumentError(
            Refusal("not-a-schedule", "a step can only go to a cell behind the beginning of its schedule")
        )
    document = _alone(document, index)
    item, goal = item_of(document, index), document.cells[cell]
    body = lines_of(goal.text)
    while len(body) > 1 and not body[-1].strip():
        body.pop()
    return _moved(document, item, goal.first_line - 1 + len(body))


def item_of(document: Document, index: int) -> Item:
    """One item. Raises DocumentError "no-such-step"."""
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
    """The commented steps of a cell, outside of the lines that are `taken` by statements."""
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
    """The statements in lines with the sign, the first of which is `first_line`: those that can be read as a step."""
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
    """From which line to which line each statement goes; a line that begins none is a comment like others."""
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
    """The document with an item on lines of its own: what semicolons join is put on lines one below the other."""
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
    ahead = re.search(r"[ \t]*;[ \t]*$", before)
    if ahead is not None:
        line = lines[item.place.line - 1]
        lines[item.place.line - 1] = before[: ahead.start()] + document.newline + line[len(before) :]
    return read_document("".join(lines), document.path) if behind or ahead else document


def _cell_at(document: Document, line: int) -> Cell:
    return next(cell for cell in reversed(document.cells) if cell.first_line <= line)


def _lines_of(document: Document, item: Item) -> list[str]:
    return lines_of(document.text)[item.place.line - 1 : item.place.end_line]


def _moved(document: Document, item: Item, at: int) -> Document:
    """The document with an item's lines behind its first `at` lines."""
    lines = lines_of(document.text)
    ended = document.text.endswith(("\n", "\r"))
    lines[-1] += "" if ended else document.newline
    moved = lines[item.place.line - 1 : item.place.end_line]
    rest = lines[: item.place.line - 1] + [""] * len(moved) + lines[item.place.end_line :]
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
]
