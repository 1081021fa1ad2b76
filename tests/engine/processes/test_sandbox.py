"""Confined processes: actions outside of their folder are refused, their limits end them, and they end with their parent."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.faults.signalled import default_interrupt

from tilewright.engine.ir import TilewrightError
from tilewright.engine.processes.landlock import landlock_version
from tilewright.engine.processes.sandbox import LIMITS, SandboxLimits, confined_text
from tilewright.engine.processes.seccomp import CALLS

TESTS = Path(__file__).parents[2]
MODULE = "support.confined_reader"

needs_landlock = pytest.mark.skipif(landlock_version() < 1, reason="this kernel has no Landlock")
needs_filter = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in CALLS,
    reason="the filter of calls is for Linux on x86-64 and ARM",
)
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory needs /proc")


@pytest.fixture(autouse=True, scope="module")
def reachable() -> Iterator[None]:
    """The process of the tests finds `support`; some variables are secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS))
        patch.setenv("SERVICE_TOKEN", "secret")
        patch.setenv("TILEWRIGHT_TOKEN", "secret")
        yield


def tried(folder: Path, *actions: tuple[str, object], limits: SandboxLimits = LIMITS) -> dict[str, str]:
    """The result of each action in one confined process."""
    file = folder / "file.json"
    file.write_text(json.dumps([(name, str(argument)) for name, argument in actions]))
    return dict(zip((name for name, _ in actions), json.loads(confined_text(MODULE, file, limits)), strict=True))


def refusal(folder: Path, action: str, argument: object, limits: SandboxLimits) -> tuple[str, str]:
    with pytest.raises(TilewrightError) as caught:
        tried(folder, (action, argument), limits=limits)
    return caught.value.refusal.code, str(caught.value)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the user."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret.txt").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def results(outside: Path) -> dict[str, str]:
    """The result of every action that a confined process survives."""
    secret = outside / "secret.txt"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        found = tried(
            outside,
            *((action, secret) for action in ("write", "remove", "link", "read", "read native")),
            ("write native", outside / "new.txt"),
            ("connect", server.getsockname()[1]),
            *((action, "") for action in ("large file", "variables", "folder", "fork in Python", "program")),
            *((action, "") for action in ("fork", "program native", "socket native", "signal")),
            ("write here", "own.txt"),
            ("long text", 20),
        )
        with pytest.raises(TimeoutError):
            server.accept()
    return found


def test_an_answer_is_the_text(results: dict[str, str]) -> None:
    assert results["long text"] == "x" * 20


@pytest.mark.parametrize("action", ["write", "remove", "link", "connect", "fork in Python", "program"])
def test_python_changes_connects_and_starts_nothing(action: str, results: dict[str, str], outside: Path) -> None:
    assert results[action].startswith("PermissionError")
    assert (outside / "secret.txt").read_text() == "secret"


@needs_landlock
def test_native_code_writes_nothing_outside(results: dict[str, str], outside: Path) -> None:
    assert results["write native"] == "Permission denied"
    assert not (outside / "new.txt").exists()


@needs_landlock
@pytest.mark.parametrize("action", ["read", "read native"])
def test_a_file_of_the_user_cannot_be_read(action: str, results: dict[str, str]) -> None:
    assert "ermission denied" in results[action]


def test_its_own_folder_is_writable_and_removed(results: dict[str, str]) -> None:
    assert results["write here"] == "done"
    work, home = json.loads(results["folder"])
    assert work == home and not Path(work).exists()


def test_the_size_of_a_file_is_limited(results: dict[str, str]) -> None:
    assert results["large file"].startswith("OSError")


def test_variables_are_not_inherited(results: dict[str, str]) -> None:
    variables = json.loads(results["variables"])
    assert "secret" not in variables.values() and variables["HOME"] != os.environ["HOME"]


@needs_filter
@pytest.mark.parametrize("action", ["fork", "program native", "socket native", "signal"])
def test_native_code_starts_and_reaches_nothing(action: str, results: dict[str, str]) -> None:
    assert results[action] == "Operation not permitted"


@only_linux
def test_the_memory_limit_is_reported(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, "allocate", 1 << 29, SandboxLimits(memory_bytes=1 << 28, memory_per_byte=0))
    assert code == "too-large" and "more than 268,435,456 B of memory" in message
    assert tried(tmp_path, ("allocate", 1 << 20), limits=SandboxLimits(memory_bytes=1 << 28)) == {
        "allocate": str(1 << 20)
    }


def test_the_processor_time_limit_ends_a_loop(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, "spin", "", SandboxLimits(processor_seconds=1))
    assert code == "too-slow" and "more than 1 s of processor time" in message


def test_the_time_limit_ends_a_waiting_process(tmp_path: Path) -> None:
    assert refusal(tmp_path, "sleep", 600, SandboxLimits(seconds=1))[0] == "too-slow"


def test_the_answer_limit_is_reported(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, "long text", 2 << 20, SandboxLimits(answer_bytes=1 << 20))
    assert code == "too-large" and "1,048,576 B for its text" in message


def test_large_file_is_refused_without_a_process(tmp_path: Path) -> None:
    assert refusal(tmp_path, "long text", 1, SandboxLimits(file_bytes=4))[0] == "too-large"


def test_a_crash_is_reported_with_its_signal(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, "crash", "", LIMITS)
    assert code == "reader-ended" and "SIGABRT" in message


@only_linux
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_the_process_ends_with_its_parent(end: int, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(json.dumps([("sleep", "600")]))
    code = f"import pathlib, tilewright.engine.processes.sandbox as s; s.confined_text({MODULE!r}, pathlib.Path({str(file)!r}))"
    with default_interrupt():
        parent = subprocess.Popen([sys.executable, "-P", "-c", code], stderr=subprocess.DEVNULL)
    with parent:
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
