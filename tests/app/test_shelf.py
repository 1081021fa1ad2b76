"""What a page has to choose from, and the thumbnails that are drawn after it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.notebooks import MATMUL_NOTEBOOK

from tilewright.app.page.notebook_catalog import Shelf, Thumbnails
from tilewright.app.views.shell.gallery import FOLDER, load_examples
from tilewright.app.views.shell.thumbnails import digest


def test_given_no_folder_then_the_examples_are_there_and_nothing_is_missing() -> None:
    for shelf in (Shelf(), Shelf(FOLDER)):
        assert shelf.examples == load_examples()
        assert (shelf.folder, shelf.missing) == ("", [])


def test_given_a_folder_then_its_files_come_first_and_are_drawn_once_a_server(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MATMUL_NOTEBOOK)
    thumbnails = Thumbnails()
    shelf = Shelf(tmp_path, thumbnails)
    assert shelf.examples[0].name == "mine.py" and shelf.examples[1:] == load_examples()
    assert shelf.folder == tmp_path.name and shelf.missing == [MATMUL_NOTEBOOK]
    done = threading.Event()
    shelf.fill(lambda: True, done.set)
    assert done.wait(60)
    assert Shelf(tmp_path, thumbnails).missing == []
    assert thumbnails.known[digest(MATMUL_NOTEBOOK)].cycles


def test_given_a_page_that_wants_no_more_then_nothing_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MATMUL_NOTEBOOK)
    shelf = Shelf(tmp_path)
    asked = threading.Event()

    def wanted() -> bool:
        asked.set()
        return False

    shelf.fill(wanted, lambda: pytest.fail("nothing was to be drawn"))
    assert asked.wait(60)
    assert shelf.missing == [MATMUL_NOTEBOOK]
