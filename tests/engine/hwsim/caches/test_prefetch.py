"""The prefetcher: what it requests, what it saves, and how reports show it."""

from __future__ import annotations

from support.programs.sources import HEADER
from support.simulator.cachegrind import Geometry, cached_machine

from tilewright.engine.export import report_text
from tilewright.engine.hwsim import CacheCounts, Machine, cache_counts, simulate
from tilewright.engine.script import parse

SUM = (
    HEADER
    + """
@T.prim_func
def total(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for i in range(256):
        with T.block("B"):
            vi = T.axis.spatial(256, STEP)
            B[vi] = A[vi] + T.float32(1)
"""
)
LINES = 256 * 4 // 32


def machine(lines: int, distance: int = 1) -> Machine:
    base = cached_machine(Geometry(1024, 4, 32), Geometry(4096, 8, 32))
    return base.replace("caches.first.prefetch_lines", lines).replace("caches.first.prefetch_distance", distance)


def counts(lines: int, distance: int = 1, step: str = "i") -> CacheCounts:
    return cache_counts(parse(SUM.replace("STEP", step)).program, machine(lines, distance))


def of_a(found: CacheCounts, cache: str) -> tuple[int, int]:
    (row,) = (r for r in found.rows if (r.cache, r.buffer) == (cache, "A"))
    return row.read_misses, row.prefetches


def test_given_the_next_line_prefetched_when_read_in_order_then_only_the_first_line_is_missed():
    assert of_a(counts(0), "first") == (LINES, 0)
    assert of_a(counts(1), "first") == (1, LINES)
    assert of_a(counts(1), "last") == (1, LINES)
    assert of_a(counts(4), "first") == (1, LINES + 3)


def test_given_a_distance_when_read_in_order_then_the_lines_before_it_are_missed():
    assert of_a(counts(1, 3), "first") == (3, LINES)


def test_given_reads_in_reverse_when_prefetched_then_every_line_is_missed():
    assert of_a(counts(1, step="255 - i"), "first") == (LINES, 1)


def test_given_prefetches_then_tasks_wait_for_their_own_misses_only_and_the_report_lists_them():
    func = parse(SUM.replace("STEP", "i")).program
    without, ahead = simulate(func, machine(0)), simulate(func, machine(1))
    assert ahead.cycles < without.cycles
    assert ahead.caches is not None and ahead.caches.total("first").prefetches == 2 * LINES
    assert "prefetches" in report_text(ahead) and "prefetches" not in report_text(without)
