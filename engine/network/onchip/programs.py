"""The program of a call whose tensors are in on-chip memory: their parameters have the scope of that memory, and copies within the memory
are inlined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from ...hwsim import Machine, Report, simulate
from ...ir import BufferLoad, BufferStore, PrimFunc, Refusal, TilewrightError, replace_buffers
from ...lower import with_sizes
from ...schedule import Schedule, ScheduleError
from .transfers import Column, TransferRoute, idle_intervals


class CallVariant(msgspec.Struct, frozen=True, eq=False):
    """The program of a call with the scopes of its tensors, and its report, or the reason why the machine cannot run it."""

    program: PrimFunc
    report: Report | None
    refusal: Refusal | None


Scopes = tuple[tuple[int, str], ...]
"""The parameters that are on chip, by position, with their scopes."""


class Simulations:
    """The variants of programs on one machine, each simulated once. Programs are known by identity."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._known: dict[tuple[PrimFunc, Scopes], CallVariant] = {}
        self._sized: dict[tuple[PrimFunc, tuple[tuple[str, int], ...]], PrimFunc] = {}
        self._idle: dict[tuple[Report, TransferRoute], tuple[Column, Column]] = {}

    def variant(self, program: PrimFunc, scopes: Scopes = ()) -> CallVariant:
        """Return the fastest variant of a program with constant sizes that fits, whose parameters have these scopes."""
        key = program, scopes
        if key not in self._known:
            found = [self._simulated(one) for one in variants(program, self.machine, dict(scopes))]
            self._known[key] = min(found, key=_rank)
        return self._known[key]

    def sized(self, func: PrimFunc, sizes: Mapping[str, int]) -> PrimFunc:
        """Return the program with constant sizes; the same object for equal arguments."""
        if not sizes:
            return func
        key = func, tuple(sizes.items())
        if key not in self._sized:
            self._sized[key] = with_sizes(func, sizes).func
        return self._sized[key]

    def idle(self, report: Report, route: TransferRoute) -> tuple[Column, Column]:
        """Return the intervals in which a program leaves a route idle."""
        key = report, route
        if key not in self._idle:
            self._idle[key] = idle_intervals(report, route)
        return self._idle[key]

    def _simulated(self, program: PrimFunc) -> CallVariant:
        try:
            return CallVariant(program, simulate(program, self.machine), None)
        except TilewrightError as error:
            return CallVariant(program, None, error.refusal)


def _rank(variant: CallVariant) -> tuple[bool, int, int]:
    report = variant.report
    return (True, 0, 0) if report is None else (False, report.overflow_bytes, report.cycles)


def variants(program: PrimFunc, machine: Machine, scopes: Mapping[int, str]) -> Iterator[PrimFunc]:
    """Yield the program with these scopes of its parameters, and without the copies between them and other buffers in their memory.

    A schedule stages tiles of a tensor on chip. If the tensor is in the same memory, the copy of a tile moves nothing that its readers
    could not read in place, so it is inlined by `compute_inline` or `reverse_compute_inline`, which keep the program's meaning.
    """
    if not scopes:
        yield program
        return
    buffers = program.buffers
    moved = replace_buffers(program, {buffers[at]: replace(buffers[at], scope=scope) for at, scope in scopes.items()})
    short = _without_copies(moved, machine, set(scopes))
    if short is not moved:
        yield short
    yield moved


def _without_copies(program: PrimFunc, machine: Machine, positions: set[int]) -> PrimFunc:
    schedule = Schedule(program)
    names = [name for name in schedule.index.block_names[1:] if name]
    kept = {program.buffers[at].name for at in positions}
    for name in names:
        side = _copied_side(schedule, name, machine, kept)
        if side:
            try:
                schedule.compute_inline(name) if side == "read" else schedule.reverse_compute_inline(name)
            except ScheduleError:
                continue
    return schedule.func


def _copied_side(schedule: Schedule, name: str, machine: Machine, kept: set[str]) -> str:
    """Whether a block copies from ("read") or to ("write") a parameter in `kept` within one memory; else ""."""
    body = schedule.index.realize(name).block.body
    if not isinstance(body, BufferStore) or not isinstance(body.value, BufferLoad):
        return ""
    source, target = body.value.buffer, body.buffer
    if machine.find_memory(source.scope) is not machine.find_memory(target.scope):
        return ""
    parameters = set(schedule.func.buffers)
    if source in parameters and source.name in kept and target not in parameters:
        return "read"
    return "write" if target in parameters and target.name in kept and source not in parameters else ""
