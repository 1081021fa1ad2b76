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
def test_append_then_without_last_is_the_same_text(line: str, newline: str, at_end: bool) -> None:
    text = MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("\n# %% report")] if at_end else MATMUL_NOTEBOOK
    document = read_document(text.replace("\n", newline))
    longer = append_call(document, line)
    assert line.replace("\n", newline) in longer.text
    assert without_last_call(longer).text == document.text


@given(st.integers(0, 3), st.sampled_from(LINES))
def test_insert_then_remove_is_the_same_text(n: int, line: str) -> None:
    document = read_document(MATMUL_NOTEBOOK)
    assert remove_call(insert_call(document, n, line), n).text == document.text


@given(st.integers(0, 3), st.sampled_from(LINES))
def test_replace_there_and_back_is_the_same_text(n: int, line: str) -> None:
    document = read_document(MATMUL_NOTEBOOK)
    old = calls(document.text)[n]
    assert replace_call(replace_call(document, n, line), n, old).text == document.text


def test_given_a_cell_with_blank_lines_below_then_a_new_line_comes_before_them() -> None:
    document = append_call(read_document(MATMUL_NOTEBOOK), "sch.vectorize(j)")
    assert "sch.reorder(i, ko, j, ki)  # ki stays inside\nsch.vectorize(j)\n\n# %% report\n" in document.text


def test_given_a_comment_behind_a_call_then_replacing_keeps_it_and_removing_takes_it_along() -> None:
    document = read_document(MATMUL_NOTEBOOK)
    assert "sch.reorder(ko, i)  # ki stays inside\n" in replace_call(document, 3, "sch.reorder(ko, i)").text
    assert "ki stays inside" not in remove_call(document, 3).text


def test_given_two_calls_on_a_line_then_each_can_be_removed() -> None:
    document = read_document(with_lines("sch.vectorize(j); sch.unroll(ki)  # both"))
    assert "\nsch.unroll(ki)  # both\n" in remove_call(document, 4).text
    assert "\nsch.vectorize(j)  # both\n" in remove_call(document, 5).text


def test_given_two_schedule_cells_then_lines_count_through_and_new_ones_go_to_the_last() -> None:
    text = MATMUL_NOTEBOOK.replace("sch.reorder", "# %% [markdown]\n# words\n# %% schedule: more\nsch.reorder")
    document = read_document(text)
    assert len(calls(text)) == 4
    assert "sch.reorder" not in remove_call(document, 3).text
    assert append_call(document, "sch.vectorize(j)").text.index("vectorize") > text.index("reorder")


def test_given_no_schedule_cell_then_one_is_made() -> None:
    text = MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("# %% schedule")]
    document = append_call(read_document(text), 'C = sch.get_block("C")')
    assert document.text.startswith(text)
    assert calls(document.text) == ['C = sch.get_block("C")']


def test_given_an_empty_last_file_line_then_the_edit_starts_a_line_of_its_own() -> None:
    text = MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("  # ki stays")]
    document = append_call(read_document(text), "sch.vectorize(j)")
    assert document.text == text + "\nsch.vectorize(j)"
    assert without_last_call(document).text.rstrip("\n") == text


@pytest.mark.parametrize("n", [-1, 4, 99])
def test_given_no_such_step_then_it_is_refused(n: int) -> None:
    with pytest.raises(DocumentError) as caught:
        remove_call(read_document(MATMUL_NOTEBOOK), n)
    assert caught.value.code == "no-such-step"


def test_given_a_cell_edited_as_a_whole_then_the_others_stay() -> None:
    document = read_document(MATMUL_NOTEBOOK)
    cell = document.of_kind("schedule")[0]
    edited = replace_cell(document, cell, "sch = tilewright.Schedule(matmul)")
    assert calls(edited.text) == []
    assert edited.text.startswith(MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("# %% schedule")])
    assert edited.text.endswith(MATMUL_NOTEBOOK[MATMUL_NOTEBOOK.index("# %% report") :])
