"""Files that are dropped on the start page: sent in parts, opened as a program, as the programs of a folder, or as a model."""

from __future__ import annotations

import time
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.pasted.relax_modules import MODEL, OPEN
from support.programs.sources import MATMUL
from support.sessions.paper import PaperClock, PaperScreen

from tilewright.app.document.networks import KERNELS, create_network
from tilewright.app.jobs import model_search
from tilewright.app.page.notebook_catalog import NotebookCatalog
from tilewright.app.session import model_pages
from tilewright.app.session.session import Session
from tilewright.app.session.uploads import place_in_folder
from tilewright.app.state.addresses import Address
from tilewright.app.state.search_results import MODEL_FOUND
from tilewright.app.storage.registry import OpenFileRegistry
from tilewright.app.views.model.value import model_value
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import TilewrightError
from tilewright.engine.script.relax import parse_network


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    (tmp_path / "drafts").mkdir()
    return tmp_path / "drafts"


@pytest.fixture
def session(drafts: Path) -> Iterator[Session]:
    made = Session(PaperClock(), NotebookCatalog().examples, open_files=OpenFileRegistry(drafts=drafts))
    made.updater.screen = PaperScreen()
    yield made
    made.close()


def upload(session: Session, *files: tuple[str, bytes], number: int = 1) -> list[Any]:
    """Send files in parts of some bytes, and open them; returns the answers."""
    answers: list[Any] = []
    for name, data in files:
        for start in range(0, max(1, len(data)), 100_000):
            part = b64encode(data[start : start + 100_000]).decode()
            session.receive({"kind": "upload", "upload": number, "name": name, "data": part}, answers.append)
    session.receive({"kind": "open_upload", "upload": number})
    assert isinstance(session.event_loop, PaperClock)
    session.event_loop.run_until(lambda: not session.queue.busy)
    return answers


def notice(session: Session) -> str:
    assert session.state.notice is not None
    return session.state.notice.code


def files_of_model(folder: Path) -> list[tuple[str, bytes]]:
    create_network(parse_network(MODEL), folder, "A small model", load_machine("dual-bank-npu"))
    return [(f"net/{path.relative_to(folder)}", path.read_bytes()) for path in sorted(folder.rglob("*.py"))]


def zipped(path: Path, files: list[tuple[str, bytes]]) -> bytes:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return path.read_bytes()


def test_a_program_arrives_in_parts_and_opens_as_a_draft(session: Session) -> None:
    text = MATMUL + "\n# " + "x" * 150_000
    answers = upload(session, ("matmul.py", text.encode()))
    assert [answer.error for answer in answers] == ["", ""]
    assert session.state.title == "matmul" and session.state.is_draft


def test_bytes_that_are_no_text_are_refused_with_what_opens(session: Session) -> None:
    upload(session, ("data.bin", bytes(range(256))))
    assert notice(session) == "not-a-program" and ".onnx" in str(session.state.notice)
    assert session.state.notebook is None


def test_the_programs_of_a_folder_are_listed(session: Session) -> None:
    other = MATMUL.replace("def matmul", "def other")
    upload(session, ("mine/a.py", MATMUL.encode()), ("mine/b.py", other.encode()))
    assert session.state.post is not None
    assert [label.split(":")[0] for label in session.state.post.labels] == ["mine/a.py", "mine/b.py"]
    assert session.state.title == "a"
    session.receive({"kind": "open_program", "number": 2})
    assert isinstance(session.event_loop, PaperClock)
    session.event_loop.run_until(lambda: not session.queue.busy)
    assert session.state.title == "b"


@pytest.mark.parametrize("is_zipped", [False, True])
def test_the_folder_of_a_model_becomes_a_model_among_the_drafts(
    session: Session, drafts: Path, tmp_path: Path, is_zipped: bool
) -> None:
    files = files_of_model(tmp_path / "made")
    upload(session, *([("net.zip", zipped(tmp_path / "net.zip", files))] if is_zipped else files))
    assert session.state.address == Address("model", "net") and session.state.model is not None
    assert (drafts / "net" / KERNELS).is_dir()
    (card,) = NotebookCatalog(drafts=drafts).drafts
    assert (card.model, card.title) == ("net", "A small model")
    page = model_value(session.state, session.store)
    assert page is not None and (page.head.calls, page.head.prepared) == (4, 1)
    assert card.facts[1] == f"{page.head.calls} calls of {page.head.kernels} kernels"
    session.receive({"kind": "rename_draft", "name": "net", "title": "Mine", "is_model": True})
    assert NotebookCatalog(drafts=drafts).drafts[0].title == "Mine"
    session.receive({"kind": "discard_draft", "name": "net", "is_model": True})
    assert list(drafts.iterdir()) == []


