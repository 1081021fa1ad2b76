"""Diffs: files that they show completely are read, others are refused with the lines that are missing."""

from __future__ import annotations

from difflib import unified_diff
from hashlib import sha1

import pytest
from support.pasted.carriers import SCHEDULE, TWICE, code, notebook

from tilewright.engine.adopt import Content, programs_of, unwrapped
from tilewright.engine.ir import TilewrightError

LONG = "import tvm\n\nM = 64\n" + "\n".join(f"C{n} = {n}" for n in range(30)) + "\n\n\n" + TWICE + SCHEDULE


def diff(before: str, after: str, name: str = "kernel.py", context: int = 3) -> str:
    old = f"a/{name}" if before else "/dev/null"
    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), old, f"b/{name}", n=context)
    return f"diff --git a/{name} b/{name}\n" + "".join(lines)


def content_of(text: str) -> Content:
    found = unwrapped(text)
    assert found is not None
    return found


def refused(text: str) -> TilewrightError:
    with pytest.raises(TilewrightError) as caught:
        unwrapped(text)
    return caught.value


def test_a_new_file_is_read() -> None:
    text = diff("", LONG)
    (piece,) = content_of(text).pieces
    assert piece.text == LONG.removesuffix("\n") and piece.name == "kernel.py"
    (program,) = programs_of(piece.parts).programs
    line = LONG.split("\n").index("@T.prim_func") + 1
    assert line in program.used and piece.words(f"see line {line}") == f"see line {line + 4}"
    assert text.split("\n")[piece.origin(line).line - 1] == "+@T.prim_func"


def test_the_new_side_is_read() -> None:
    text = diff(LONG, LONG.replace("M = 64", "M = 32").replace("None, 8", "None, 16"), context=1000)
    (piece,) = content_of(text).pieces
    assert "M = 32" in piece.text and "M = 64" not in piece.text and "None, 16" in piece.text


def test_parts_of_a_program_are_refused_with_the_missing_lines() -> None:
    error = refused(diff(LONG, LONG.replace("M = 64", "M = 32").replace("None, 8", "None, 16")))
    assert error.code == "partial-diff"
    assert error.refusal.message == "the diff shows only parts of kernel.py: lines 7–40 are missing"
    assert "git diff -U1000000" in error.refusal.fix


def test_a_program_that_may_go_on_is_refused() -> None:
    """Three lines of context below a change: the function may have more."""
    error = refused(diff(TWICE, TWICE.replace("range(64)", "range(32)")))
    assert error.refusal.message == "the diff shows only parts of kernel.py: lines 7 and further are missing"


def test_the_end_of_a_file_is_known_by_shorter_context() -> None:
    (piece,) = content_of(diff(TWICE, TWICE.replace("float32(2)", "float32(3)"), context=8)).pieces
    assert "float32(3)" in piece.text


def test_all_lines_have_the_digest_of_git() -> None:
    """`git diff -U100` of a change far from the end: only the digest tells that no lines follow."""
    after = TWICE.replace("twice", "double")
    text = diff(TWICE, after, context=100).replace("--- a", "index 3f2504e..a08c0b3 100644\n--- a", 1)
    data = after.encode()
    digest = sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()[:9]
    assert refused(text).code == "partial-diff"
    (piece,) = content_of(text.replace("a08c0b3", digest)).pieces
    assert "def double" in piece.text


def test_each_file_has_its_own_names() -> None:
    text = (
        diff("", "M = 64\n" + TWICE)
        + diff("", "M = 32\n", "sizes.py")
        + diff("", "int x;\n", "a.cc")
        + diff(LONG, LONG.replace("M = 64", "M = 1"), "b.py")
    )
    found = content_of(text)
    assert [piece.name for piece in found.pieces] == ["kernel.py", "sizes.py"]
    assert [note.text.partition(",")[0] for note in found.notes] == ["the file 'a.cc' is left out", "the file 'b.py'"]


def test_a_patch_by_mail_and_a_commit_are_diffs() -> None:
    head = (
        f"From {'ab' * 20} Mon Sep 17 00:00:00 2001\nFrom: Ada <a@example.org>\nDate: Fri, 27 Nov 2026 10:00:00 +0100\n"
    )
    head += "Subject: [PATCH] Add twice\n\n---\n kernel.py | 6 ++++++\n\n"
    commit = f"commit {'ab' * 20}\nAuthor: Ada <a@example.org>\nDate:   Fri Nov 27\n\n    Add twice\n\n"
    for text in (head + diff("", TWICE) + "-- \n2.40.1\n", commit + diff("", TWICE)):
        (piece,) = content_of(text).pieces
        assert [program.name for program in programs_of(piece.parts).programs] == ["twice"]
        assert text.split("\n")[piece.origin(1).line - 1] == "+@T.prim_func"


def test_a_notebook_in_a_diff_is_read() -> None:
    (piece,) = content_of(diff("", notebook(code(TWICE)), "a.ipynb")).pieces
    assert [program.name for program in programs_of(piece.parts).programs] == ["twice"]
    assert str(piece.origin(1)) == "cell 1, line 1"


def test_a_damaged_part_is_refused() -> None:
    lines = diff("", TWICE).split("\n")
    error = refused("\n".join(lines[:-3]))
    assert error.code == "bad-diff" and error.refusal.place is not None and error.refusal.place.line == 4


def test_a_removed_file_has_no_program() -> None:
    removed = diff(TWICE, "").replace("+++ b/kernel.py", "+++ /dev/null")
    assert refused(removed).code == "bad-diff"
