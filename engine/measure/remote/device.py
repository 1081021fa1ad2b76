"""Remote devices, and the process that measures on one: it opens sockets, so it is not the confined one.

The process writes each row when it is measured. If the device dies or the time is over, the rows so far count, and the others say why not.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...ir import Refusal, TilewrightError
from ..measured import Host, Measured, Measurement
from ..protocol import Request, write_request


class RemoteDevice(msgspec.Struct, frozen=True):
    """A device of a TVM tracker by its key. `target`: LLVM's options for it, "-mtriple=aarch64-linux-gnu -mcpu=cortex-a72"; by default
    those of this computer. `seconds`: the wall-clock time in which all is measured, waiting for the device included.
    """

    host: str
    port: int
    key: str
    target: str = ""
    seconds: float = 120.0

    @classmethod
    def of(cls, text: str, target: str = "", seconds: float = 120.0) -> RemoteDevice:
        """The device of "KEY@HOST:PORT". Raises TilewrightError "remote-device"."""
        key, at, place = text.rpartition("@")
        host, colon, port = place.rpartition(":")
        if not (key and at and host and colon and port.isdecimal() and 0 < int(port) < 1 << 16):
            raise TilewrightError(
                Refusal(
                    "remote-device",
                    "this does not name a device of a tracker",
                    text,
                    "KEY@HOST:PORT, such as pi@127.0.0.1:9190",
                )
            )
        return cls(host, int(port), key, target, seconds)

    @property
    def name(self) -> str:
        return f"{self.key}@{self.host}:{self.port}"


class RemoteRequest(msgspec.Struct, frozen=True):
    """What the process does: measure the programs of the archive `programs` on a device, and append its answers to `answers`."""

    device: RemoteDevice
    programs: str
    answers: str


def measure_remote(request: Request, arrays: Mapping[str, Any], device: RemoteDevice, folder: Path) -> Measured:
    """Measures programs on a device. Raises TilewrightError "no-remote" if nothing could be measured."""
    programs, answers, file = (folder / name for name in ("programs.npz", "answers", "request.json"))
    with programs.open("wb") as out:
        write_request(request, arrays, out)
    answers.touch()
    file.write_bytes(msgspec.json.encode(RemoteRequest(device, str(programs), str(answers))))
    command = [sys.executable, "-P", "-m", f"{__package__}.runner", str(file)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=device.seconds, check=False)
        why = _last_line(ended.stderr) if ended.returncode else ""
    except subprocess.TimeoutExpired:
        why = f"not measured within {device.seconds:g} s"
    return measured_of(answers.read_bytes(), request, device, why)


def measured_of(answers: bytes, request: Request, device: RemoteDevice, why: str) -> Measured:
    """The answers so far as a measurement; programs without one have the reason `why`."""
    lines = answers.split(b"\n")[:-1]  # a line that was cut off has no end
    if not lines:
        raise TilewrightError(
            Refusal(
                "no-remote", f"nothing was measured on {device.name}", why, "a tracker with a free server of this key"
            )
        )
    host = msgspec.json.decode(lines[0], type=Host)
    rows = {row.name: row for row in (msgspec.json.decode(line, type=Measurement) for line in lines[1:])}
    missing = why or "the device did not answer"
    found = (rows.get(p.name, Measurement(p.name, refusal=missing)) for p in request.programs)
    return Measured(host, tuple(found), 1.0)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "the process ended"


__all__ = ["RemoteDevice", "RemoteRequest", "measure_remote", "measured_of"]
