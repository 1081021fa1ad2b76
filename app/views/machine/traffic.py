"""Bytes between scopes, for a diagram and a table: copied bytes with their lower bounds, and bytes that engines read and write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec.structs import replace

from ....engine.hwsim import CacheCounts, EngineAccess, Machine, Memory, Report, Traffic
from ....engine.ir import TilewrightError
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ..labels.numbers import grouped, percent_text, size_text
from ..labels.palette import OTHER, Colours, colours_by_name
from ..labels.values import Value

_TRAFFIC = Derived["TrafficDiagram"]("traffic")


class TrafficFlow(Value, frozen=True, kw_only=True):
    """The bytes of a buffer from one column to another: a copy, or the access of an engine. `least` is the lower bound of a copy in bytes,
    `times` the ratio to it as text; `round_trip`: the copy is avoidable."""

    kind: Literal["copy", "access"]
    buffer: str
    colour: int
    source: str
    destination: str
    bytes: int
    text: str
    exact: str
    least: int | None = None
    least_text: str = ""
    times: str = ""
    round_trip: bool = False


class TrafficColumn(Value, frozen=True):
    """A memory or an engine."""

    name: str
    short: str
    kind: Literal["memory", "engine"]
    hint: str


class RoundTrip(Value, frozen=True):
    """An intermediate buffer that is copied to a larger memory and back."""

    buffer: str
    scope: str
    bytes: int
    text: str


class CacheLevel(Value, frozen=True):
    """The accesses and misses of a cache, and the block and buffer with the most misses; `prefetched` is "" if no cache prefetches."""

    name: str
    size: str
    asked: str
    missed: str
    share: str
    prefetched: str
    worst: str


class TrafficDiagram(Value, frozen=True):
    """The memories, largest first, and the compute engines; the flows between them, copies first; the round trips, and the caches."""

    columns: list[TrafficColumn]
    flows: list[TrafficFlow]
    trips: list[RoundTrip]
    caches: list[CacheLevel]
    total: str
    note: str


def traffic_value(state: State, store: Store) -> TrafficDiagram:
    """The traffic of the displayed program, or the reason why there is none."""
    report, machine = store.known_report(state), store.machine(state)
    if state.moment is None or isinstance(machine, TilewrightError) or not isinstance(report, Report):
        note = store.no_report(state)
        return TrafficDiagram([], [], [], [], "", note)
    func = state.moment.schedule.func
    return store.remember(_TRAFFIC(report, func, machine), lambda: value_of(report, machine, colours_by_name(func)))


def value_of(report: Report, machine: Machine, colours: Colours) -> TrafficDiagram:
    """The traffic of a report."""
    trips = round_trips(report, machine)
    buffers = {buffer for buffer, _ in trips}
    copies = [
        _copy(row, colours.get(row.buffer, OTHER), row.buffer in buffers) for row in _ordered(report, machine, buffers)
    ]
    accesses = [flow for row in report.accesses for flow in _accesses(row, colours.get(row.buffer, OTHER))]
    flows = [*copies, *accesses]
    moved, least = (sum(getattr(row, name) for row in report.traffic) for name in ("bytes", "least_bytes"))
    total = f"{size_text(moved)} copied; lower bound {size_text(least)}" if copies else "No copies between memories"
    drawn = [_trip(buffer, scope, report.traffic) for buffer, scope in trips]
    return TrafficDiagram(_columns(machine, flows), flows, drawn, _caches(machine, report.caches), total, "")


def round_trips(report: Report, machine: Machine) -> tuple[tuple[str, str], ...]:
    """Pairs (buffer, scope) of intermediates that are copied to a larger memory and back."""
    rows = [row for row in report.traffic if not row.least_bytes]
    return tuple(
        dict.fromkeys(
            (out.buffer, out.destination)
            for out in rows
            for back in rows
            if out.buffer == back.buffer and out.destination == back.source and back.destination == out.source
            if _is_outward(out, machine)
        )
    )


def _is_outward(row: Traffic, machine: Machine) -> bool:
    """Whether the copy goes to a larger memory."""
    source, destination = machine.find_memory(row.source), machine.find_memory(row.destination)
    return source is not None and destination is not None and source.capacity_bytes < destination.capacity_bytes


def _ordered(report: Report, machine: Machine, trips: set[str]) -> list[Traffic]:
    """The copies in display order: copies to smaller memories, then round trips, then other copies to larger memories. The two copies of
    a round trip are adjacent."""
    rank = {row: (row.buffer in trips, _is_outward(row, machine)) for row in report.traffic}
    names = list(dict.fromkeys(row.buffer for row in report.traffic))

    def place(row: Traffic) -> tuple[int, int, bool]:
        is_trip, is_out = rank[row]
        return 1 if is_trip else 2 if is_out else 0, names.index(row.buffer) if is_trip else 0, is_trip and not is_out

    return sorted(report.traffic, key=place)


def _trip(buffer: str, scope: str, rows: Iterable[Traffic]) -> RoundTrip:
    moved = sum(r.bytes for r in rows if r.buffer == buffer and scope in (r.source, r.destination))
    text = f"{buffer} is copied to {scope} and back: {size_text(moved)} of avoidable traffic"
    return RoundTrip(buffer, scope, moved, text)


def _columns(machine: Machine, flows: list[TrafficFlow]) -> list[TrafficColumn]:
    """Memories by falling capacity, then engines; only those that are an end of a flow."""
    used = {flow.source for flow in flows} | {flow.destination for flow in flows}
    memories = sorted((m for m in machine.memories if m.scope in used), key=lambda m: -m.capacity_bytes)
    engines = [e.name for e in machine.engines if e.name in used]
    return [
        *(TrafficColumn(m.scope, m.scope.removeprefix("local."), "memory", _of_all(machine, m)) for m in memories),
        *(TrafficColumn(name, name, "engine", "compute engine") for name in engines),
    ]


def _of_all(machine: Machine, memory: Memory) -> str:
    """The capacity of a memory, and how many of it the chip has."""
    count = machine.cores // machine.cores_around(memory.level)
    size = size_text(memory.capacity_bytes)
    return f"{grouped(count)} × {size}" if count > 1 else size


def _copy(row: Traffic, colour: int, is_trip: bool) -> TrafficFlow:
    flow = _flow("copy", row.buffer, row.source, row.destination, row.bytes, colour)
    times = f"×{row.bytes / row.least_bytes:.3g}" if row.least_bytes and row.bytes != row.least_bytes else ""
    return replace(
        flow,
        least=row.least_bytes,
        least_text=size_text(row.least_bytes) if row.least_bytes else "none",
        times=times,
        round_trip=is_trip and not row.least_bytes,
    )


def _accesses(row: EngineAccess, colour: int) -> list[TrafficFlow]:
    """The flows of an engine's accesses: reads from the memory, writes to it."""
    found: list[TrafficFlow] = []
    if row.read_bytes:
        found.append(_flow("access", row.buffer, row.scope, row.engine, row.read_bytes, colour))
    if row.written_bytes:
        found.append(_flow("access", row.buffer, row.engine, row.scope, row.written_bytes, colour))
    return found


