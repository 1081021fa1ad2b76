"""Cycles of staged, double-buffered GEMMs against the bound that Timeloop reports; what is over it is the pipeline's fill and drain.

Timeloop's cycles of a mapping are the largest over its levels; a storage level's are the compute cycles, slowed down where what is read
or written there exceeds its bandwidth (`src/model/buffer.cpp`, BufferLevel::ComputePerformance; Parashar et al., ISPASS 2019, section
VI.C: "perfect double-buffering" hides latencies and ramps). It is not on PyPI, so the definition stands here.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest
from support.profile import samples
from support.programs.gemms import streaming_machine, tiled_gemm

from tilewright.engine.hwsim import Report, simulate
from tilewright.engine.ir import PrimFunc

Triple = tuple[int, int, int]
MACS_PER_CYCLE = 64
SHAPES: tuple[tuple[Triple, Triple], ...] = (
    ((128, 64, 128), (32, 16, 32)),
    ((128, 96, 96), (16, 24, 24)),
    ((256, 256, 256), (64, 64, 64)),
)
"""M, N, K and tiles. Trip counts are even: a software pipeline begins again with its first slot."""
ORDERS = tuple(map("".join, permutations("MNK")))
BANDWIDTHS = ((1, 1), (4, 4), (8, 8), (16, 16), (2, 32), (32, 1))
"""Bytes a cycle read from and written to the DRAM; they divide every tile, so that no transfer rounds up."""

BURSTS = {
    ((128, 96, 96), "NKM", (4, 4)),
    ((128, 96, 96), "KNM", (4, 4)),
}
"""Where two slots fall short of Timeloop's bound: an operand that is hoisted out of the inner loop comes in bursts. At most steps one
tile is loaded (96 cycles, less than the 144 of computing), at every eighth two (240): the DRAM keeps up on average, one step ahead it
does not."""


def loaded_bytes(size: Triple, tile: Triple, order: str) -> int:
    """The DRAM reads of a tile that is loaded again only when a loop that it depends on, or an outer one, advances."""
    extent, part = dict(zip("MNK", size, strict=True)), dict(zip("MNK", tile, strict=True))
    total = 0
    for dimensions in ("MK", "KN"):
        times = 1
        for d in order[: max(map(order.index, dimensions)) + 1]:
            times *= extent[d] // part[d]
        total += times * part[dimensions[0]] * part[dimensions[1]]
    return total


def timeloop_cycles(size: Triple, tile: Triple, order: str, read: int, write: int) -> dict[str, int]:
    """Timeloop's cycles by what limits them: its figure is the largest."""
    m, n, k = size
    return {
        "matrix": m * n * k // MACS_PER_CYCLE,
        "load": -(-loaded_bytes(size, tile, order) // read),
        "store": -(-m * n * 4 // write),
    }


@cache
def scheduled(size: Triple, tile: Triple, order: str) -> PrimFunc:
    return tiled_gemm(*size, tile, order, doubled=True)


def ramps(report: Report, engine: str) -> tuple[int, int]:
    """Cycles before the engine's first task and after its last."""
    first = next(s for s in report.segments if s.engine == engine)
    return first.start, report.engines[engine].stall["idle"]


@pytest.mark.parametrize("order", samples(ORDERS, "MNK"))
def test_cycles_of_a_double_buffered_gemm_are_timeloops(
    order: str,
) -> None:
    for size, tile in SHAPES:
        for read, write in BANDWIDTHS:
            report = simulate(scheduled(size, tile, order), streaming_machine(read, write))
            limits = timeloop_cycles(size, tile, order, read, write)
            assert {e: report.engines[e].busy for e in limits} == limits
            limiting = max(limits, key=lambda e: limits[e])
            fill, drain = ramps(report, limiting)
            case = (size, order, (read, write))
            over = report.cycles - fill - drain - limits[limiting]
            assert (over > 0) == (case in BURSTS) and over >= 0, (case, over)


def test_compute_bound_gemm_fills_and_drains_once() -> None:
    size, tile = SHAPES[2]
    m, n, k = tile
    for order in ("MNK", "NMK"):
        report = simulate(scheduled(size, tile, order), streaming_machine(16, 16))
        assert ramps(report, "matrix") == ((m * k + k * n) // 16, m * n * 4 // 16)


def test_short_bursts_load_more_than_a_step_computes() -> None:
    for size, order, (read, write) in BURSTS:
        tile = dict(SHAPES)[size]
        m, n, k = tile
        step = m * n * k // MACS_PER_CYCLE
        limits = timeloop_cycles(size, tile, order, read, write)
        assert (m * k + k * n) // read > step > m * k // read
        assert limits["load"] < limits["matrix"]
