"""The file in which a server publishes its address to programs of the same user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.app.server.access import make_policy
from tilewright.app.server.runtime_file import runtime_file


def test_address_and_token_are_private_while_the_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_RUNTIME_DIR", str(tmp_path / "run"))
    policy = make_policy()
    with runtime_file(policy, "http://127.0.0.1:1/") as path:
        assert path is not None and path.stat().st_mode & 0o077 == 0 and path.parent.stat().st_mode & 0o077 == 0
        published = json.loads(path.read_text())
        assert published == {"url": "http://127.0.0.1:1/", "token": policy.token, "pid": os.getpid()}
    assert list((tmp_path / "run").iterdir()) == []


def test_the_next_server_removes_the_file_of_a_killed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left, living = folder / f"server-{ended.pid}.json", folder / f"server-{os.getppid()}.json"
    for path in (left, living, folder / "server-mine.json"):
        path.write_text("{}")
    monkeypatch.setenv("TILEWRIGHT_RUNTIME_DIR", str(folder))
    with runtime_file(make_policy(), "http://127.0.0.1:1/"):
        assert not left.exists() and living.exists() and (folder / "server-mine.json").exists()


def test_a_folder_readable_by_others_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    monkeypatch.setenv("TILEWRIGHT_RUNTIME_DIR", str(tmp_path / "run"))
    with runtime_file(make_policy(), "http://127.0.0.1:1/") as path:
        assert path is None and list((tmp_path / "run").iterdir()) == []
    assert f"{tmp_path / 'run'} is not private to this user: chmod 700" in capsys.readouterr().err