def _caches(machine: Machine, counts: CacheCounts | None) -> list[CacheLevel]:
    """The accesses and misses of each cache level, nearest first, and the block and buffer with the most misses. `prefetched` is empty if
    no level prefetches."""
    found: list[CacheLevel] = []
    if counts is None:
        return found
    prefetches = any(cache.prefetch_lines for cache in machine.caches)
    for cache in machine.caches:
        rows = [r for r in counts.rows if r.cache == cache.name]
        asked, missed = sum(r.reads + r.writes for r in rows), sum(r.read_misses + r.write_misses for r in rows)
        if asked:
            worst = max(rows, key=lambda r: r.read_misses + r.write_misses)
            most = worst.read_misses + worst.write_misses
            found.append(
                CacheLevel(
                    cache.name,
                    size_text(cache.size_bytes),
                    grouped(asked),
                    grouped(missed),
                    percent_text(missed / asked),
                    grouped(sum(r.prefetches for r in rows)) if prefetches else "",
                    f"{worst.buffer} in {worst.block}, {grouped(most)}" if most else "",
                )
            )
    return found


def _flow(
    kind: Literal["copy", "access"], buffer: str, source: str, destination: str, size: int, colour: int
) -> TrafficFlow:
    return TrafficFlow(
        kind=kind,
        buffer=buffer,
        colour=colour,
        source=source,
        destination=destination,
        bytes=size,
        text=size_text(size),
        exact=f"{grouped(size)} bytes",
    )
