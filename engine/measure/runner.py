"""`python -m tilewright.engine.measure.runner`: a confined process that builds programs with TVM, runs and times them."""

from __future__ import annotations

import datetime
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..execute import BufferContents, compared
from ..ir import Refusal, TilewrightError
from ..processes.confined import ConfinedRequest, serve
from .measured import Host, Measured, Measurement, Spread, processor_name
from .protocol import Program, Request, answer_text, read_request

SAMPLE_NANOSECONDS = 2_000_000
"""Calls are repeated within a sample until it takes about as long: the clock and a call cost less than a microsecond."""

ROUNDS = 21
FEWEST_ROUNDS = 3
COLD_ROUNDS = 5

SMALLEST_CACHE = 32 << 20
"""Bytes that are overwritten before a cold call if the system does not tell the size of its caches."""


class Built(NamedTuple):
    """A program ready to run: `call` runs it once; `arrays` are its parameters by name."""

    program: Program
    call: Callable[[], object]
    arrays: Mapping[str, Any]
    assembly: str = ""


def main() -> int:
    """Answer the request on the command line."""
    return serve(_times, ("tvm", "tvm_ffi"))


def _times(confined: ConfinedRequest, start_limits: Callable[[], None]) -> str:
    tvm = load_tvm()
    start_limits()
    request, arrays = read_request(Path(confined.file).read_bytes())
    target = {"kind": "llvm", "mcpu": request.cpu or tvm.target.codegen.llvm_get_system_cpu(), "num-cores": 1}
    built: list[Built] = []
    rows: dict[str, Measurement] = {}
    expected: dict[str, Any] = {}
    for program in request.programs:
        try:
            built.append(_built(tvm, program, arrays, target, request.with_assembly))
        except Exception as error:  # TVM's passes and LLVM raise errors of many kinds
            rows[program.name] = Measurement(program.name, refusal=f"TVM does not build it: {last_line(error)}")
            continue
        found = _results(built[-1])
        rows[program.name] = Measurement(program.name, difference=difference_of(program, found, expected))
        expected = expected or found
    warm, calls, busy = _warm(built, request)
    cold = _cold(built)
    for each, samples, number, first in zip(built, warm, calls, cold, strict=True):
        program = each.program
        row = rows[program.name]
        rows[program.name] = Measurement(
            program.name, Spread.of(samples), Spread.of(first), number, row.difference, assembly=each.assembly
        )
    return answer_text(Measured(_host(tvm, target), tuple(rows.values()), busy))


def load_tvm() -> Any:
    try:
        tvm: Any = import_module("tvm")
    except ImportError as error:
        raise TilewrightError(
            Refusal("no-tvm", "measuring needs TVM with LLVM", found=str(error), fix=('pip install "tilewright[tvm]"',))
        ) from error
    if not tvm.runtime.enabled("llvm"):
        raise TilewrightError(Refusal("no-tvm", "this TVM is built without LLVM", expected="TVM with LLVM"))
    return tvm


def compiled(tvm: Any, program: Program, target: Mapping[str, Any]) -> Any:
    """The program compiled for a target."""
    lines = (line for line in program.text.splitlines() if not line.startswith(("from tvm", "import tvm")))
    module = tvm.IRModule({"main": tvm.script.from_source("\n".join(lines)).with_attr("global_symbol", "main")})
    return tvm.compile(module, target=tvm.target.Target(dict(target)))


def _built(
    tvm: Any, program: Program, arrays: Mapping[str, Any], target: Mapping[str, Any], with_assembly: bool
) -> Built:
    """The program compiled, with arrays of its own."""
    made = compiled(tvm, program, target)
    function = made["main"]
    given: dict[str, Any] = {}
    for parameter in program.parameters:
        array = arrays[parameter.array]
        given[parameter.name] = array.item() if parameter.is_scalar else tvm.runtime.tensor(array)
    values = tuple(given.values())
    assembly = str(made.mod.inspect_source("asm")) if with_assembly else ""
    return Built(program, lambda: function(*values), given, assembly)


def _results(built: Built) -> dict[str, Any]:
    """The contents of the arrays after the first call."""
    built.call()
    return {p.name: built.arrays[p.name].numpy().copy() for p in built.program.parameters if not p.is_scalar}


def difference_of(program: Program, found: Mapping[str, Any], expected: Mapping[str, Any]) -> str | None:
    """The first difference; empty if all are equal, None if nothing can be compared."""
    if not expected or not program.is_comparable:
        return "" if not expected else None
    for name, array in found.items():
        ours, theirs = (BufferContents(a, np.ones(a.shape, bool)) for a in (array, expected[name]))
        fault = compared(name, ours, theirs)[1]
        if fault is not None:
            return fault
    return ""


def _warm(built: Sequence[Built], request: Request) -> tuple[list[list[float]], list[int], float]:
    """Samples of each program, in microseconds a call, the number of calls of a sample, and elapsed time in units of processor time."""
    numbers = [max(1, SAMPLE_NANOSECONDS // max(1, _taken(each.call, 1))) for each in built]
    samples: list[list[float]] = [[] for _ in built]
    started, elapsed_start = time.thread_time_ns(), time.perf_counter_ns()
    for done in range(ROUNDS):
        used = time.thread_time_ns() - started
        if done >= FEWEST_ROUNDS and used * (done + 1) / done > request.seconds * 1e9:
            break
        for each, number, found in zip(built, numbers, samples, strict=True):
            found.append(_taken(each.call, number) / number / 1000)
    used, elapsed = time.thread_time_ns() - started, time.perf_counter_ns() - elapsed_start
    return samples, numbers, elapsed / max(1, used)


def _cold(built: Sequence[Built]) -> list[list[float]]:
    """Samples of single calls of each program after the caches were overwritten, in microseconds."""
    other = np.zeros(2 * _cache_bytes(), np.uint8)
    samples: list[list[float]] = [[] for _ in built]
    for _ in range(COLD_ROUNDS):
        for each, found in zip(built, samples, strict=True):
            other += 1
            found.append(_taken(each.call, 1) / 1000)
    return samples


def _taken(call: Callable[[], object], number: int) -> int:
    """Nanoseconds of processor time of this thread for `number` calls."""
    start = time.thread_time_ns()
    for _ in range(number):
        call()
    return time.thread_time_ns() - start


def _cache_bytes() -> int:
    """The size of the largest cache of the first processor."""
    found = [SMALLEST_CACHE]
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = file.read_text().strip()
        if text[:-1].isdecimal():
            found.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1))
    return max(found)


def _host(tvm: Any, target: Mapping[str, Any]) -> Host:
    return Host(
        processor_name(),
        f"{platform.system()} {platform.machine()}",
        f"TVM {metadata.version('apache-tvm')}, LLVM {tvm.target.codegen.llvm_version_major()}",
        " ".join(f"-{name}={value}" for name, value in target.items() if name != "kind"),
        datetime.datetime.now(datetime.UTC).date().isoformat(),
    )


def last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]


if __name__ == "__main__":
    sys.exit(main())
