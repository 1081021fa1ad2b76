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
    store = History(folder)
    store.commit([Entry("a.py", edits, base)])
    return store


@given(
    st.lists(st.one_of(st.integers(0, 3).map(lambda n: f"text {n}"), st.sampled_from(["undo", "redo"])), max_size=30)
)
def test_undo_and_redo_survive_a_restart(tmp_path_factory: pytest.TempPathFactory, moves: list[str]) -> None:
    """Undo and redo against the lists of a page."""
    store = History(tmp_path_factory.mktemp("history"))
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
        store.commit([Entry("a.py", (Edit(before, now, move if move in ("undo", "redo") else "edit"),))])
    store.close()
    kept = History(store.folder).load("a.py")
    assert (kept is not None) == any_edit
    if kept is not None:
        assert (kept.text, list(kept.past), list(kept.future)) == (now, past, future)


def test_an_empty_history_creates_no_file(tmp_path: Path) -> None:
    assert History(tmp_path).load("a.py") is None
    assert not list(tmp_path.iterdir())


def test_an_unfinished_write_matches_both_texts(tmp_path: Path) -> None:
    store = done(tmp_path, Edit("old", "new"), base="old")
    store.writing("a.py", "new", ".a.py.1.tmp")
    kept = store.load("a.py")
    assert kept is not None and set(kept.disk) == {digest_of("old"), digest_of("new")} and kept.base == "old"
    assert kept.temporary == (".a.py.1.tmp",)
    store.written("a.py", "new", ".a.py.1.tmp")
    kept = store.load("a.py")
    assert kept is not None and kept.disk == (digest_of("new"),) and kept.text == "new" and kept.temporary == ()


def test_the_last_draft_of_each_page_is_kept_until_it_closes(tmp_path: Path) -> None:
    store = done(tmp_path, Edit("a", "b"))
    store.commit([Entry("a.py", drafts=(Draft("page", "b", "b1"),))])
    store.commit([Entry("a.py", drafts=(Draft("page", "b", "b12"),))])
    store.commit([Entry("a.py", drafts=(Draft("other", "b", "x"),))])
    kept = store.load("a.py")
    assert kept is not None and {(d.page, d.text) for d in kept.drafts} == {("page", "b12"), ("other", "x")}
    store.commit([Entry("a.py", drafts=(Draft("page", "", ""),))])
    kept = store.load("a.py")
    assert kept is not None and [d.page for d in kept.drafts] == ["other"]


def test_the_oldest_of_many_versions_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_VERSIONS", 5)
    store = done(tmp_path, *(Edit(f"{n}", f"{n + 1}") for n in range(20)))
    store.written("a.py", "20", "")
    kept = store.load("a.py")
    assert kept is not None and kept.text == "20" and kept.past == ("16", "17", "18", "19")


def test_the_total_size_of_versions_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_BYTES", 5_000)
    texts = [os.urandom(500).hex() for _ in range(30)]
    store = done(tmp_path, *(Edit(a, b) for a, b in pairwise(texts)))
    store.written("a.py", texts[-1], "")
    kept = store.load("a.py")
    assert kept is not None and kept.text == texts[-1] and 1 <= len(kept.past) < 15


def test_a_tampered_version_is_rejected(tmp_path: Path) -> None:
    store = done(tmp_path, Edit("a", "b"), Edit("b", "c"))
    store.close()
    db = sqlite3.connect(store.path)
    db.execute("UPDATE versions SET text = ? WHERE id = 1", (packed("evil"),))
    db.commit()
    db.close()
    kept = store.load("a.py")
    assert kept is not None and kept.past == ("b",)


def test_a_full_disk_is_reported_and_keeps_the_history(tmp_path: Path) -> None:
    store = done(tmp_path, Edit("a", "b"))
    assert store._connection is not None
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DocumentError, match="full"):
        store.commit([Entry("a.py", (Edit("b", os.urandom(200_000).hex()),))])
    kept = store.load("a.py")
    assert kept is not None and kept.text == "b"
    store.commit([Entry("a.py", (Edit("b", "c"),))])  # with room again


def test_two_servers_do_not_break_each_others_history(tmp_path: Path) -> None:
    one, two = done(tmp_path, Edit("a", "b")), History(tmp_path)
    for n in range(5):
        one.commit([Entry("a.py", (Edit(f"b{n}", f"c{n}"),))])
        two.commit([Entry("other.py", (Edit(f"x{n}", f"y{n}"),))])
    first, second = one.load("a.py"), two.load("other.py")
    assert first is not None and second is not None and (first.text, second.text) == ("c4", "y4")


def test_text_with_lone_surrogates_is_kept(tmp_path: Path) -> None:
    kept = done(tmp_path, Edit("a", "\ud800")).load("a.py")
    assert kept is not None and kept.text == "\ud800"


def test_versions_are_listed_newest_first_with_their_base(
    tmp_path: Path,
) -> None:
    assert History(tmp_path).versions("a.py") == (), "looking makes no history"
    store = done(tmp_path, Edit("one", "two"), Edit("two", "three"), Edit("three", "two", "undo"), Edit("two", "four"))
    store.commit([Entry("b.py", (Edit("other", "file"),))])
    found = store.versions("a.py")
    assert [version.text for version in found] == ["four", "three", "two", "one"]
    texts = {version.number: version.text for version in found}
    assert [texts.get(version.parent) for version in found] == ["two", "two", "one", None]
    assert all(a.at >= b.at > 0 for a, b in pairwise(found))
    assert [version.text for version in store.versions("a.py", most=2)] == ["four", "three"]
