"""The prefetcher: its requests, the misses that it saves, and its part in reports."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.programs.sources import HEADER
from support.simulator.cachegrind import Geometry, cached_machine

from tilewright.engine.export import report_text
from tilewright.engine.hwsim import CacheCounts, Machine, MachineError, cache_counts, simulate
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


def machine(lines: int, distance: int = 1, prefetcher: str = "next-line") -> Machine:
    base = cached_machine(Geometry(4096, 128, 32), Geometry(8192, 8, 32)).replace("caches.first.prefetcher", prefetcher)
    return base.replace("caches.first.prefetch_lines", lines).replace("caches.first.prefetch_distance", distance)


def counts(lines: int, distance: int = 1, step: str = "i", prefetcher: str = "next-line") -> CacheCounts:
    return cache_counts(parse(SUM.replace("STEP", step)).program, machine(lines, distance, prefetcher))


def of_a(found: CacheCounts, cache: str) -> tuple[int, int]:
    (row,) = (r for r in found.rows if (r.cache, r.buffer) == (cache, "A"))
    return row.read_misses, row.prefetches


def test_next_line_prefetch_in_order_misses_only_the_first_line():
    assert of_a(counts(0), "first") == (LINES, 0)
    assert of_a(counts(1), "first") == (1, LINES)
    assert of_a(counts(1), "last") == (1, LINES)
    assert of_a(counts(4), "first") == (1, LINES + 3)


def test_prefetch_at_a_distance_misses_the_lines_before_it():
    assert of_a(counts(1, 3), "first") == (3, LINES)


def test_next_line_prefetch_in_reverse_misses_every_line():
    assert of_a(counts(1, step="255 - i"), "first") == (LINES, 1)


class StrideTable:
    """The last address and step of each load and store; `access` returns the prefetched address."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self.step: dict[str, int] = {}

    def access(self, name: str, address: int) -> int | None:
        step = address - self.last.get(name, address)
        is_steady = step != 0 and step == self.step.get(name, 0) and abs(step) <= 2048
        self.last[name], self.step[name] = address, step
        return address + step if is_steady else None


@pytest.mark.parametrize(
    "step", ["i", "255 - i", "i % 16 * 16 + i // 16", "i * 5 % 256", "T.if_then_else(i < 9, 0, i)"]
)
def test_stride_prefetches_are_those_of_a_table_by_instruction(step: str):
    found = counts(1, step=step, prefetcher="stride")
    table, held, missed, prefetched = StrideTable(), set[int](), 0, 0
    for i in range(256):
        at = eval(step, {"T": SimpleNamespace(if_then_else=lambda c, a, b: a if c else b), "i": i})
        # A and B fit into the first level, which keeps every line.
        missed += (line := at * 4 // 32) not in held
        held.add(line)
        coming = table.access("A", at * 4)
        if coming is not None:
            prefetched += coming // 32 not in held
            held.add(coming // 32)
    assert of_a(found, "first") == (missed, prefetched)


def test_stride_prefetch_of_columns_fetches_a_line_at_each_step():
    column = "i % 16 * 16 + i // 16"
    assert of_a(counts(0, step=column), "first") == (LINES, 0)
    missed, prefetched = of_a(counts(1, step=column, prefetcher="stride"), "first")
    assert missed < LINES // 4 and missed + prefetched >= LINES


def test_a_long_stride_is_not_prefetched():
    text = SUM.replace("(256,)", "(262144,)").replace("T.axis.spatial(256, STEP)", "T.axis.spatial(262144, i * 1024)")
    found = cache_counts(parse(text).program, machine(1, prefetcher="stride"))
    assert of_a(found, "first") == (256, 0)


def test_tasks_wait_only_for_demand_misses():
    func = parse(SUM.replace("STEP", "i")).program
    without, prefetching = simulate(func, machine(0)), simulate(func, machine(1))
    assert prefetching.cycles < without.cycles
    assert prefetching.caches is not None and prefetching.caches.total("first").prefetches == 2 * LINES
    assert "prefetched lines" in report_text(prefetching) and "prefetched lines" not in report_text(without)


def test_inclusive_level_explains_why_every_access_is_simulated():
    func, inclusive = parse(SUM.replace("STEP", "i")).program, machine(0).replace("caches.last.inclusion", "inclusive")
    assert "Every access simulated: inclusive cache last" in report_text(simulate(func, inclusive))
    assert "Every access simulated" not in report_text(simulate(func, machine(0)))
    with pytest.raises(MachineError) as caught:
        cache_counts(func, inclusive, limit=1000)
    assert caught.value.code == "too-many-accesses" and "inclusive cache last" in caught.value.refusal.message
