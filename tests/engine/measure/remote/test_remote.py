"""Measuring on a device of a TVM tracker: a local tracker and server, one that dies, and answers that are cut off."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

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


def test_a_local_server_measures_and_a_dead_one_is_told(tracker: int):
    func = parse(ADD).program
    assert isinstance(func, PrimFunc)
    programs = [Candidate("start", func)]
    port = free_port()
    command = [sys.executable, "-m", "tvm.exec.rpc_server", "--host", "127.0.0.1", "--tracker", f"127.0.0.1:{tracker}", "--key", "dev",
               "--port", str(port), "--port-end", str(port + 10)]  # fmt: skip
    with started(command):
        # The tracker's queue waits for the server.
        found = measure(programs, remote=RemoteDevice("127.0.0.1", tracker, "dev", seconds=START_SECONDS))
    (row,) = found.rows
    assert row.refusal == "" and row.warm is not None and row.warm.median > 0 and row.cold is None
    assert found.host.clock == "elapsed time on the device" and f"dev@127.0.0.1:{tracker}" == found.host.processor
    with pytest.raises(TilewrightError) as caught:
        measure(programs, remote=RemoteDevice("127.0.0.1", tracker, "dev", seconds=5.0))
    assert caught.value.refusal.code == "no-remote"
