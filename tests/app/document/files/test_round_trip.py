"""Unedited text stays byte for byte: any file, any edit, on disk and back."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tilewright.app.document import (
    Document,
    DocumentError,
    append_call,
    cell_at,
    delete_cell,
    insert_cell,
    load_document,
    move_cell,
    read_document,
    replace_cell,
    save_document,
    schedule_items,
    switch_off,
    switch_on,
    with_prose,
)
from tilewright.app.document.cells import lines_of
from tilewright.engine.ir import TilewrightError

PROGRAM = (
    "from tilewright.script import tirx as T",
    "",
    "@T.prim_func(s_tir=True)",
    'def one(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):',
    "\tfor i in range(8):",
    '\t\twith T.sblock("B"):  # tabs',
    "\t\t\tvi = T.axis.spatial(8, i)",
    "\t\t\tB[vi] = A[vi]",
)
LINES = st.sampled_from(
    [
        "",
        "  ",
        "\t",
        "# a comment",
        "#%%not a marker",
        "x = {1: 'é'}",
        "print('\u2028 \x0c')",
        "if True:\n\tpass",
        "'''",
        "# off",
        "\ufeff",
    ]
)
NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """A notebook with unknown cells, comments everywhere, any line endings, even mixed ones, with and without a last one."""
    newline = draw(NEWLINES)
    mixed = draw(st.booleans())

    def lines(*texts: str) -> str:
        ends = [draw(NEWLINES) if mixed else newline for _ in texts]
        return "".join(text.replace("\n", newline) + end for text, end in zip(texts, ends, strict=True))

    def extra() -> str:
        body = [line for line in draw(st.lists(LINES, max_size=4)) if line != "'''"]
        return lines(draw(st.sampled_from(["# %%", "#%% mine", "# %% [raw]", "# %% Some: thing"])), *body)

    parts = [lines(*draw(st.lists(st.sampled_from(["# first", "import os", ""]), max_size=3)))]
    parts += [lines("# %% [markdown]", "# # Words", "#", "#  more\t")]
    parts += [extra()] if draw(st.booleans()) else []
    parts += [lines("# %% machine", "import tilewright", 'machine = tilewright.machine("dual-bank-npu")  # why', "")]
    parts += [lines("# %% workload: of mine", *PROGRAM, "", "")]
    parts += [extra()] if draw(st.booleans()) else []
    parts += [
        lines(
            "# %% schedule",
            "sch = tilewright.Schedule(one)",
            "# keep me",
            'i, = sch.get_loops("B")  # and me',
            "",
            "sch.parallel(i)",
        )
    ]
    parts += [extra()] if draw(st.booleans()) else []
    text = "".join(parts)
    text = draw(st.sampled_from(["", "\ufeff"])) + text
    return text.removesuffix("\n").removesuffix("\r") if draw(st.booleans()) else text


@st.composite
def edits(draw: st.DrawFn, document: Document) -> tuple[Document, set[int]]:
    """The document after one edit, and the numbers of the edited cells (-1: places of cells change)."""
    kinds = [cell.kind for cell in document.cells]
    ways = ["body", "off", "on", "insert", "delete", "move"]
    ways += ["call"] * ("schedule" in kinds) + ["prose"] * ("markdown" in kinds)
    way = draw(st.sampled_from(ways))
    n = draw(st.integers(0, len(kinds) - 1))
    match way:
        case "call":
            last = max(index for index, kind in enumerate(kinds) if kind == "schedule")
            return append_call(document, "sch.unroll(i)"), {last}
        case "prose":
            n = kinds.index("markdown")
            return with_prose(document, n, draw(st.sampled_from(["other\nwords", "# # Words\n\n more", "%% odd"]))), {n}
        case "body":
            return replace_cell(document, cell_at(document, n), draw(st.sampled_from(["", "y = 2", "y = 2\n# z\n"]))), {
                n
            }
        case "off" | "on":
            items = [item for item in schedule_items(document) if item.on == (way == "off")]
            if not items:
                return document, set()
            item = draw(st.sampled_from(items))
            switch = switch_off if way == "off" else switch_on
            return switch(document, item.index), {k for k, kind in enumerate(kinds) if kind == "schedule"}
        case "insert":
            return insert_cell(document, n, draw(st.sampled_from(["code", "markdown"]))), {-1}
        case "delete":
            return delete_cell(document, n), {-1}
        case _:
            return move_cell(document, n, draw(st.integers(0, len(kinds) - 1))), {-1}


@given(files())
def test_a_file_that_is_opened_and_written_has_the_same_bytes(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "a.py", Path(folder) / "b.py"
        source.write_bytes(text.encode())
        save_document(load_document(source), target)
        assert target.read_bytes() == text.encode()


@given(st.data())
def test_cells_that_are_not_edited_do_not_change(data: st.DataObject) -> None:
    document = read_document(data.draw(files()))
    for _ in range(data.draw(st.integers(1, 5))):
        before = document
        try:
            document, of = data.draw(edits(before))
        except TilewrightError:
            continue  # refused: a second machine cell, a schedule above its program
        assert read_document(document.text).cells == document.cells
        if -1 in of:
            # Of cells that moved every line is still there; at most line endings were added where a last line had none.
            old, new = sorted(map(_bare, before.cells)), sorted(map(_bare, document.cells))
            assert _less(old, new) or _less(new, old), (before.text, document.text)
        else:
            assert len(document.cells) == len(before.cells) or of
            kept = [cell.text for n, cell in enumerate(before.cells) if n not in of]
            assert [cell.text for cell in document.cells if cell.text in kept][: len(kept)] or not kept
            for text in kept:
                assert text in document.text


def _bare(cell: object) -> str:
    return cell.text.rstrip("\r\n")  # pyright: ignore[reportAttributeAccessIssue]


def _less(few: list[str], many: list[str]) -> bool:
    """Whether all but one of `many` are the cells of `few`."""
    left = list(many)
    for text in few:
        if text not in left:
            return False
        left.remove(text)
    return len(left) <= 1


@given(st.data())
def test_an_added_line_changes_no_other_line(data: st.DataObject) -> None:
    document = read_document(data.draw(files()))
    try:
        after = append_call(document, "sch.unroll(i)")
    except DocumentError:
        return
    old, new = lines_of(document.text), lines_of(after.text)
    bare = [line.rstrip("\r\n") for line in new]
    assert bare.count("sch.unroll(i)") == 1
    at = bare.index("sch.unroll(i)")
    rest = new[:at] + new[at + 1 :]
    assert [line.rstrip("\r\n") for line in rest] == [line.rstrip("\r\n") for line in old]
    assert sum(a != b for a, b in zip(rest, old, strict=True)) <= 1  # the last line of the file may get an ending
    assert after.text.endswith(("\n", "\r")) == document.text.endswith(("\n", "\r"))


@given(files(), st.data())
def test_an_edit_from_the_browser_changes_only_the_typed_lines(text: str, data: st.DataObject) -> None:
    """A text field has line feeds only; the file keeps the ends that its lines have."""
    document = read_document(text)
    n = data.draw(st.integers(0, len(document.cells) - 1))
    cell = document.cells[n]
    shown = cell.body.replace("\r\n", "\n").replace("\r", "\n")
    assert replace_cell(document, cell, shown).text == text
    lines = shown.split("\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = "typed = 1"
    after = replace_cell(document, cell, "\n".join(lines))
    assert "typed = 1" in after.text
    if len(lines_of(after.text)) == len(lines_of(text)):
        changed = [(a, b) for a, b in zip(lines_of(text), lines_of(after.text), strict=True) if a != b]
        assert len(changed) <= 1 + (cell is not document.cells[-1])
