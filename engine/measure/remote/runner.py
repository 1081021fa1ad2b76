"""`python -m tilewright.engine.measure.remote.runner`: builds programs with TVM, and runs them on a device of a tracker."""

from __future__ import annotations

import datetime
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from ..measured import Host, Measurement, Spread
from ..protocol import Program, read_request
from ..runner import compiled, difference_of, last_line, load_tvm
from .device import RemoteDevice, RemoteRequest

REPEATS = 15
SAMPLE_MILLISECONDS = 2
SESSION_SECONDS = 60
"""A server that is busy longer with one session ends it."""

TRIES = 2
"""Sessions for each program: the second after the first was lost."""


class _Remote:
    """A session on a device, renewed after it was lost."""

    def __init__(self, tvm: Any, device: RemoteDevice) -> None:
        self._tvm, self._device = tvm, device
        self._session: Any = None

    def session(self) -> Any:
        if self._session is None:
            tracker = self._tvm.rpc.connect_tracker(self._device.host, self._device.port)
            # Waits in the tracker's queue until a server of the key is free.
            self._session = tracker.request(self._device.key, session_timeout=SESSION_SECONDS, max_retry=1)
        return self._session

    def forget(self) -> None:
        self._session = None


def main() -> int:
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=RemoteRequest)
    tvm = load_tvm()
    asked, arrays = read_request(Path(request.programs).read_bytes())
    cpu = asked.cpu or tvm.target.codegen.llvm_get_system_cpu()
    target: dict[str, Any] = {"kind": "llvm", "mcpu": cpu, "num-cores": 1}
    if request.device.target:
        words = (word.lstrip("-").partition("=") for word in request.device.target.split())
        target = {"kind": "llvm", **{name: value for name, _, value in words}}
    remote = _Remote(tvm, request.device)
    remote.session()
    flags = " ".join(f"-{name}={value}" for name, value in target.items() if name != "kind")
    host = Host(
        request.device.name, "by TVM's RPC", f"TVM {metadata.version('apache-tvm')}", flags,
        datetime.datetime.now(datetime.UTC).date().isoformat(), "elapsed time on the device",
    )  # fmt: skip
    expected: dict[str, Any] = {}
    with Path(request.answers).open("ab", buffering=0) as out:
        out.write(msgspec.json.encode(host) + b"\n")
        for program in asked.programs:
            for row in _rows(tvm, remote, program, arrays, target, expected):
                out.write(msgspec.json.encode(row) + b"\n")
    return 0


def _rows(tvm: Any, remote: _Remote, program: Program, arrays: Mapping[str, Any], target: Mapping[str, Any],
          expected: dict[str, Any]) -> Iterator[Measurement]:  # fmt: skip
    """Yields the row of a program; if the device is lost, first one that says so, which stands if the device does not come back."""
    try:
        built = compiled(tvm, program, target)
    except Exception as error:  # TVM's passes and LLVM raise errors of many kinds
        yield Measurement(program.name, refusal=f"TVM does not build it: {last_line(error)}")
        return
    for _ in range(TRIES):
        try:
            yield _measured(tvm, remote.session(), program, arrays, built, expected)
            return
        except Exception as error:  # errors of the device and of the connection
            remote.forget()
            yield Measurement(program.name, refusal=f"the device was lost: {last_line(error)}")


def _measured(
    tvm: Any, session: Any, program: Program, arrays: Mapping[str, Any], built: Any, expected: dict[str, Any]
) -> Measurement:
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        file = Path(folder) / "program.tar"
        built.export_library(str(file))
        session.upload(str(file))
    module, device = session.load_module("program.tar"), session.cpu(0)
    given: dict[str, Any] = {}
    for parameter in program.parameters:
        array = arrays[parameter.array]
        given[parameter.name] = array.item() if parameter.is_scalar else tvm.runtime.tensor(array, device=device)
    values = tuple(given.values())
    module["main"](*values)
    found = {p.name: given[p.name].numpy() for p in program.parameters if not p.is_scalar}
    difference = difference_of(program, found, expected)
    if not expected:
        expected.update(found)
    timer = module.time_evaluator("main", device, number=1, repeat=REPEATS, min_repeat_ms=SAMPLE_MILLISECONDS)
    samples = [seconds * 1e6 for seconds in timer(*values).results]
    return Measurement(program.name, Spread.of(samples), None, len(samples), difference)


if __name__ == "__main__":
    sys.exit(main())
