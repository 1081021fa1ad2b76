"""The history of a folder's notebooks."""

from __future__ import annotations

import os
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.app.document import DocumentError
from tilewright.app.document.files import history
from tilewright.app.document.files.history import Draft, Edit, Entry, History, digest_of
from tilewright.app.document.files.history_rows import packed


def done(folder: Path, *edits: Edit, base: str | None = None) -> History:
    made = History(folder)
    made.commit([Entry("a.py", edits, base)])
    return made


@given(
    st.lists(st.one_of(st.integers(0, 3).map(lambda n: f"text {n}"), st.sampled_from(["undo", "redo"])), max_size=30)
)
def test_undo_and_redo_lead_where_they_led(tmp_path_factory: pytest.TempPathFactory, moves: list[str]) -> None:
    """Against the lists that a page has."""
    made = History(tmp_path_factory.mktemp("history"))
    past: list[str] = []
    future: list[str] = []
    now, any_edit = "text", False
    for move in moves:
        before = now
        if move == "undo" and past:
            future.insert(0, now)
            now = past.pop()
        elif move == "redo" and future:
            past.append(now)
            now = future.pop(0)
        elif move not in ("undo", "redo") and move != now:
            past.append(now)
            future, now = [], move
        else:
            continue
        any_edit = True
        made.commit([Entry("a.py", (Edit(before, now, move if move in ("undo", "redo") else "edit"),))])
    made.close()
    kept = History(made.folder).load("a.py")
    assert (kept is not None) == any_edit
    if kept is not None:
        assert (kept.text, list(kept.past), list(kept.future)) == (now, past, future)


def test_given_nothing_recorded_then_nothing_is_made(tmp_path: Path) -> None:
    assert History(tmp_path).load("a.py") is None
    assert not list(tmp_path.iterdir())


def test_given_a_write_that_was_begun_then_both_texts_are_ours_until_it_is_done(tmp_path: Path) -> None:
    made = done(tmp_path, Edit("old", "new"), base="old")
    made.writing("a.py", "new", ".a.py.1.tmp")
    kept = made.load("a.py")
    assert kept is not None and set(kept.disk) == {digest_of("old"), digest_of("new")} and kept.base == "old"
    assert kept.temporary == (".a.py.1.tmp",)
    made.written("a.py", "new", ".a.py.1.tmp")
    kept = made.load("a.py")
    assert kept is not None and kept.disk == (digest_of("new"),) and kept.text == "new" and kept.temporary == ()


def test_given_drafts_then_the_last_of_each_page_is_kept_until_it_ends(tmp_path: Path) -> None:
    made = done(tmp_path, Edit("a", "b"))
    made.commit([Entry("a.py", drafts=(Draft("page", "b", "b1"),))])
    made.commit([Entry("a.py", drafts=(Draft("page", "b", "b12"),))])
    made.commit([Entry("a.py", drafts=(Draft("other", "b", "x"),))])
    kept = made.load("a.py")
    assert kept is not None and {(d.page, d.text) for d in kept.drafts} == {("page", "b12"), ("other", "x")}
    made.commit([Entry("a.py", drafts=(Draft("page", "", ""),))])
    kept = made.load("a.py")
    assert kept is not None and [d.page for d in kept.drafts] == ["other"]


def test_given_many_versions_then_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_VERSIONS", 5)
    made = done(tmp_path, *(Edit(f"{n}", f"{n + 1}") for n in range(20)))
    made.written("a.py", "20", "")
    kept = made.load("a.py")
    assert kept is not None and kept.text == "20" and kept.past == ("16", "17", "18", "19")


def test_given_large_versions_then_their_bytes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_BYTES", 5_000)
    texts = [os.urandom(500).hex() for _ in range(30)]
    made = done(tmp_path, *(Edit(a, b) for a, b in pairwise(texts)))
    made.written("a.py", texts[-1], "")
    kept = made.load("a.py")
    assert kept is not None and kept.text == texts[-1] and 1 <= len(kept.past) < 15


def test_given_a_version_that_was_tampered_with_then_it_is_not_believed(tmp_path: Path) -> None:
    made = done(tmp_path, Edit("a", "b"), Edit("b", "c"))
    made.close()
    db = sqlite3.connect(made.path)
    db.execute("UPDATE versions SET text = ? WHERE id = 1", (packed("evil"),))
    db.commit()
    db.close()
    kept = made.load("a.py")
    assert kept is not None and kept.past == ("b",)


def test_given_a_full_disk_then_it_is_said_and_what_was_there_stays(tmp_path: Path) -> None:
    made = done(tmp_path, Edit("a", "b"))
    assert made._connection is not None
    pages = made._connection.execute("PRAGMA page_count").fetchone()[0]
    made._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DocumentError, match="full"):
        made.commit([Entry("a.py", (Edit("b", os.urandom(200_000).hex()),))])
    kept = made.load("a.py")
    assert kept is not None and kept.text == "b"
    made.commit([Entry("a.py", (Edit("b", "c"),))])  # with room again


def test_given_two_servers_then_neither_breaks_the_others_history(tmp_path: Path) -> None:
    one, two = done(tmp_path, Edit("a", "b")), History(tmp_path)
    for n in range(5):
        one.commit([Entry("a.py", (Edit(f"b{n}", f"c{n}"),))])
        two.commit([Entry("other.py", (Edit(f"x{n}", f"y{n}"),))])
    first, second = one.load("a.py"), two.load("other.py")
    assert first is not None and second is not None and (first.text, second.text) == ("c4", "y4")


def test_given_text_with_half_characters_then_it_is_kept_too(tmp_path: Path) -> None:
    kept = done(tmp_path, Edit("a", "\ud800")).load("a.py")
    assert kept is not None and kept.text == "\ud800"


def test_given_edits_then_their_versions_are_there_the_newest_first_each_with_what_it_was_made_of(
    tmp_path: Path,
) -> None:
    assert History(tmp_path).versions("a.py") == (), "looking makes no history"
    made = done(tmp_path, Edit("one", "two"), Edit("two", "three"), Edit("three", "two", "undo"), Edit("two", "four"))
    made.commit([Entry("b.py", (Edit("other", "file"),))])
    found = made.versions("a.py")
    assert [version.text for version in found] == ["four", "three", "two", "one"]
    texts = {version.number: version.text for version in found}
    assert [texts.get(version.parent) for version in found] == ["two", "two", "one", None]
    assert all(a.at >= b.at > 0 for a, b in pairwise(found))
    assert [version.text for version in made.versions("a.py", most=2)] == ["four", "three"]
