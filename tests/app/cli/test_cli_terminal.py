"""The command line on a terminal and in a pipe: colours and a spinner on the terminal, plain text in the pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from support.sessions.searching import DOUBLE

from tilewright.app.cli import main

CHECK = ["check", "double.py", "--max-cycles", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "double.py").write_text(DOUBLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path


def on_a_terminal(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The exit code, and everything sent to the terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    output = bytearray()

    def listen() -> None:
        with suppress(OSError):  # Linux reports a closed peer like this
            while part := os.read(ours, 4096):
                output.extend(part)

    listener = threading.Thread(target=listen)
    listener.start()
    with open(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal)
        patched.setattr(sys, "stderr", terminal)
        code = main(argv)
    listener.join(30)
    os.close(ours)
    return code, output.decode("utf-8", "replace")


def test_a_terminal_gets_colours_and_a_spinner(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = on_a_terminal(CHECK, monkeypatch)
    assert code == 1 and "\x1b[1;31mFAIL" in output and "1 of 1" in output
    code, output = on_a_terminal(["diff", "double.py"], monkeypatch)
    assert code == 1 and "\x1b[32m+" in output and "\x1b[31m-" in output


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    code, output = on_a_terminal(CHECK, monkeypatch)
    assert code == 1 and "FAIL" in output and "\x1b[1;31m" not in output


def test_json_on_a_terminal_is_only_json(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = on_a_terminal([*CHECK, "--json"], monkeypatch)
    assert code == 1 and "\x1b" not in output and json.loads(output)["passed"] is False


@pytest.mark.slow
def test_a_script_reads_the_address_from_serve(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        [sys.executable, "-m", "tilewright", "serve", str(tmp_path), "--port", "0", "--json"], stdout=subprocess.PIPE
    ) as process:
        signal.signal(signal.SIGINT, before)
        assert process.stdout is not None
        try:
            lines = ""
            while not lines.rstrip().endswith("}"):
                line = process.stdout.readline().decode()
                assert line, "the server ended"
                lines += line
            message = json.loads(lines)
            assert message["address"].startswith("http://127.0.0.1:") and message["pid"] == process.pid
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
