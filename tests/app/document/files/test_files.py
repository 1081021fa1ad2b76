"""Notebook files on disk."""

import os
from pathlib import Path

import pytest

from tilewright.app.document import DocumentError, load_document, read_document, save_document
from tilewright.app.document.files import read_write as files


@pytest.mark.parametrize("data", [b"# %% schedule\r\nx\r\n", b"\xef\xbb\xbf# %%\n", "é\u2028\x0c".encode(), b""])
def test_any_text_round_trips_byte_for_byte(tmp_path: Path, data: bytes) -> None:
    source, target = tmp_path / "a.py", tmp_path / "b.py"
    source.write_bytes(data)
    saved = save_document(load_document(source), target)
    assert target.read_bytes() == data
    assert saved.path == str(target)


def test_a_crash_at_the_rename_leaves_only_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.py"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(DocumentError, match="disk is full") as caught:
        save_document(read_document("new"), target)
    assert caught.value.code == "no-space"
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


def test_a_save_syncs_the_data_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        happened.append("fsync")
        sync(descriptor)

    def replaced(source: str, target: str) -> None:
        happened.append("rename")
        replace(source, target)

    monkeypatch.setattr(files.os, "fsync", synced)
    monkeypatch.setattr(files.os, "replace", replaced)
    save_document(read_document("x"), tmp_path / "a.py")
    assert happened == ["fsync", "rename", "fsync"]


def test_saving_keeps_permissions_and_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    save_document(read_document("new"), link)
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_no_notebook_is_reported(tmp_path: Path) -> None:
    binary, large = tmp_path / "b.py", tmp_path / "large.py"
    binary.write_bytes(b"\xff\xfe\x00")
    large.write_bytes(b"#" * (files.MAX_BYTES + 1))
    for path, code in [
        (tmp_path / "no.py", "no-such-file"),
        (tmp_path, "not-a-file"),
        (binary, "not-utf-8"),
        (large, "file-too-large"),
    ]:
        with pytest.raises(DocumentError) as caught:
            load_document(path)
        assert caught.value.code == code


def test_saving_without_a_path_is_refused() -> None:
    with pytest.raises(DocumentError) as caught:
        save_document(read_document("x"))
    assert caught.value.code == "no-path"
