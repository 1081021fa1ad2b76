"""Windows of the timeline, with a full unrolling as the oracle."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs.sources import matmul
from support.simulator.machines import plain

from tilewright.app.views.timeline import window as lens
from tilewright.app.views.timeline.data import TimelineData
from tilewright.app.views.timeline.window import edges_of, packed, window
from tilewright.engine.hwsim import Report, simulate
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def report(k: int, *, slots: int = 1, whole: int = 400) -> Report:
    sch = Schedule(parse(matmul(8, 8, 8 * k)).program)
    ko, _ = sch.split(sch.get_loops("C")[2], factors=[None, 8], names=["ko", "ki"])
    sch.reorder(ko, *sch.get_loops("C")[:2])
    for n in (0, 1):
        block = sch.cache_read("C", n, "local")
        sch.compute_at(block, ko)
        if slots > 1:
            sch.double_buffer(block)
    sch.cache_write("C", 0, "local")
    return simulate(sch.func, plain(), whole=whole)


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[TimelineData, TimelineData]]:
    """The same program replayed in full, and with repeats skipped."""
    every, few = report(300, slots=2, whole=10**9), report(300, slots=2, whole=0)
    assert few.timeline.repeats and not every.timeline.repeats and every.cycles == few.cycles
    yield TimelineData(every), TimelineData(few)


def lists(found: dict[str, list[int]]) -> set[tuple[int, int, int]]:
    return set(zip(found.start, found.length, found.of, strict=True))


@given(st.floats(0, 0.99), st.integers(1, 3_000))
def test_law_a_window_of_skipped_tasks_equals_a_plain_replay(
    pair: tuple[TimelineData, TimelineData], part: float, length: int
) -> None:
    every = pair[0]
    start = round(part * every.report.cycles)
    whole, folded = (window(s, start, start + length, folded=False) for s in pair)
    assert whole.exact and folded.exact
    for column in ("start", "length", "place"):
        assert getattr(whole.tasks, column) == getattr(folded.tasks, column)
    expected = [
        [data.kinds[n].block for n in found.tasks.kind] for data, found in zip(pair, (whole, folded), strict=True)
    ]
    assert expected[0] == expected[1]
    labels = [
        {(s, n, data.cells[of].label) for what in ("fills", "lives") for s, n, of in lists(getattr(found, what))}
        for data, found in zip(pair, (whole, folded), strict=True)
    ]
    assert labels[0] == labels[1]
    waits = [
        {(s, n, data.waits[of]) for s, n, of in lists(found.waits)}
        for data, found in zip(pair, (whole, folded), strict=True)
    ]
    assert waits[0] == waits[1]
    assert whole.bytes == folded.bytes


@given(st.floats(0, 0.9), st.floats(0.02, 0.1))
@settings(max_examples=15)
def test_law_bins_of_skipped_tasks_equal_a_plain_replay(
    pair: tuple[TimelineData, TimelineData], part: float, share: float
) -> None:
    every, few = pair
    cycles = every.report.cycles
    start, end = round(part * cycles), round((part + share) * cycles)
    edges = edges_of(start, end, 50)
    by_name = [
        {
            (what, _name(data, what, n)): column
            for (what, n), column in zip(data.bands, data.real_time_density.shares(edges).T, strict=True)
        }
        for data in pair
    ]
    for band, column in by_name[1].items():
        if band[0] != "overlap" and band in by_name[0]:
            assert np.allclose(column, by_name[0][band]), band
    assert every.engines == few.engines


def _name(data: TimelineData, what: str, n: int) -> object:
    if what == "task":
        return data.templates[n].block
    if what == "wait":
        return data.waits[n]
    return data.cells[n].label if what in ("fill", "live") else ""


def test_many_tasks_are_sent_as_bins_of_a_few_kilobytes() -> None:
    data = TimelineData(report(300, whole=10**9))
    found = window(data, 0, data.length, folded=True, most=100)
    assert not found.exact
    bins = found.bins
    levels = {n: np.frombuffer(base64.b64decode(text), np.uint8) for n, text in bins.task}
    assert all(len(column) == bins.count <= lens.BINS for column in levels.values())
    busy = {n: float(column.mean()) / 255 for n, column in levels.items()}
    for number, template in enumerate(data.templates):
        spans = data.task_spans
        mine = spans.of == number
        cycles = int((spans.ends[mine] - spans.starts[mine]).sum())
        assert busy[number] == pytest.approx(cycles / data.length, abs=0.01), template.block


def test_waits_sum_to_the_report_and_fill_the_gaps() -> None:
    found = report(40)
    data = TimelineData(found)
    for lane, name in enumerate(data.engines):
        for cause in ("data", "slot", "issue", "idle"):
            drawn = sum(
                int(end - start)
                for start, end, of in zip(*data.wait_spans, strict=True)
                if data.waits[of].lane == lane and data.waits[of].cause == cause
            )
            assert drawn == found.engines[name].stall[cause], (name, cause)


def test_binned_bytes_keep_their_minimum_and_maximum() -> None:
    data = TimelineData(report(300, whole=0))
    memory = data.report.memory[data.rows[0]]
    (exact, *_), (binned, *_) = (
        window(data, 0, data.report.cycles, folded=False, corners=corners).bytes for corners in (10**6, 10)
    )
    assert max(binned.live) == max(exact.live) == memory.peak_live_bytes
    assert max(binned.allocated) == max(exact.allocated) == memory.peak_bytes
    assert len(binned.least) == len(binned.live) <= lens.BINS
    assert all(low <= high for low, high in zip(binned.least, binned.live, strict=True))
    assert not exact.least


def test_a_small_share_is_not_rounded_to_zero() -> None:
    assert list(base64.b64decode(packed([0.0, 1e-6, 0.5, 1.0, 1.0000001]))) == [0, 1, 128, 255, 255]
