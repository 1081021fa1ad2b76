"""Copies of tensors into on-chip memory during the call before the first one that reads them.

A tensor is copied by descriptors of `DESCRIPTOR_BYTES`. The times of all tasks of a call are known, so descriptors are issued at times that
delay none of them: where the DMA, and the ports and buses that a descriptor uses, are idle for as long as the descriptor takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ...cancellation import checkpoint
from ...hwsim import DmaEngine, Machine, Report, TaskProgram, simulate
from ...ir import PrimFunc, Refusal, TilewrightError
from ...ir import dtype as dt
from ...script import parse

DESCRIPTOR_BYTES = 4096
"""Bytes of one descriptor; the last one of a tensor has the rest."""

Column = npt.NDArray[np.int64]


class TimedDescriptor(NamedTuple):
    """A descriptor: the cycles of its DMA, and those after its end until its bytes are in memory."""

    duration: int
    latency: int


class TransferRoute(msgspec.Struct, frozen=True):
    """The engines, ports and buses that a copy occupies: while a task uses one of them, no descriptor runs."""

    engines: frozenset[str]
    ports: frozenset[str]


class Transfer(msgspec.Struct, frozen=True):
    """The copy of a tensor to `scope` during call `during`, for the call after it; -1 if it precedes the first call.

    Of its `descriptors`, `hidden` end within that call. `ready` is the cycle at which all bytes are in memory, from the end of the call on
    (0 if the tensor is ready earlier).
    """

    tensor: str
    scope: str
    bytes: int
    during: int
    descriptors: int
    hidden: int
    ready: int


def idle_intervals(report: Report, route: TransferRoute) -> tuple[Column, Column]:
    """Return the begins and ends of the intervals of a call in which its tasks leave the route idle."""
    program = report.segments.program
    starts, ends = report.segments.at_work([_uses(program, number, route) for number in range(len(program.variants))])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    begins = np.concatenate([np.zeros(1, np.int64), ends])
    until = np.concatenate([starts, np.array([report.cycles], np.int64)])
    idle = until > begins
    return begins[idle], until[idle]


def hidden_descriptors(
    intervals: tuple[Column, Column], cycles: int, descriptors: Sequence[tuple[TimedDescriptor, int]]
) -> list[int]:
    """Return how many descriptors of each run (a descriptor and its number) a call of `cycles` hides: they are issued in order, each as
    early as possible within the intervals, and their bytes are in memory when the call ends."""
    hidden = [0] * len(descriptors)
    at = 0
    for begin, until in zip(intervals[0].tolist(), intervals[1].tolist(), strict=True):
        while at < len(descriptors):
            (duration, latency), count = descriptors[at]
            fitting = max(0, min(count - hidden[at], (min(until, cycles - latency) - begin) // duration))
            hidden[at] += fitting
            begin += fitting * duration
            if hidden[at] < count:
                break
            at += 1
        if at == len(descriptors):
            break
    return hidden


def descriptors_of(
    machine: Machine, size_bytes: int, dtype: str, scope: str
) -> tuple[TransferRoute, list[tuple[TimedDescriptor, int]]]:
    """Return the route of a tensor's copy from the largest memory to `scope`, and its descriptors with their numbers.

    Raises TilewrightError "no-dma" if no DMA of the machine copies there.
    """
    element = dt.size_bytes(dtype)
    most = max(1, DESCRIPTOR_BYTES // element)
    whole, rest = divmod(size_bytes // element, most)
    found: list[tuple[TimedDescriptor, int]] = []
    route = TransferRoute(frozenset(), frozenset())
    for count, elements in ((whole, most), (1 if rest else 0, rest)):
        if count:
            route, descriptor = _copied(machine, elements, dtype, scope)
            found.append((descriptor, count))
    return route, found


def _copied(machine: Machine, elements: int, dtype: str, scope: str) -> tuple[TransferRoute, TimedDescriptor]:
    """The cost of a copy by the simulator's own rules: a program that copies so many elements is one task."""
    program = simulate(_copy(elements, dtype, machine.far.scopes[0], scope), machine).segments.program
    (task,) = program.variants
    engine = program.machine.engines[task.engine]
    if not isinstance(engine, DmaEngine):
        message = f"no DMA of {machine.name} copies from {machine.far.name} to {scope}"
        raise TilewrightError(Refusal("no-dma", message, found=engine.name, expected="a scope that a DMA writes"))
    others = (e.name for e in program.machine.engines if e.unit and e.unit == engine.unit)
    ports = frozenset(port.name for port, cycles in task.cost.demands if cycles)
    return TransferRoute(frozenset((engine.name, *others)), ports), TimedDescriptor(
        task.cost.duration, task.cost.latency
    )


def _copy(elements: int, dtype: str, source: str, target: str) -> PrimFunc:
    text = f'''
@T.prim_func(s_tir=True)
def transfer(A: T.Buffer(({elements},), "{dtype}", scope="{source}"), B: T.Buffer(({elements},), "{dtype}", scope="{target}")):
    for i in range({elements}):
        with T.sblock("transfer"):
            v = T.axis.spatial({elements}, i)
            B[v] = A[v]
'''
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    return program


def _uses(program: TaskProgram, number: int, route: TransferRoute) -> bool:
    checkpoint()
    variant = program.variants[number]
    engine = program.machine.engines[variant.engine].name
    return engine in route.engines or any(cycles and port.name in route.ports for port, cycles in variant.cost.demands)


def after_call(descriptors: Iterable[tuple[TimedDescriptor, int]], hidden: Sequence[int]) -> list[int]:
    """Return for each run of descriptors the cycles from the end of the call until all its bytes are in memory: those that the call does
    not hide follow its end, one after another. 0 if all are hidden."""
    end = 0
    found: list[int] = []
    for (descriptor, count), done in zip(descriptors, hidden, strict=True):
        end += (count - done) * descriptor.duration
        found.append(end + descriptor.latency if count > done else 0)
    return found
