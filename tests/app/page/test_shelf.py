"""The notebooks that a page offers, and their thumbnails, which are drawn later."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.page.notebook_catalog import NotebookCatalog, Thumbnails
from tilewright.app.views.shell.gallery import FOLDER, load_examples
from tilewright.app.views.shell.model_cards import example_models
from tilewright.app.views.shell.thumbnails import digest


def test_the_examples_are_listed_without_a_folder() -> None:
    for catalog in (NotebookCatalog(), NotebookCatalog(FOLDER)):
        assert catalog.examples == (*load_examples(), *example_models())
        assert (catalog.folder, catalog.missing) == ("", [])


def test_files_of_a_folder_come_first_and_are_drawn_once(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MATMUL_NOTEBOOK)
    thumbnails = Thumbnails()
    catalog = NotebookCatalog(tmp_path, thumbnails)
    assert catalog.examples[0].name == "mine.py" and catalog.examples[1:] == (*load_examples(), *example_models())
    assert catalog.folder == tmp_path.name and [card.text for card in catalog.missing] == [MATMUL_NOTEBOOK]
    done = threading.Event()
    catalog.fill(lambda: True, done.set)
    assert done.wait(60)
    assert NotebookCatalog(tmp_path, thumbnails).missing == []
    assert thumbnails.known[digest(MATMUL_NOTEBOOK)].cycles


def test_a_closed_page_draws_no_thumbnails(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MATMUL_NOTEBOOK)
    catalog = NotebookCatalog(tmp_path)
    requested = threading.Event()

    def wanted() -> bool:
        requested.set()
        return False

    catalog.fill(wanted, lambda: pytest.fail("nothing was to be drawn"))
    assert requested.wait(60)
    assert [card.text for card in catalog.missing] == [MATMUL_NOTEBOOK]