def test_a_model_file_becomes_a_folder_of_notebooks(
    session: Session, drafts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_pages, "lowered_text", lambda path: MODEL if path.read_bytes() == b"weights" else "")
    upload(session, ("tiny.onnx", b"weights"))
    assert session.state.address == Address("model", "tiny")
    upload(session, ("a.zip", zipped(tmp_path / "a.zip", [("x/tiny.onnx", b"weights")])), number=2)
    assert session.state.address == Address("model", "tiny")
    (kernel, *_) = sorted((drafts / "tiny" / KERNELS).glob("*.py"))
    kernel.write_text(f"{kernel.read_text()}# mine\n")
    upload(session, ("tiny.onnx", b"weights"), number=3)
    assert session.state.address == Address("model", "tiny_2")
    assert sorted(path.name for path in drafts.iterdir()) == ["tiny", "tiny_2"]


def test_the_open_sizes_of_a_model_file_are_asked_for_and_kept_in_its_file(
    session: Session, drafts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_pages, "lowered_text", lambda path: OPEN)
    upload(session, ("tiny.onnx", b"weights"))
    assert notice(session) == "missing-size" and session.state.notice is not None
    choice = session.state.notice.choice
    assert choice is not None and choice.is_model and [field.name for field in choice.fields] == ["n"]
    assert not list(drafts.iterdir())
    loop = session.event_loop
    assert isinstance(loop, PaperClock)
    for values, code in (({"n": "x"}, "bad-sizes"), ({"n": "0"}, "bad-sizes")):
        session.receive({"kind": "open_upload", "upload": 1, "values": values})
        loop.run_until(lambda: not session.queue.busy)
        assert notice(session) == code
    session.receive({"kind": "open_upload", "upload": 1, "values": {"n": "64"}})
    loop.run_until(lambda: not session.queue.busy)
    assert session.state.model is not None and session.state.model.sizes == {"n": 64}
    assert 'sizes = {"n": 64}' in (drafts / "tiny" / "model.py").read_text()
    session.receive({"kind": "open_kernel", "kernel": "relu"})
    loop.run_until(lambda: not session.queue.busy and session.state.notebook is not None)
    assert session.state.notebook is not None and session.state.notebook.sizes == {"m": 64}
    session.receive({"kind": "model"})
    session.receive({"kind": "model_sizes", "values": {"n": "32"}})
    loop.run_until(lambda: not session.queue.busy)
    page = model_value(session.state, session.store)
    assert page is not None and [(size.name, size.example) for size in page.head.sizes] == [("n", "32")]
    assert 'sizes = {"n": 32}' in (drafts / "tiny" / "model.py").read_text()


def test_a_served_model_file_is_listed_and_imported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "My-Net.onnx").write_bytes(b"weights")
    imports: list[Path] = []
    monkeypatch.setattr(model_pages, "lowered_text", lambda path: imports.append(path) or MODEL)
    session = Session(PaperClock(), NotebookCatalog(tmp_path).examples, open_files=OpenFileRegistry(tmp_path))
    for _ in range(2):
        session.receive({"kind": "open", "name": "My-Net.onnx"})
        session.event_loop.run_until(lambda: not session.queue.busy)  # pyright: ignore[reportAttributeAccessIssue]
        assert session.state.address == Address("model", "My-Net")
        session.receive({"kind": "gallery"})
    assert len(imports) == 1
    assert [card.name for card in NotebookCatalog(tmp_path).examples[:2]] == ["My-Net/model.py", "My-Net.onnx"]


