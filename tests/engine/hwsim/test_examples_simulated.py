"""The worked examples on their machines: reports have the figures that the texts promise."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.profile import samples

from tilewright.app.document import evaluate, load_document
from tilewright.engine.hwsim import Report, simulate

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


def report_of(name: str) -> Report:
    notebook = evaluate(load_document(EXAMPLES / f"{name}.py"))
    assert notebook.error is None and notebook.schedule is not None and notebook.machine is not None
    return simulate(notebook.schedule.func, notebook.machine)


def crossing(report: Report, buffer: str) -> int:
    return sum(t.bytes for t in report.traffic if t.buffer == buffer and "global" in (t.source, t.destination))


def assert_adds_up(report: Report) -> None:
    assert report.cycles >= report.bound > 0
    for engine in report.engines.values():
        assert engine.busy + sum(engine.stall.values()) == report.cycles
        assert sum(w.cycles for w in engine.waits) == sum(engine.stall.values()) - engine.stall["idle"]


@pytest.mark.parametrize("name", samples(sorted(f.stem for f in EXAMPLES.glob("*.py")), "gemmini_gemm", "vta_gemm"))
def test_the_report_of_an_example_adds_up(name: str):
    assert_adds_up(report_of(name))


def test_double_buffered_example_fills_ahead():
    report = report_of("vtcm_double_buffer")
    assert {(t.label, t.row) for t in report.occupancy.tiles if t.buffer.startswith(("A", "B"))} == {
        (f"{b}_local.vtcm#{slot}", f"local.vtcm[{slot}]") for b in "AB" for slot in (0, 1)
    }
    fills = [t for t in report.occupancy.tiles if t.buffer == "A_local.vtcm"]
    overlapping = 0
    for s in report.segments:
        if s.engine == "matrix":
            (slot,) = (r[-1] for r in s.reads if r.startswith("A"))
            concurrent = [t for t in fills if t.start < s.end and t.filled > s.start]
            assert all(str(t.slot) != slot for t in concurrent)
            overlapping += len(concurrent) * s.times
    assert overlapping > 100 and report.overlap > 0.6
    assert report.traffic[0].bytes == 256 * 512 * 4 * 4  # all of A, once for each of the four column tiles


def test_two_halves_overlap_in_half_the_memory_of_two_tiles():
    report = report_of("vtcm_two_halves")
    assert report.overlap > 0.3
    for s in report.segments:
        if s.engine == "matrix":
            concurrent = [
                t
                for t in report.occupancy.tiles
                if t.start < s.end and t.filled > s.start and t.buffer == "A_local.vtcm"
            ]
            half = s.indices[-1][1]
            assert all(t.row == f"local.vtcm[{1 - half}]" for t in concurrent)


def test_fused_matmul_keeps_the_intermediate_on_chip():
    trip, fused = report_of("fused_matmul_relu_roundtrip"), report_of("fused_matmul_relu")
    assert crossing(trip, "mm") == 2 * 64 * 4
    assert crossing(fused, "mm") == 0
    assert "mm" not in {t.buffer for t in fused.traffic}
    assert fused.cycles < trip.cycles
    (finding,) = [f for f in trip.findings if f.code == "round-trip"]
    assert finding.buffers == ("mm",) and finding.fix
    assert not fused.findings


def test_the_fix_of_the_round_trip_removes_it():
    notebook = evaluate(load_document(EXAMPLES / "fused_matmul_relu_roundtrip.py"))
    assert notebook.schedule is not None and notebook.machine is not None
    schedule = notebook.schedule.copy()
    schedule.set_scope("mm_local", 0, "local")
    report = simulate(schedule.func, notebook.machine)
    assert crossing(report, "mm") == 0
    assert not [f for f in report.findings if f.code == "round-trip"]


def test_box_blur_keeps_nine_intermediate_elements():
    report = report_of("box_blur")
    assert {t.size_bytes for t in report.occupancy.tiles if t.buffer == "x_blur"} == {3 * 3 * 2}
