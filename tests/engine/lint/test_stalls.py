"""Calls that end a stall: tried on copies and faster, with at most half of the stall left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.app.document import evaluate, load_document
from tilewright.engine.hwsim import simulate
from tilewright.engine.lint import Stall, Subject, reason, remedies

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


def subject_of(name: str) -> Subject:
    notebook = evaluate(load_document(EXAMPLES / f"{name}.py"))
    assert notebook.schedule is not None and notebook.machine is not None
    return Subject(notebook.schedule, notebook.machine, {}, simulate)


@pytest.mark.parametrize(
    ("name", "stall", "calls"),
    [
        (
            "gemmini_gemm",
            Stall("array", "slot", "C_local.accumulator", "C_local.accumulator"),
            'sch.double_buffer("C")',
        ),
        (
            "vtcm_double_buffer",
            Stall("matrix", "data", "B_local.vtcm", "B_local.vtcm"),
            "sch.split(m, factors=[None, 128]",
        ),
    ],
)
def test_calls_that_end_a_stall_save_cycles(name: str, stall: Stall, calls: str) -> None:
    subject = subject_of(name)
    (finding,) = filter(None, remedies(subject, stall))
    fix = finding.fixes[0]
    assert calls in fix.calls[-1]
    assert subject.report is not None and fix.cycles < subject.report.cycles == fix.cycles_before


def test_a_stall_that_no_call_ends_has_no_finding() -> None:
    subject = subject_of("gemmini_gemm")
    assert not list(filter(None, remedies(subject, Stall("mvin", "port", "", "system"))))


def test_reason_of_a_port_stall_has_both_rates() -> None:
    subject = subject_of("vtcm_double_buffer")
    assert subject.report is not None
    stall = Stall("matrix", "data", "B_local.vtcm", "B_local.vtcm")
    bytes_moved = sum(t.bytes for t in subject.report.traffic)
    assert round(bytes_moved / subject.report.engines["matrix"].busy) == 33
    assert reason(subject.report, stall) == "matrix needs 33 B/cycle to work without stalls, the global port has 26"
