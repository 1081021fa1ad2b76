"""Each writing call fails in turn, with each error: an edit is durable, or it is reported as not durable and rescued in the end."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.faults.failing_disk import FailingDisk
from support.profile import IS_DEEP
from support.sessions.filed import QUICK, Desk, filed, send, text_of
from support.sessions.notebooks import SMALL

from tilewright.app.document.files.history import History
from tilewright.app.storage import disk_reports
from tilewright.app.storage.disk_reports import report_rescued, rescue
from tilewright.app.storage.registry import OpenFileRegistry

ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT")


def durable_now(desk: Desk) -> bool:
    """Wait like an answer of the API: until the text is durable, or an attempt has failed."""
    (page,) = desk.pages
    done = threading.Event()
    page.file_sync.when_durable(done.set)
    desk.until(lambda: [desk.turn(), done.wait(0.002)][1] if not done.is_set() else True)
    return filed(page).save.durable


class Told(Desk):
    """A desk that records standard error, and a page that runs the callbacks which wait for the disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lines: list[str] = []
        self.open_files = OpenFileRegistry(folder, QUICK, say=self.lines.append)

    def turn(self) -> None:
        for page in self.pages:
            queue = page.event_loop.work  # pyright: ignore[reportAttributeAccessIssue]
            for _ in range(queue.qsize()):
                work = queue.get_nowait()
                if getattr(work, "__name__", "") in ("filed", "attempted"):
                    work()


def on_disk(path: Path, text: str) -> bool:
    """Whether a server that starts now shows the text."""
    kept = History(path.parent).load(path.name)
    return path.read_text() == text or (kept is not None and kept.text == text)


def live(path: Path, disk: FailingDisk, monkeypatch: pytest.MonkeyPatch) -> int:
    """Three edits on a failing disk, and the server's end. Returns the number of calls of the disk."""
    path.write_text(SMALL)
    desk = Told(path.parent)
    page = desk.page(path)
    with monkeypatch.context() as patched:
        disk.install(patched)
        refused = 0
        for number in range(3):
            send(page, "edit_prose", cell=0, text=f"# Edit {number} of {path.parent.name} with {disk.error}")
            is_durable = durable_now(desk)
            with monkeypatch.context() as healthy:
                healthy.setattr(disk, "check", lambda **_: None)
                # The converse need not hold: a renamed file whose rename is not synced is not durable.
                assert on_disk(path, text_of(page)) or not is_durable, f"call {disk.first}, {disk.error}"
            standing = filed(page).save
            assert is_durable or standing.obstacle is not None
            refused += not is_durable
            if number == 1:
                send(page, "save")
                desk.until(lambda: [desk.turn(), filed(page).save.status != "saving"][1])
        text, rescued = text_of(page), desk.open_files.close()
    assert desk.lines or not refused, "standard error says when an edit is not durable"
    texts = [one.place.read_text() for one in rescued if one.place is not None]
    assert on_disk(path, text) or text in texts, f"call {disk.first}, {disk.error}"
    assert path.read_text().startswith("# %%"), "the file is whole"
    assert report_rescued(rescued, desk.lines.append) == (1 if rescued else 0)
    page.close()
    return disk.count


@pytest.mark.deep
def test_a_failing_call_never_loses_text_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = live(_fresh(tmp_path, "none"), FailingDisk(1_000_000, "EIO", for_ever=False), monkeypatch)
    assert calls > 20, "each of them fails below"
    failures = 0
    numbers = range(0, calls, 1 if IS_DEEP else 3)
    for number in numbers:
        errors = ERRORS if IS_DEEP else (ERRORS[number % len(ERRORS)],)
        for error in errors:
            for for_ever in (False, True) if IS_DEEP else (number % 2 == 0,):
                disk = FailingDisk(number, error, for_ever=for_ever)
                live(_fresh(tmp_path, f"{number}-{error}-{for_ever}"), disk, monkeypatch)
                failures += disk.failed
    assert failures > len(numbers)
    print(f"{calls} calls, {failures} failures: nothing lost without a word")


def _fresh(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name / "mine.py"


def test_text_that_no_disk_accepts_is_rescued_or_reported_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    first = rescue("mine\n.py", "text")
    assert first.place is not None and first.place.read_text() == "text" and first.place.stat().st_mode & 0o777 == 0o600
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_STATE_DIR", str(tmp_path / "file"))
    second = rescue("mine.py", "text")
    assert (
        second.place is not None and second.place.read_text() == "text" and "tilewright-rescued-" in str(second.place)
    )
    assert report_rescued([second], lines.append) == 1 and str(second.place) in lines[0]
    monkeypatch.setattr(disk_reports, "_write_new", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    third = rescue("mine.py", "text")
    assert third.place is None and report_rescued([third], lines.append) == 1 and "LOST" in lines[1]
    assert report_rescued([], lines.append) == 0
