"""Branches of the schedule, kept in the file as comments."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.document import DocumentError, evaluate, read_document
from tilewright.app.document.cells import Document
from tilewright.app.document.editing.apply import append_call
from tilewright.app.document.editing.branches import (
    add_branch,
    branches,
    current_branch,
    delete_branch,
    rename_branch,
    steps_shared,
    with_branch,
)

LINES = [
    "sch.vectorize(j)",
    "# a comment",
    "# off: sch.unroll(ki)",
    "",
    "    ",
    "#",
    "# # deep",
    "x = sch.get_loops(C)",
]
MIDDLES = [
    "",
    "\n# %% [markdown]\n# Words\n#\n# more\n\n# %% schedule: more\n",
    '\n# %% [markdown]\n"""\n%%not a marker\n  %% neither\n"""\n# %% schedule\n',
]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    lines = "".join(f"{line}\n" for line in draw(st.lists(st.sampled_from(LINES), max_size=6)))
    text = with_lines(*draw(st.lists(st.sampled_from(LINES), max_size=4)))
    text = text.replace("\n# %% report", f"{draw(st.sampled_from(MIDDLES))}{lines}\n# %% report")
    if draw(st.booleans()):
        text = text[: text.index("# %% report")]
    return read_document(text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))))


def names(document: Document) -> list[str]:
    return [f"{'*' if branch.current else ''}{branch.name}" for branch in branches(document)]


def schedule(document: Document) -> list[str]:
    return [step.text for step in evaluate(document).steps]


@pytest.mark.slow
@given(documents(), st.data())
def test_switching_branches_and_back_restores_the_text(document: Document, data: st.DataObject) -> None:
    steps = data.draw(st.one_of(st.none(), st.integers(0, len(schedule(document)))))
    branched = add_branch(document, "wide", steps)
    assert names(branched) == ["main", "*wide"]
    assert schedule(branched) == schedule(document)[:steps]
    back = with_branch(branched, "main")
    assert schedule(back) == schedule(document)
    assert with_branch(back, "wide").text == branched.text
    assert with_branch(with_branch(back, "wide"), "main").text == back.text
    kept = back.text[: back.text.index("# %% branch")]
    assert kept.startswith(document.text.rstrip("\r\n"))
    assert not kept[len(document.text.rstrip("\r\n")) :].strip()


@given(documents())
def test_python_runs_only_the_shown_branch(document: Document) -> None:
    branched = with_branch(add_branch(document, "wide", 1), "main")
    assert ast.dump(ast.parse(branched.text)) == ast.dump(ast.parse(document.text))


def test_edits_go_to_the_shown_branch_only() -> None:
    document = add_branch(read_document(MATMUL_NOTEBOOK), "wide", 3)
    document = append_call(document, "sch.vectorize(ki)")
    assert schedule(document)[3:] == ["sch.vectorize(ki)"]
    main = with_branch(document, "main")
    assert schedule(main)[3:] == ["sch.reorder(i, ko, j, ki)"]
    assert "# ki stays inside" in main.text
    assert schedule(with_branch(main, "wide"))[3:] == ["sch.vectorize(ki)"]
    assert steps_shared(main, "wide") == steps_shared(document, "main") == 3


def test_a_file_without_branches_has_the_branch_main() -> None:
    document = read_document(MATMUL_NOTEBOOK)
    assert branches(document) == ()
    assert current_branch(document) == "main"
    assert rename_branch(add_branch(document, "a"), "main", "old").text.count("# %% branch: old") == 1


def test_branches_are_renamed_and_the_hidden_ones_deleted() -> None:
    document = add_branch(add_branch(read_document(MATMUL_NOTEBOOK), "a", 2), "b", 1)
    assert names(document) == ["main", "a", "*b"]
    assert [len(schedule(with_branch(document, name))) for name in ("main", "a", "b")] == [4, 2, 1]
    renamed = rename_branch(document, "b", " best   so far ")
    assert names(renamed) == ["main", "a", "*best so far"]
    left = delete_branch(delete_branch(with_branch(renamed, "main"), "a"), "best so far")
    assert branches(left) == ()
    assert left.text.rstrip("\n") == MATMUL_NOTEBOOK.rstrip("\n")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("main", "branch-exists"),
        ("a", "branch-exists"),
        ("", "bad-branch-name"),
        (" \n ", "bad-branch-name"),
        ("x" * 61, "bad-branch-name"),
    ],
)
def test_an_invalid_or_taken_branch_name_is_refused(name: str, code: str) -> None:
    document = add_branch(read_document(MATMUL_NOTEBOOK), "a")
    for edit in (
        lambda: add_branch(document, name),
        lambda: rename_branch(document, "a" if name != "a" else "main", name),
    ):
        with pytest.raises(DocumentError) as caught:
            edit()
        assert caught.value.code == code


def test_a_missing_or_shown_branch_cannot_be_deleted() -> None:
    document = add_branch(read_document(MATMUL_NOTEBOOK), "a")
    for edit, code in (
        (lambda: with_branch(document, "b"), "no-such-branch"),
        (lambda: delete_branch(document, "a"), "current-branch"),
    ):
        with pytest.raises(DocumentError) as caught:
            edit()
        assert caught.value.code == code
    with pytest.raises(DocumentError) as caught:
        add_branch(read_document("x = 1\n"), "a")
    assert caught.value.code == "no-schedule"


def test_hand_written_branch_cells_are_read_unchanged() -> None:
    text = MATMUL_NOTEBOOK + "\n# %% Branch other\n#%% is no marker line of ours\n"
    text = re.sub(r"#%% is.*\n", "# # %% schedule\n# sch = tilewright.Schedule(matmul)\n\n# sch.unroll(i)\n", text)
    document = read_document(text)
    assert names(document) == ["*main", "other"]
    other = with_branch(document, "other")
    assert schedule(other) == ["sch.unroll(i)"]
    assert names(other) == ["other", "main"] or names(other) == ["*other", "main"]
    assert schedule(with_branch(other, "main")) == schedule(document)
