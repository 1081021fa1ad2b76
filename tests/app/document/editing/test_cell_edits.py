"""Cells inserted, deleted and moved, and edited prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.document import DocumentError, evaluate, read_document
from tilewright.app.document.editing.cells import delete_cell, insert_cell, move_cell, with_prose

DOCUMENTS = [
    MATMUL_NOTEBOOK,
    MATMUL_NOTEBOOK.replace("\n", "\r\n"),
    MATMUL_NOTEBOOK.rstrip("\n"),
    "# mine\nimport os\n" + MATMUL_NOTEBOOK,
    MATMUL_NOTEBOOK.replace("# # A matmul", '"""\n# A matmul\n"""'),
]


def texts(document: object) -> list[str]:
    return [cell.text for cell in document.cells]  # pyright: ignore[reportAttributeAccessIssue]


@given(st.sampled_from(DOCUMENTS), st.data(), st.sampled_from(["markdown", "schedule", "code", "intrinsic"]))
def test_inserting_and_deleting_a_cell_leaves_the_others(text: str, data: st.DataObject, kind: str) -> None:
    document = read_document(text)
    index = data.draw(st.integers(0, len(document.cells)))
    try:
        edited = insert_cell(document, index, kind)  # pyright: ignore[reportArgumentType]
    except DocumentError as error:
        assert error.code == "bad-cell-order"
        return
    assert len(edited.cells) == len(document.cells) + 1
    (at,) = (n for n, cell in enumerate(edited.cells) if cell.kind == kind and not cell.body.strip()) if kind else (0,)
    assert at == index or (index == 0 and document.cells[0].kind == "preamble" and at == 1)
    left = delete_cell(edited, at)
    for old, new in zip(document.cells, left.cells, strict=True):
        assert new.text.startswith(old.text) and not new.text[len(old.text) :].strip()
    assert [cell.text for n, cell in enumerate(left.cells) if n != at - 1] == [
        cell.text for n, cell in enumerate(document.cells) if n != at - 1
    ]


@given(st.sampled_from(DOCUMENTS), st.data())
def test_moving_a_cell_and_back_restores_the_text(text: str, data: st.DataObject) -> None:
    document = read_document(text)
    numbers = st.integers(0, len(document.cells) - 1)
    index, to = data.draw(numbers), data.draw(numbers)
    try:
        moved = move_cell(document, index, to)
    except DocumentError as error:
        assert error.code == "bad-cell-order"
        return
    assert sorted(cell.text.rstrip() for cell in moved.cells) == sorted(cell.text.rstrip() for cell in document.cells)
    assert move_cell(moved, to, index).text.rstrip() == document.text.rstrip()
    assert evaluate(moved).error is None


def test_a_schedule_above_its_machine_or_program_is_refused() -> None:
    document = read_document(MATMUL_NOTEBOOK)
    for edit in (
        lambda: move_cell(document, 3, 1),
        lambda: move_cell(document, 2, 3),
        lambda: insert_cell(document, 1, "schedule"),
    ):
        with pytest.raises(DocumentError) as caught:
            edit()
        assert caught.value.code == "bad-cell-order"


def test_a_second_workload_is_refused() -> None:
    with pytest.raises(DocumentError) as caught:
        insert_cell(read_document(MATMUL_NOTEBOOK), 1, "workload")
    assert caught.value.code == "second-cell"


def test_a_new_machine_or_schedule_cell_has_its_first_line() -> None:
    document = delete_cell(read_document(MATMUL_NOTEBOOK), 1)
    edited = insert_cell(document, 1, "machine")
    assert evaluate(edited).machine is not None
    document = delete_cell(read_document(MATMUL_NOTEBOOK), 3)
    edited = insert_cell(document, 3, "schedule")
    assert edited.cells[3].body == "sch = tilewright.Schedule(matmul)\n\n"
    assert evaluate(edited).error is None


WORDS = st.text(st.sampled_from(list("ab# \n%-`\"'\\é")), max_size=40)


@given(st.sampled_from(DOCUMENTS), WORDS)
def test_prose_round_trips_and_changes_nothing_else(text: str, words: str) -> None:
    document = read_document(text)
    index = next(n for n, cell in enumerate(document.cells) if cell.kind == "markdown")
    edited = with_prose(document, index, words)
    assert edited.cells[:index] == document.cells[:index]
    assert texts(edited)[index + 1 :] == texts(document)[index + 1 :]
    written = [line.rstrip() for line in edited.cells[index].prose.strip("\n").split("\n")]
    wanted = [line.rstrip() for line in words.strip("\n").split("\n")]
    assert [line for line in written if line] == [line for line in wanted if line]


@pytest.mark.parametrize("text", DOCUMENTS)
def test_unchanged_words_keep_the_text_byte_for_byte(text: str) -> None:
    document = read_document(text)
    index = next(n for n, cell in enumerate(document.cells) if cell.kind == "markdown")
    assert with_prose(document, index, document.cells[index].prose) is document
