"""Drafts on the start page: edited ones are listed once for equal texts, all of them on request; names and deletion."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs.sources import MATMUL
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines
from support.sessions.paper import PaperClock

from tilewright.app.document import read_document
from tilewright.app.document.title import title_of, with_heading
from tilewright.app.page.notebook_catalog import MOST_DRAFTS, NotebookCatalog
from tilewright.app.session.session import Session
from tilewright.app.storage.registry import OpenFileRegistry


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    (tmp_path / "drafts").mkdir()
    return tmp_path / "drafts"


def pasted(drafts: Path, text: str) -> Session:
    session = Session(PaperClock(), open_files=OpenFileRegistry(drafts=drafts))
    session.receive({"kind": "open_text", "text": text})
    assert session.state.is_draft
    return session


def titles(drafts: Path) -> list[str]:
    return [draft.title for draft in NotebookCatalog(drafts=drafts).drafts]


def test_an_untouched_paste_is_kept_and_not_listed(drafts: Path) -> None:
    addresses = set()
    for _ in range(2):
        session = pasted(drafts, MATMUL)
        addresses.add(session.state.address)
        session.close()
        session.file_sync.open_files.close()  # pyright: ignore[reportOptionalMemberAccess]
    assert len(addresses) == 1 and len(list(drafts.glob("*.py"))) == 1, "equal texts are one draft"
    assert titles(drafts) == []


def test_a_second_page_with_the_same_paste_has_a_draft_of_its_own(drafts: Path) -> None:
    registry = OpenFileRegistry(drafts=drafts)
    pages = [Session(PaperClock(), open_files=registry) for _ in range(2)]
    for page in pages:
        page.receive({"kind": "open_text", "text": MATMUL})
    pages[0].receive({"kind": "edit_cell", "cell": 0, "text": "# An edit\n"})
    assert pages[0].state.address != pages[1].state.address
    assert pages[1].state.notebook is not None and "An edit" not in pages[1].state.notebook.document.text
    registry.close()


def test_equal_drafts_are_listed_and_deleted_as_one(drafts: Path) -> None:
    for name in ("0" * 12, "1" * 12):
        (drafts / f"{name}.py").write_text(MATMUL_NOTEBOOK)
    (drafts / f"{'2' * 12}.py").write_text(with_lines("# other"))
    found = NotebookCatalog(drafts=drafts).drafts
    assert len(found) == 2
    session = Session(PaperClock(), open_files=OpenFileRegistry(drafts=drafts))
    equal = next(draft for draft in found if draft.text == MATMUL_NOTEBOOK)
    session.receive({"kind": "discard_draft", "name": equal.name.removesuffix(".py")})
    assert len(list(drafts.glob("*.py"))) == 1


def test_all_drafts_are_listed_on_request(drafts: Path) -> None:
    for number in range(MOST_DRAFTS + 12):
        (drafts / f"{number:012x}.py").write_text(with_lines(f"# {number}"))
    catalog = NotebookCatalog(drafts=drafts)
    assert (len(catalog.drafts), catalog.has_more_drafts) == (MOST_DRAFTS, True)
    catalog.lists_all = True
    catalog.renew()
    assert (len(catalog.drafts), catalog.has_more_drafts) == (MOST_DRAFTS + 12, False)


def test_a_draft_is_renamed_by_its_heading(drafts: Path) -> None:
    name = "a" * 12
    (drafts / f"{name}.py").write_text(MATMUL_NOTEBOOK)
    session = Session(PaperClock(), open_files=OpenFileRegistry(drafts=drafts))
    session.receive({"kind": "rename_draft", "name": name, "title": "Two tiles"})
    assert titles(drafts) == ["Two tiles"]
    session.receive({"kind": "rename_draft", "name": name, "title": " "})
    assert session.state.notice is not None and session.state.notice.code == "bad-name"


@pytest.mark.parametrize(
    "text", [MATMUL_NOTEBOOK, with_lines(), MATMUL, '# %% [markdown]\n"""\n# Old\n"""\n\n# %% workload\n' + MATMUL]
)
def test_a_heading_replaces_the_first_one_and_keeps_the_rest(text: str) -> None:
    made = with_heading(read_document(text), "New *name*")
    assert title_of(made) == "New name" and made.text.endswith(text.splitlines(keepends=True)[-1])
    again = with_heading(made, "Newer")
    assert title_of(again) == "Newer" and len(again.text.splitlines()) == len(made.text.splitlines())
