"""Schedule lines disabled, moved, edited and removed: everything else stays byte for byte."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.document import DocumentError, evaluate, read_document
from tilewright.app.document.cells import Document, lines_of
from tilewright.app.document.items import (
    insert_item,
    move_item,
    move_item_into,
    remove_item,
    replace_item,
    schedule_items,
    switch_off,
    switch_on,
    takes_steps,
    with_comment,
)

STATEMENTS = [
    "sch.vectorize(j)",
    "sch.unroll(ki)  # inside",
    "a = sch.get_loops(C)",
    "sch.annotate(\n    i,\n    'x',  # why\n\n    1,\n)",
    "sch.vectorize(j); sch.unroll(ki)",
    "sch.vectorize(j);sch.unroll(ki) ; sch.parallel(i)  # all three",
    "# off: sch.unroll(ki)",
    "# off: sch.annotate(\n# off:     i, 'y', 1)",
    "# off: not a call at all",
    "# a comment",
    "#off:sch.parallel(i)",
    "",
    "sizes = {}",
]
MIDDLES = ["", "\n# %% [markdown]\n# Words; sch.unroll(ki)\n\n# %% schedule: more\n", "# %%\nprint(1)\n# %% schedule\n"]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    lines = draw(st.lists(st.sampled_from(STATEMENTS), max_size=8))
    cut = draw(st.integers(0, len(lines)))
    text = with_lines(*lines[:cut])
    rest = "".join(f"{line}\n" for line in lines[cut:])
    text = text.replace("\n# %% report", f"{draw(st.sampled_from(MIDDLES))}{rest}\n# %% report")
    if draw(st.booleans()):
        text = text[: text.index("\n# %% report")]
        text = text if draw(st.booleans()) else text.rstrip("\n")
    return read_document(text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))))


def texts(document: Document) -> list[tuple[str, bool]]:
    return [(ast.unparse(ast.parse(item.text)), item.on) for item in schedule_items(document)]


def outside(document: Document) -> list[str]:
    """The lines that belong to no item, and the parts of lines beside items."""
    lines = [list(line) for line in lines_of(document.text)]
    for item in schedule_items(document):
        place = item.place
        for number in range(place.line, place.end_line + 1):
            start = place.column - 1 if number == place.line else 0
            end = place.end_column - 1 if number == place.end_line else len(lines[number - 1])
            for at in range(start, end):
                lines[number - 1][at] = ""
    return [text for line in lines if (text := "".join(line).strip().strip(";").strip())]


@given(documents(), st.data())
def test_disabling_and_enabling_restores_the_text(document: Document, data: st.DataObject) -> None:
    items = schedule_items(document)
    index = data.draw(st.integers(0, len(items) - 1))
    before = texts(document)
    off = switch_off(document, index)
    assert texts(off) == [(text, on and n != index) for n, (text, on) in enumerate(before)]
    on = switch_on(off, index)
    assert texts(on) == [(text, on or n == index) for n, (text, on) in enumerate(before)]
    line = lines_of(document.text)[items[index].place.line - 1]
    if items[index].on and ";" not in line:
        assert on.text == document.text
    assert ast.dump(ast.parse(on.text)) == ast.dump(ast.parse(switch_on(document, index).text))


@given(documents(), st.data())
def test_a_moved_line_leaves_everything_else_unchanged(document: Document, data: st.DataObject) -> None:
    before = texts(document)
    index = data.draw(st.integers(0, len(before) - 1))
    target = data.draw(st.integers(0, len(before) - 1))
    after = data.draw(st.booleans())
    moved = move_item(document, index, target, after=after)
    expected = [item for n, item in enumerate(before) if n != index]
    at = target + after - (index < target + after)
    expected.insert(at if target != index else index, before[index])
    assert texts(moved) == expected
    assert [cell.marker.rstrip() for cell in moved.cells] == [cell.marker.rstrip() for cell in document.cells]
    assert sorted(filter(None, map(str.strip, " ".join(outside(moved)).split()))) == sorted(
        filter(None, map(str.strip, " ".join(outside(document)).split()))
    ) or ";" in "".join(outside(document))
    assert moved.text.endswith(("\n", "\r")) == document.text.endswith(("\n", "\r"))


@given(documents(), st.data())
def test_a_line_moved_into_a_cell_becomes_its_last(document: Document, data: st.DataObject) -> None:
    before = texts(document)
    index = data.draw(st.integers(0, len(before) - 1))
    cell = data.draw(st.integers(0, len(document.cells) - 1))
    if not takes_steps(document, document.cells[cell]):
        with pytest.raises(DocumentError, match="not-a-schedule"):
            move_item_into(document, index, cell)
        return
    moved = move_item_into(document, index, cell)
    assert sorted(texts(moved)) == sorted(before)
    goal = moved.cells[cell]
    inside = [
        i for i in schedule_items(moved) if goal.first_line <= i.place.line < goal.first_line + len(lines_of(goal.text))
    ]
    assert (ast.unparse(ast.parse(inside[-1].text)), inside[-1].on) == before[index]
    assert [cell.marker.rstrip() for cell in moved.cells] == [cell.marker.rstrip() for cell in document.cells]
    assert moved.text.endswith(("\n", "\r")) == document.text.endswith(("\n", "\r"))


def test_no_step_moves_into_an_empty_cell_before_the_schedule() -> None:
    text = with_lines("sch.vectorize(j)")
    empty = "# %% schedule: empty\n\n"
    at = text.index("# %% schedule")
    document = read_document(text[:at] + empty + text[at:] + empty)
    cells = [n for n, cell in enumerate(document.cells) if cell.title == "schedule: empty"]
    assert [takes_steps(document, document.cells[n]) for n in cells] == [False, True]
    moved = move_item_into(document, len(schedule_items(document)) - 1, cells[1])
    assert moved.cells[cells[1]].text == "# %% schedule: empty\nsch.vectorize(j)\n\n"


@given(documents(), st.data())
def test_a_removed_line_takes_only_its_comment_along(document: Document, data: st.DataObject) -> None:
    before = texts(document)
    index = data.draw(st.integers(0, len(before) - 1))
    removed = remove_item(document, index)
    assert texts(removed) == before[:index] + before[index + 1 :]
    item = schedule_items(document)[index]
    lines, left = lines_of(document.text), lines_of(removed.text)
    assert left[: item.first_line - 1] == lines[: item.first_line - 1]
    assert left[len(left) - (len(lines) - item.place.end_line) :] == lines[item.place.end_line :] or not left


@given(documents(), st.data(), st.sampled_from(["", "why", "first\n second"]))
def test_a_comment_is_kept_above_its_line(document: Document, data: st.DataObject, text: str) -> None:
    before = texts(document)
    index = data.draw(st.integers(0, len(before) - 1))
    commented = with_comment(document, index, text)
    assert texts(commented) == before
    assert schedule_items(commented)[index].note == text.replace("\n ", "\n")
    target = data.draw(st.integers(0, len(before) - 1))
    moved = move_item(commented, index, target)
    at = texts(moved).index(before[index]) if before.count(before[index]) == 1 else None
    assert at is None or schedule_items(moved)[at].note == text.replace("\n ", "\n")


@pytest.mark.parametrize("text", ["off: sch.vectorize(j)", "%% schedule", "fine\n%% x"])
def test_a_comment_is_never_a_step_or_a_cell(text: str) -> None:
    document = read_document(with_lines("sch.vectorize(j)"))
    with pytest.raises(DocumentError, match="cannot begin with"):
        with_comment(document, 0, text)


@given(documents(), st.data(), st.sampled_from(["sch.parallel(i)", "sch.annotate(\n    i, 'x', 2)"]))
def test_an_edited_or_inserted_line_changes_only_itself(document: Document, data: st.DataObject, text: str) -> None:
    before = texts(document)
    index = data.draw(st.integers(0, len(before) - 1))
    normalized = ast.unparse(ast.parse(text))
    replaced = replace_item(document, index, text)
    assert texts(replaced) == [*before[:index], (normalized, before[index][1]), *before[index + 1 :]]
    inserted = insert_item(document, index, text)
    assert texts(inserted) == [*before[:index], (normalized, True), *before[index:]]
    assert texts(remove_item(inserted, index)) == before


def test_python_and_the_app_skip_a_disabled_line() -> None:
    document = switch_off(read_document(MATMUL_NOTEBOOK), 3)
    assert "\n# off: sch.reorder(i, ko, j, ki)  # ki stays inside\n" in document.text
    notebook = evaluate(document)
    assert notebook.error is None
    assert [step.text.split("(")[0] for step in notebook.steps][-1] == "ko, ki = sch.split"


def test_an_ordinary_comment_is_not_a_disabled_step() -> None:
    document = read_document(with_lines("# off: the lamp", "# off: x += 1", "# sch.unroll(ki)"))
    assert all(item.on for item in schedule_items(document))


@pytest.mark.parametrize("index", [-1, 4, 99])
def test_a_missing_line_is_refused(index: int) -> None:
    for edit in (switch_off, switch_on, remove_item):
        with pytest.raises(DocumentError) as caught:
            edit(read_document(MATMUL_NOTEBOOK), index)
        assert caught.value.code == "no-such-step"
