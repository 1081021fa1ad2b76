"""The command line on a terminal and in a pipe: colours and signs of life in the one, plain text in the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"
CHECK = ["check", str(EXAMPLES / "place_the_copies.py"), "--max-cycles", "1"]
PROGRAM = [sys.executable, "-m", "tilewright"]


def on_a_terminal(argv: list[str], **environment: str) -> tuple[int, str]:
    """The exit code, and all that a terminal was sent."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    with subprocess.Popen([*PROGRAM, *argv], stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        said = bytearray()
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux says so when the other end is gone
                break
            if not part:
                break
            said += part
    os.close(ours)
    return process.returncode, said.decode("utf-8", "replace")


def test_given_a_terminal_then_colours_and_a_moving_sign() -> None:
    code, said = on_a_terminal(CHECK)
    assert code == 1 and "\x1b[1;31mFAIL" in said and "1 of 1" in said
    code, said = on_a_terminal(["diff", str(EXAMPLES / "box_blur.py")])
    assert code == 1 and "\x1b[32m+" in said and "\x1b[31m-" in said


def test_given_no_colour_is_wanted_then_there_is_none() -> None:
    code, said = on_a_terminal(CHECK, NO_COLOR="1")
    assert code == 1 and "FAIL" in said and "\x1b[1;31m" not in said


def test_given_json_on_a_terminal_then_only_json() -> None:
    code, said = on_a_terminal([*CHECK, "--json"])
    assert code == 1 and "\x1b" not in said and json.loads(said)["passed"] is False


def test_given_a_pipe_then_plain_text_and_nothing_else() -> None:
    done = subprocess.run([*PROGRAM, *CHECK], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "FAIL" in done.stdout and "\x1b" not in done.stdout and done.stderr == ""


def test_given_serve_with_json_then_a_program_reads_the_address(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        [*PROGRAM, "serve", str(tmp_path), "--port", "0", "--json"], stdout=subprocess.PIPE
    ) as process:
        signal.signal(signal.SIGINT, before)
        assert process.stdout is not None
        try:
            lines = ""
            while not lines.rstrip().endswith("}"):
                line = process.stdout.readline().decode()
                assert line, "the server ended"
                lines += line
            told = json.loads(lines)
            assert told["address"].startswith("http://127.0.0.1:") and told["pid"] == process.pid
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
