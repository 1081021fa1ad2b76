"""Measuring programs of equal meaning: their text and inputs go to a confined process, which builds and runs them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from ..execute import ExecuteError, ParameterLayout, given_in_layout, numpy_dtype, random_inputs, run_cost
from ..ir import For, PrimFunc, Refusal, TilewrightError, build, walk
from ..lower import with_sizes
from ..processes.sandbox import SandboxLimits, confined_text
from ..schedule import Schedule
from ..script import to_script
from .measured import Measured, Measurement
from .protocol import Parameter, Program, Request, read_answer, write_request
from .remote import RemoteDevice, measure_remote

MOST_PROGRAMS = 200
"""Maximum number of programs of one measurement."""

COMPILE_SECONDS = 20.0
"""Processor time in which TVM may build a program."""

LIMITS = SandboxLimits(memory_bytes=4 << 30)


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A program to measure under a name. `layouts`: its changed layouts of parameters (`Schedule.layouts`)."""

    name: str
    func: PrimFunc
    layouts: Sequence[ParameterLayout] = ()

    @classmethod
    def of(cls, name: str, schedule: Schedule, sizes: Mapping[str, int]) -> Candidate:
        """The program after a schedule, with numbers for its symbolic sizes."""
        return cls(name, with_sizes(schedule.func, dict(sizes)).func, schedule.layouts)


def measure(
    candidates: Sequence[Candidate],
    *,
    seconds: float = 10.0,
    cpu: str = "",
    with_assembly: bool = False,
    remote: RemoteDevice | None = None,
) -> Measured:
    """Build the programs with TVM for LLVM and run them on this computer, in one thread, on the random inputs of `execute.random_inputs`.
    Rounds alternate over the programs, so that a change of clock concerns all.

    The programs compute the same: the results of each are compared with those of the first. `seconds`: processor time of all runs, without
    building; `cpu`: the processor to build for by LLVM's name ("znver2"), by default this one; `with_assembly`: keep the compiled code;
    `remote`: run on this device instead; the rows that it did not measure have the reason.

    A program that cannot run here has its reason in place of times. Raises TilewrightError "no-tvm" without TVM, "cannot-measure" if the
    first program cannot run, "no-remote" if the device does not answer, "too-many", "same-name", and "too-large", "too-slow" and
    "reader-ended" by the limits of the process.
    """
    if not 0 < len(candidates) <= MOST_PROGRAMS:
        found, expected = f"{len(candidates)} programs", f"1 to {MOST_PROGRAMS}"
        raise TilewrightError(Refusal("too-many", "a measurement has a limit of programs", found, expected))
    names = [c.name for c in candidates]
    if len({*names}) < len(names):
        raise TilewrightError(Refusal("same-name", "two programs to measure have the same name", ", ".join(names)))
    first = candidates[0]
    _require_measurable(first)
    refused = {c.name: Measurement(c.name, refusal=why) for c in candidates if (why := _obstacle(c))}
    arrays = _inputs(first.func)
    programs = tuple(
        _program(c, position, arrays, c.layouts != first.layouts)
        for position, c in enumerate(candidates)
        if c.name not in refused
    )
    limits = replace(
        LIMITS,
        processor_seconds=round(3 * seconds + COMPILE_SECONDS * len(programs)),
        seconds=60 + 6 * seconds + 2 * COMPILE_SECONDS * len(programs),
    )
    request = Request(programs, cpu, seconds, with_assembly)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        if remote is not None:
            measured = measure_remote(request, arrays, remote, Path(folder))
        else:
            file = Path(folder) / "programs.npz"
            with file.open("wb") as out:
                write_request(request, arrays, out)
            measured = read_answer(confined_text(f"{__package__}.runner", file, limits))
    found = {row.name: row for row in measured.rows} | refused
    return replace(measured, rows=tuple(found[c.name] for c in candidates))


def _require_measurable(candidate: Candidate) -> None:
    why = _obstacle(candidate)
    if why:
        raise TilewrightError(
            Refusal("cannot-measure", f"{candidate.name}: {why}", expected="a program for one processor core")
        )


def _obstacle(candidate: Candidate) -> str:
    """Why the program cannot run on a processor core; empty if it can. Only code that the executor runs too becomes machine code: a call of
    another function could do anything."""
    tags = sorted({loop.thread_tag for loop in walk(candidate.func.body) if isinstance(loop, For) and loop.thread_tag})
    if tags:
        return f"loops are bound to {', '.join(tags)}"
    try:
        run_cost(candidate.func)
    except ExecuteError as error:
        return error.refusal.message
    return ""


def _inputs(func: PrimFunc) -> dict[str, Any]:
    """The contents of each parameter before a run: zeros where it is written first."""
    found: dict[str, Any] = dict(random_inputs(func))
    for buffer in func.buffers:
        if buffer.name not in found:
            shape = tuple(build.int_value(extent) or 0 for extent in buffer.shape)
            found[buffer.name] = np.zeros(shape, numpy_dtype(buffer.dtype))
    return found


def _program(candidate: Candidate, position: int, arrays: dict[str, Any], is_changed: bool) -> Program:
    """The program as text, with arrays of its own where its parameters have other layouts than those of the first program."""
    parameters: list[Parameter] = []
    for name, is_scalar in _parameters(candidate.func):
        given = name
        if is_changed and any(layout.name == name for layout in candidate.layouts):
            given = f"{position}/{name}"
            arrays[given] = given_in_layout(name, arrays[name], candidate.layouts)
        parameters.append(Parameter(name, given, is_scalar))
    return Program(candidate.name, to_script(candidate.func), tuple(parameters), not is_changed)


def _parameters(func: PrimFunc) -> Iterator[tuple[str, bool]]:
    """Yield the names of the parameters in order, and which are numbers."""
    buffers = dict(func.buffer_map)
    for param in func.params:
        buffer = buffers.get(param)
        yield (param.name, True) if buffer is None else (buffer.name, False)


__all__ = ["MOST_PROGRAMS", "Candidate", "measure"]
