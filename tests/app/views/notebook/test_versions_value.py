"""Earlier versions of a file on the page: shown, compared with the current one, and restored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.sessions.filed import Desk, text_of
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.session.session import Session
from tilewright.app.views.notebook.versions import versions_value


@pytest.fixture
def page(tmp_path: Path) -> Session:
    path = tmp_path / "mine.py"
    path.write_text(MATMUL_NOTEBOOK)
    desk = Desk(tmp_path)
    found = desk.page(path)
    for loop in ("i", "ki"):
        send(found, "call", method="parallel" if loop == "i" else "unroll", target=loop, arguments={})
        desk.settle()
    send(found, "undo")
    desk.settle()
    return found


def send(page: Session, kind: str, **fields: Any) -> None:
    page.receive({"kind": kind, **fields})


def value(page: Session) -> dict[str, Any]:
    found = versions_value(page.state)
    assert found is not None
    return found


def test_each_version_shows_its_change_and_the_current_one(page: Session) -> None:
    assert versions_value(page.state) is None
    send(page, "show_versions")
    shown = value(page)
    assert shown.name == "mine.py"
    assert [v.what for v in shown.versions] == ["+ sch.unroll(ki)", "+ sch.parallel(i)", "first version"]
    assert [v.now for v in shown.versions] == [False, True, False]
    assert [(line.mark, line.text) for line in shown.lines if line.mark in ("added", "removed")] == [
        ("added", "sch.unroll(ki)")
    ]
    oldest = shown.versions[-1].number
    send(page, "version", version=oldest)
    assert [(line.mark, line.text) for line in value(page).lines if line.mark in ("added", "removed")] == [
        ("removed", "sch.parallel(i)")
    ]
    send(page, "hide_versions")
    assert versions_value(page.state) is None


def test_restoring_a_version_can_be_undone(page: Session) -> None:
    before = text_of(page)
    send(page, "show_versions")
    send(page, "restore_version", version=value(page).versions[0].number)
    assert "sch.unroll(ki)" in text_of(page) and versions_value(page.state) is None
    send(page, "undo")
    assert text_of(page) == before


def test_a_missing_version_is_ignored(page: Session) -> None:
    before = text_of(page)
    send(page, "restore_version", version=1)
    assert text_of(page) == before and page.state.notice is not None
    send(page, "show_versions")
    send(page, "restore_version", version=10**9)
    assert text_of(page) == before


def test_a_notebook_without_a_file_has_no_versions() -> None:
    page = Desk().page()
    send(page, "open_text", text=MATMUL_NOTEBOOK)
    send(page, "show_versions")
    assert versions_value(page.state) is None