@pytest.mark.parametrize("is_zipped", [False, True])
def test_models_and_programs_of_one_drop_are_a_list_to_choose_from(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_zipped: bool
) -> None:
    monkeypatch.setattr(model_pages, "lowered_text", lambda path: MODEL)
    other = MATMUL.replace("def matmul", "def other").encode()
    files = [
        *files_of_model(tmp_path / "made"),
        ("x/a.py", MATMUL.encode()),
        ("x/b.py", other),
        ("x/readme.md", b"words"),
        ("x/tiny.onnx", b"weights"),
    ]
    upload(session, *([("all.zip", zipped(tmp_path / "all.zip", files))] if is_zipped else files))
    assert notice(session) == "several-programs" and session.state.notice is not None
    choice = session.state.notice.choice
    assert choice is not None and choice.number == 0
    names = [label.split(":")[0] for label in choice.programs]
    assert names == ["x/a.py", "x/b.py", "net, a model", "tiny.onnx, a model"]
    loop = session.event_loop
    assert isinstance(loop, PaperClock)
    for number, title in enumerate(("a", "b"), 1):
        session.receive({"kind": "open_upload", "upload": 1, "program": number})
        loop.run_until(lambda: not session.queue.busy)
        assert session.state.title == title
    for number, name in enumerate(("net", "tiny"), 3):
        session.receive({"kind": "open_upload", "upload": 1, "program": number})
        loop.run_until(lambda: not session.queue.busy)
        assert session.state.address == Address("model", name)
    session.receive({"kind": "open_upload", "upload": 1, "program": 5})
    loop.run_until(lambda: not session.queue.busy)
    assert notice(session) == "no-such-program"


def test_a_model_beside_texts_without_a_program_opens(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_pages, "lowered_text", lambda path: MODEL)
    upload(session, ("x/tiny.onnx", b"weights"), ("x/readme.md", b"words"), ("x/export.py", b"import torch"))
    assert session.state.address == Address("model", "tiny")


def test_a_model_that_is_a_zip_file_is_no_archive_of_programs(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_pages, "lowered_text", lambda path: MODEL)
    upload(session, ("tiny.pt2", zipped(tmp_path / "tiny.pt2", [("tiny/models/model.json", b"{}")])))
    assert session.state.address == Address("model", "tiny")


def test_damaged_parts_are_refused(session: Session) -> None:
    answers: list[Any] = []
    session.receive({"kind": "upload", "upload": 2, "name": "a.py", "data": "***"}, answers.append)
    assert "base64" in answers[0].error
    session.receive({"kind": "open_upload", "upload": 7})
    assert notice(session) == "no-upload"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("a/b.py", "a/b.py"),
        ("/etc/passwd", "etc/passwd"),
        ("../../x.py", "x.py"),
        ("..\\y.py", "y.py"),
        ("a\0b.py", "a_b.py"),
    ],
)
def test_any_name_of_a_file_stays_in_the_folder(name: str, place: str) -> None:
    assert place_in_folder(name) == Path(place)


def test_a_name_of_no_file_is_refused() -> None:
    for name in ("", "..", "/", "a/" * 20 + "b"):
        with pytest.raises(TilewrightError):
            place_in_folder(name)


def test_all_kernels_of_a_model_are_searched_and_the_search_pauses(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[dict[str, Any]] = []

    def explore(path: str, machine: object, sizes: object, *, stop: Callable[[], bool], **options: Any) -> None:
        begun.append(options)
        while not stop():
            time.sleep(0.01)

    monkeypatch.setattr(model_search, "explore_model", explore)
    upload(session, *files_of_model(tmp_path / "made"))
    session.receive({"kind": "schedule_all", "seconds": 60})
    loop = session.event_loop
    assert isinstance(loop, PaperClock) and session.state.model is not None
    path = session.state.model.path

    def status() -> str:
        found = session.store.known(MODEL_FOUND(path))
        return "" if found is None else found.status

    loop.run_until(lambda: status() == "running")
    session.receive({"kind": "open_kernel", "kernel": "both"})
    loop.run_until(lambda: not session.queue.busy)
    assert status() == "running", "it continues while a kernel is shown"
    session.receive({"kind": "model"})
    loop.run_until(lambda: session.state.notebook is None)
    session.receive({"kind": "stop_scheduling"})
    page = model_value(session.state, session.store)
    assert page is not None and page.search is not None
    assert (page.search.status, page.search.can_resume) == ("stopped", True) and 50 < page.search.seconds_left <= 60
    session.receive({"kind": "schedule_all", "seconds": page.search.seconds_left})
    loop.run_until(lambda: len(begun) == 2)
    session.close()
    assert [options["seconds"] for options in begun] == [60, page.search.seconds_left]
