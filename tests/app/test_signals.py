"""Ctrl-C, SIGTERM and SIGHUP end each command at any moment, with its exit code and without a traceback."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from support.faults.signalled import ended_by
from support.profile import IS_DEEP
from support.sessions.searching import DOUBLE

from tilewright.app import signals
from tilewright.app.signals import Stopped, exit_code, importing, interruptible

EXPLORE = ["explore", "double.py", "--trials", "2000", "--workers", "2"]
COMMANDS = {
    "serve": ["serve", "double.py", "--port", "0"],
    "run": ["run", "double.py", "--sensitivity"],
    "check": ["check", *["double.py"] * 20],
    "explore": EXPLORE,
    "import": ["import", "double.py"],
}
MOMENTS = [
    *((command, milliseconds) for command in COMMANDS for milliseconds in (*range(0, 1500, 20),) if IS_DEEP),
    *(("run", 0), ("check", 500), ("serve", 500), ("explore", 500)),
]
"""Commands and milliseconds after the handlers were installed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A notebook with more candidates than a search tries in a minute."""
    values = [*range(25)]
    holes = "".join(f'{x} = tilewright.choose("{x}", {values})\nsch.annotate(io, "{x}", {x})\n' for x in "pqr")
    (tmp_path / "double.py").write_text(DOUBLE + holes, encoding="utf-8")
    return tmp_path


@pytest.mark.sample(2)
@pytest.mark.deep
@pytest.mark.parametrize(("command", "milliseconds"), MOMENTS)
def test_ctrl_c_at_any_time_exits_with_130_without_a_traceback(command: str, milliseconds: int, folder: Path) -> None:
    ended = ended_by(signal.SIGINT, COMMANDS[command], milliseconds, folder)
    is_done = command == "import" and ended.code == 0  # below a second
    assert ended.errors == "" and (ended.code == 130 or is_done)


def processes_in(folder: Path) -> list[str]:
    """The processes with this working directory: a search and its workers."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.readlink(process / "cwd") == str(folder):
                found.append(process.name)
    return found


def trials_in(study: Path) -> int:
    if not study.exists():
        return 0
    with closing(sqlite3.connect(study)) as base, suppress(sqlite3.OperationalError):  # before its tables are made
        return base.execute("select count(*) from trials").fetchone()[0]
    return 0


@pytest.fixture
def exploring(folder: Path) -> Callable[[], subprocess.Popen[bytes]]:
    """Starts a search with two workers, and returns once two trials are stored."""

    def start() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "tilewright", *EXPLORE, "--study", "study.sqlite"]
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until = time.monotonic() + 120
        while trials_in(folder / "study.sqlite") < 2:
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        return process

    return start


@pytest.mark.sample(1)
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="looks for processes as Linux has them")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=str)
def test_an_ended_search_leaves_no_worker_and_keeps_its_trials(
    number: int, code: int, folder: Path, exploring: Callable[[], subprocess.Popen[bytes]]
) -> None:
    with exploring() as process:
        try:
            kept = trials_in(folder / "study.sqlite")
            assert len(processes_in(folder)) >= 2
            sent = time.monotonic()
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (code, b"")
    # After SIGKILL a worker ends with its current candidate.
    until = sent + (60 if number == signal.SIGKILL else 10)
    while processes_in(folder) and time.monotonic() < until:
        time.sleep(0.05)
    assert not processes_in(folder)
    assert trials_in(folder / "study.sqlite") >= kept >= 2


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_IGN, signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number in signals.ENDING]
    with pytest.raises(Stopped), interruptible():
        with importing():
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(number) for number in signals.ENDING] == before


def test_an_exception_instead_of_the_interrupt_has_its_exit_code() -> None:
    def caught(cause: BaseException) -> BaseException:
        try:
            try:
                raise cause
            except BaseException:
                raise ImportError("initialization failed")  # noqa: B904 (as an extension module does)
        except ImportError as error:
            return error

    assert exit_code(caught(KeyboardInterrupt())) == 130
    assert exit_code(caught(Stopped(signal.SIGTERM))) == 143
    assert exit_code(caught(ValueError())) is None


def test_an_interrupt_in_a_finalizer_is_raised_again() -> None:
    code = (
        "import signal, time\n"
        "from tilewright.app import signals\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background ignores it
        "signals.install()\n"
        "class Late:\n"
        "    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "try:\n"
        "    with signals.interruptible():\n"
        "        Late()\n"
        "        time.sleep(60)\n"
        "        print('the interrupt was lost')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


PROGRAM = [sys.executable, "-m", "tilewright"]
PRINTING = [
    pytest.param(["--help"], marks=pytest.mark.slow),
    ["check", "double.py"],
    pytest.param(["run", "no.py", "--json"], marks=pytest.mark.slow),
]


@pytest.mark.parametrize("words", PRINTING, ids=("help", "check", "json"))
def test_a_closed_reader_causes_no_traceback(words: list[str], folder: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run([*PROGRAM, *words], cwd=folder, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr and "Exception" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", pytest.param(">&- 2>&-", marks=pytest.mark.slow)])
def test_closed_streams_do_not_change_the_exit_code(closed: str, folder: Path) -> None:
    command = f'"{sys.executable}" -m tilewright check double.py {closed}'
    done = subprocess.run(["sh", "-c", command], cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
