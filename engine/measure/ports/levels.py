"""The time of a program's traffic between cache levels: the least that the measured bandwidths allow.

A level's traffic overlaps with instructions and with the traffic of other levels, so the slowest of them decides. This is the model of
execution, cache and memory (ECM) with full overlap, which Hofmann, Alappat and others found for AMD Zen (arXiv 1907.00048).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...hwsim import Machine, simulate
from ...hwsim.caches.report import CacheCounts
from ...ir import PrimFunc, TilewrightError, build
from ...ir import dtype as dt


def level_time(func: PrimFunc, machine: Machine) -> float:
    """Microseconds of a call of a program whose data were used just before, by the busiest path between two levels of the machine; 0 if
    its caches are not simulated.
    """
    try:
        counts = simulate(func, machine).caches
    except TilewrightError:
        return 0.0
    return 0.0 if counts is None else traffic_time(counts, machine, _footprint(func))


def traffic_time(counts: CacheCounts, machine: Machine, footprint_bytes: int) -> float:
    """Microseconds of the traffic. A level that holds all of the program's data has none: they are there from the call before."""
    found = 0.0
    caches = machine.caches
    for cache, rate in zip(caches, _rates(machine), strict=True):
        if footprint_bytes <= cache.size_bytes:
            break
        total = counts.total(cache.name)
        lines = total.read_misses + total.write_misses + total.prefetches + counts.written_back.get(cache.name, 0)
        found = max(found, lines * cache.line_bytes / rate / machine.clock_hz * 1e6)
    return found


def _rates(machine: Machine) -> Sequence[int]:
    """The bytes of a cycle that each level gets from the next one."""
    behind = [cache.bytes_per_cycle for cache in machine.caches[1:]]
    return [*behind, machine.far.read_bytes_per_cycle]


def _footprint(func: PrimFunc) -> int:
    sizes = 0
    for buffer in func.buffers:
        elements = 1
        for extent in buffer.shape:
            elements *= build.int_value(extent) or 1
        sizes += elements * dt.size_bytes(buffer.dtype)
    return sizes


__all__ = ["level_time", "traffic_time"]
