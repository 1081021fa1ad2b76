"""Confined processes: what they try outside of their folder is refused, their limits end them, and they end with their parent."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.engine.ir import TilewrightError
from tilewright.engine.processes.landlock import landlock_version
from tilewright.engine.processes.sandbox import LIMITS, Limits, confined_text
from tilewright.engine.processes.seccomp import CALLS

TESTS = Path(__file__).parents[2]
MODULE = "support.confined_reader"

needs_landlock = pytest.mark.skipif(landlock_version() < 1, reason="this kernel has no Landlock")
needs_filter = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in CALLS,
    reason="the filter of calls is for Linux on x86-64 and ARM",
)
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory needs /proc")


@pytest.fixture(autouse=True)
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the tests finds `support`."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


def tried(folder: Path, action: str, argument: object = "", limits: Limits = LIMITS) -> str:
    """What came of an action in a confined process."""
    file = folder / "file.json"
    file.write_text(json.dumps([action, str(argument)]))
    return confined_text(MODULE, file, limits)


def refusal(folder: Path, action: str, argument: object = "", limits: Limits = LIMITS) -> tuple[str, str]:
    with pytest.raises(TilewrightError) as caught:
        tried(folder, action, argument, limits)
    return caught.value.refusal.code, str(caught.value)


def test_given_an_answer_then_it_is_the_text(tmp_path: Path) -> None:
    assert tried(tmp_path, "long text", 20) == "x" * 20


@pytest.mark.parametrize("action", ["write", "remove", "link"])
def test_given_a_path_outside_then_python_cannot_change_it(action: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("kept")
    assert tried(tmp_path, action, path).startswith("PermissionError")
    assert path.read_text() == "kept"


@needs_landlock
def test_given_a_path_outside_then_native_code_cannot_write_it(tmp_path: Path) -> None:
    assert tried(tmp_path, "write native", tmp_path / "new.txt") == "Permission denied"
    assert not (tmp_path / "new.txt").exists()


@needs_landlock
@pytest.mark.parametrize("action", ["read", "read native"])
def test_given_a_file_of_the_user_then_it_cannot_be_read(action: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    assert "ermission denied" in tried(tmp_path, action, tmp_path / "secret.txt")


def test_given_its_folder_then_it_is_writable_and_removed_at_the_end(tmp_path: Path) -> None:
    assert tried(tmp_path, "write here", "own.txt") == "done"
    work, home = json.loads(tried(tmp_path, "folder"))
    assert work == home and not Path(work).exists()


def test_given_a_large_file_in_its_folder_then_its_size_is_limited(tmp_path: Path) -> None:
    assert tried(tmp_path, "large file").startswith("OSError")


def test_given_variables_of_the_user_then_they_are_not_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "secret")
    monkeypatch.setenv("TILEWRIGHT_TOKEN", "secret")
    variables = json.loads(tried(tmp_path, "variables"))
    assert "secret" not in variables.values() and variables["HOME"] != os.environ["HOME"]


@pytest.mark.parametrize("action", ["fork in Python", "program"])
def test_given_another_process_then_python_cannot_start_it(action: str, tmp_path: Path) -> None:
    assert tried(tmp_path, action).startswith("PermissionError")


@needs_filter
@pytest.mark.parametrize("action", ["fork", "program native", "socket native", "signal"])
def test_given_a_call_for_processes_or_sockets_then_native_code_fails(action: str, tmp_path: Path) -> None:
    assert tried(tmp_path, action) == "Operation not permitted"


def test_given_a_listening_socket_then_no_connection_reaches_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        assert tried(tmp_path, "connect", server.getsockname()[1]).startswith("PermissionError")
        with pytest.raises(TimeoutError):
            server.accept()


@only_linux
def test_given_more_memory_than_the_limit_then_the_refusal_has_the_limit(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, "allocate", 1 << 29, Limits(memory_bytes=1 << 28, memory_per_byte=0))
    assert code == "too-large" and "more than 268,435,456 B of memory" in message
    assert tried(tmp_path, "allocate", 1 << 20, Limits(memory_bytes=1 << 28)) == str(1 << 20)


def test_given_an_endless_loop_then_the_limit_of_processor_time_ends_it(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, "spin", limits=Limits(processor_seconds=1))
    assert code == "too-slow" and "more than 1 s of processor time" in message


def test_given_a_process_that_waits_then_the_limit_of_time_ends_it(tmp_path: Path) -> None:
    started = time.monotonic()
    assert refusal(tmp_path, "sleep", 600, Limits(seconds=4))[0] == "too-slow"
    assert time.monotonic() - started < 60


def test_given_a_long_text_then_the_refusal_has_the_limit(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, "long text", 2 << 20, Limits(answer_bytes=1 << 20))
    assert code == "too-large" and "1,048,576 B for its text" in message


def test_given_a_large_model_file_then_it_is_refused_before_a_process_starts(tmp_path: Path) -> None:
    assert refusal(tmp_path, "long text", 1, Limits(file_bytes=4))[0] == "too-large"


def test_given_a_crash_then_the_refusal_has_the_signal(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, "crash")
    assert code == "reader-ended" and "SIGABRT" in message


@only_linux
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_given_a_command_that_is_killed_or_interrupted_then_its_process_ends(end: int, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(json.dumps(["spin", ""]))
    code = f"import pathlib, tilewright.engine.processes.sandbox as s; s.confined_text({MODULE!r}, pathlib.Path({str(file)!r}))"
    with subprocess.Popen([sys.executable, "-P", "-c", code], stderr=subprocess.DEVNULL) as parent:
        child = _only_child(parent.pid)
        os.kill(parent.pid, end)
    _wait_until(lambda: not _runs(child))
    assert not _runs(child)


def _only_child(pid: int) -> int:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    _wait_until(lambda: bool(path.read_text().split()))
    return int(path.read_text().split()[0])


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not condition():
        time.sleep(0.05)
