"""Edits of schedule cells keep everything else byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.document import (
    DocumentError,
    append_call,
    evaluate,
    insert_call,
    read_document,
    remove_call,
    replace_call,
    replace_cell,
    without_last_call,
)

LINES = [
    "sch.vectorize(j)",
    "sch.unroll(ki)",
    "a = sch.get_loops(C)",
    "sch.annotate(\n    i,\n    'x',  # why\n    1,\n)",
]


def calls(text: str) -> list[str]:
    return [step.text for step in evaluate(read_document(text)).steps]


@given(st.sampled_from(LINES), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_append_and_without_last_restore_the_text(line: str, newline: str, at_end: bool) -> None:
    text = MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("\n# %% report")] if at_end else MATMUL_NOTEBOOK
    document = read_document(text.replace("\n", newline))
    longer = append_call(document, line)
    assert line.replace("\n", newline) in longer.text
    assert without_last_call(longer).text == document.text


@given(st.integers(0, 3), st.sampled_from(LINES))
def test_insert_and_remove_restore_the_text(n: int, line: str) -> None:
    document = read_document(MATMUL_NOTEBOOK)
    assert remove_call(insert_call(document, n, line), n).text == document.text


@given(st.integers(0, 3), st.sampled_from(LINES))
def test_replacing_a_line_and_back_restores_the_text(n: int, line: str) -> None:
    document = read_document(MATMUL_NOTEBOOK)
    old = calls(document.text)[n]
    assert replace_call(replace_call(document, n, line), n, old).text == document.text


def test_a_new_line_precedes_trailing_blank_lines() -> None:
    document = append_call(read_document(MATMUL_NOTEBOOK), "sch.vectorize(j)")
    assert "sch.reorder(i, ko, j, ki)  # ki stays inside\nsch.vectorize(j)\n\n# %% report\n" in document.text


def test_a_trailing_comment_survives_replacing_but_not_removing() -> None:
    document = read_document(MATMUL_NOTEBOOK)
    assert "sch.reorder(ko, i)  # ki stays inside\n" in replace_call(document, 3, "sch.reorder(ko, i)").text
    assert "ki stays inside" not in remove_call(document, 3).text


def test_either_call_of_a_line_can_be_removed() -> None:
    document = read_document(with_lines("sch.vectorize(j); sch.unroll(ki)  # both"))
    assert "\nsch.unroll(ki)  # both\n" in remove_call(document, 4).text
    assert "\nsch.vectorize(j)  # both\n" in remove_call(document, 5).text


def test_lines_count_across_schedule_cells_and_append_to_the_last() -> None:
    text = MATMUL_NOTEBOOK.replace("sch.reorder", "# %% [markdown]\n# words\n# %% schedule: more\nsch.reorder")
    document = read_document(text)
    assert len(calls(text)) == 4
    assert "sch.reorder" not in remove_call(document, 3).text
    assert append_call(document, "sch.vectorize(j)").text.index("vectorize") > text.index("reorder")


def test_a_missing_schedule_cell_is_created() -> None:
    text = MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("# %% schedule")]
    document = append_call(read_document(text), 'C = sch.get_block("C")')
    assert document.text.startswith(text)
    assert calls(document.text) == ['C = sch.get_block("C")']


def test_an_edit_after_an_empty_last_line_starts_a_new_line() -> None:
    text = MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("  # ki stays")]
    document = append_call(read_document(text), "sch.vectorize(j)")
    assert document.text == text + "\nsch.vectorize(j)"
    assert without_last_call(document).text.rstrip("\n") == text


@pytest.mark.parametrize("n", [-1, 4, 99])
def test_a_missing_step_is_refused(n: int) -> None:
    with pytest.raises(DocumentError) as caught:
        remove_call(read_document(MATMUL_NOTEBOOK), n)
    assert caught.value.code == "no-such-step"


def test_editing_a_whole_cell_keeps_the_others() -> None:
    document = read_document(MATMUL_NOTEBOOK)
    cell = document.of_kind("schedule")[0]
    edited = replace_cell(document, cell, "sch = tilewright.Schedule(matmul)")
    assert calls(edited.text) == []
    assert edited.text.startswith(MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("# %% schedule")])
    assert edited.text.endswith(MATMUL_NOTEBOOK[MATMUL_NOTEBOOK.index("# %% report") :])
