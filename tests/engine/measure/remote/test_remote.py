"""Measuring on a device of a TVM tracker: a local tracker and server, one that dies, and answers that are cut off."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tilewright.engine.ir import PrimFunc, TilewrightError
from tilewright.engine.measure import Candidate, measure
from tilewright.engine.measure.measured import Host, Measurement, Spread
from tilewright.engine.measure.protocol import Program, Request
from tilewright.engine.measure.remote import RemoteDevice
from tilewright.engine.measure.remote.device import measured_of
from tilewright.engine.script import parse

START_SECONDS = 180.0
"""A server imports TVM, which takes long on a busy computer."""

DEVICE = RemoteDevice("127.0.0.1", 9190, "dev", seconds=300.0)
HOST = Host("dev@127.0.0.1:9190", "by TVM's RPC", "TVM", "-mcpu=znver4", "2026-11-28", "elapsed time on the device")
REQUEST = Request(tuple(Program(name, "", (), True) for name in ("start", "schedule")), "", 1.0)

ADD = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def add(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for i in range(256):
        with T.sblock("B"):
            vi = T.axis.spatial(256, i)
            B[vi] = A[vi] + T.float32(1)
"""


def lines(*values: object) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


@pytest.mark.parametrize(
    "text", ["", "dev", "dev@", "dev@host", "@host:9190", "dev@:9190", "dev@host:port", "dev@host:70000"]
)
def test_a_device_is_named_by_key_host_and_port(text: str):
    with pytest.raises(TilewrightError) as caught:
        RemoteDevice.of(text)
    assert caught.value.refusal.code == "remote-device"
    assert RemoteDevice.of("a pi@host:9190", "-mcpu=x", 3.0) == RemoteDevice("host", 9190, "a pi", "-mcpu=x", 3.0)


def test_rows_that_were_measured_before_the_end_count():
    first = Measurement("start", Spread(1.0, 0.9, 1.1), None, 15)
    whole = lines(HOST, first)
    for answers in (whole, whole + lines(Measurement("schedule"))[:-9]):
        found = measured_of(answers, REQUEST, DEVICE, "not measured within 3 s")
        assert found.host == HOST and found.rows[0] == first
        assert (found.rows[1].name, found.rows[1].refusal) == ("schedule", "not measured within 3 s")


def test_a_process_without_an_answer_is_an_error_with_its_reason():
    with pytest.raises(TilewrightError) as caught:
        measured_of(b"", REQUEST, DEVICE, "connection refused")
    assert (caught.value.refusal.code, caught.value.refusal.found) == ("no-remote", "connection refused")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def accepts(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def started(command: list[str]) -> Iterator[None]:
    """A process and those that it starts, which are killed at the end."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def tracker() -> Iterator[int]:
    """The port of a local tracker."""
    pytest.importorskip("tvm")
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "tvm.exec.rpc_tracker",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--port-end",
        str(port + 1),
    ]
    with started(command):
        until = time.monotonic() + START_SECONDS
        while not accepts(port):
            assert time.monotonic() < until, "the tracker does not start"
            time.sleep(0.2)
        yield port


@contextmanager
def server(tracker: int) -> Iterator[None]:
    """A device of a tracker, which dies at the end."""
    port = free_port()
    command = [sys.executable, "-m", "tvm.exec.rpc_server", "--host", "127.0.0.1", "--tracker", f"127.0.0.1:{tracker}", "--key", "dev",
               "--port", str(port), "--port-end", str(port + 10)]  # fmt: skip
    with started(command):
        yield


def candidate(name: str, text: str) -> Candidate:
    func = parse(text).program
    assert isinstance(func, PrimFunc)
    return Candidate(name, func)


def test_a_local_server_measures_and_a_dead_one_is_told(tracker: int):
    programs = [candidate("start", ADD)]
    with server(tracker):
        # The tracker's queue waits for the server.
        found = measure(programs, remote=RemoteDevice("127.0.0.1", tracker, "dev", seconds=START_SECONDS))
    (row,) = found.rows
    assert row.refusal == "" and row.warm is not None and row.warm.median > 0 and row.cold is None
    assert found.host.clock == "elapsed time on the device" and f"dev@127.0.0.1:{tracker}" == found.host.processor
    with pytest.raises(TilewrightError) as caught:
        measure(programs, remote=RemoteDevice("127.0.0.1", tracker, "dev", seconds=5.0))
    assert caught.value.refusal.code == "no-remote"


SLOW = ADD.replace("for i in range(256):", "for r, i in T.grid(1 << 23, 256):").replace(
    "            vi = T.axis.spatial(256, i)\n            B[vi] = A[vi] + T.float32(1)",
    """            vr = T.axis.reduce(1 << 23, r)
            vi = T.axis.spatial(256, i)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] * T.float32(0.5) + A[vi]""",
)
"""A program that runs for seconds."""


def test_a_device_that_dies_while_it_measures_loses_nothing(
    tracker: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    device = RemoteDevice("127.0.0.1", tracker, "dev", seconds=2 * START_SECONDS)
    programs = [candidate("start", ADD), candidate("slow", SLOW)]

    def await_answer(text: bytes) -> None:
        until = time.monotonic() + START_SECONDS
        while not any(text in file.read_bytes() for file in tmp_path.glob("*/answers")):
            assert time.monotonic() < until, text
            time.sleep(0.05)

    with ThreadPoolExecutor() as clients:
        # Two clients: the tracker gives the device to one after the other.
        both = [clients.submit(measure, programs, remote=device) for _ in range(2)]
        with server(tracker):
            await_answer(b'"start"')
        await_answer(b"the device was lost")
        with server(tracker):
            found = [each.result() for each in both]
    assert [[(row.name, row.refusal, row.calls > 0) for row in one.rows] for one in found] == [
        [("start", "", True), ("slow", "", True)]
    ] * 2
