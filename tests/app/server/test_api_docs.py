"""docs/api.md is current and documents every message; the script of the guide works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.record.api import PAGE, api_page
from support.record.messages import STALLS, TYPES, VIEWS, message_types, stall_tables, view_types
from support.sessions.served import served

from tilewright.app.protocol.messages import REQUESTS
from tilewright.app.server.runtime_file import runtime_file
from tilewright.app.views.shell.state_json import PARTS

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == api_page(), "PYTHONPATH=tests python -m support.record.api"


def test_the_types_for_javascript_are_current() -> None:
    outdated = "PYTHONPATH=tests python -m support.record.messages"
    assert TYPES.read_text(encoding="utf-8") == message_types(), outdated
    assert VIEWS.read_text(encoding="utf-8") == view_types(), outdated
    assert STALLS.read_text(encoding="utf-8") == stall_tables(), outdated


def test_every_message_and_part_has_a_docstring() -> None:
    silent = [kind for kind, message in REQUESTS.items() if len(message.__doc__ or "") < 12]
    assert not silent, "their docstrings say nothing"
    assert all(part.__doc__ for part in PARTS.values())


@pytest.mark.slow
def test_the_guide_script_finds_a_server_and_the_best_drop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "guide" / "api.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.delenv("TILEWRIGHT_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with served() as server, runtime_file(server.policy, server.url):
        exec(program, {})
    loop, cycles = capsys.readouterr().out.split()
    assert loop == "mo" and 0 < int(cycles) < 300_000
