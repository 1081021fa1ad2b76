"""A report as text has each of the primary figures."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright
from tilewright.engine.export import report_text
from tilewright.engine.hwsim import Report, simulate

EXAMPLES = Path(tilewright.__file__).parent.parent / "static" / "examples"


def report_of(name: str) -> Report:
    notebook = tilewright.load(EXAMPLES / f"{name}.py")
    assert notebook.schedule is not None
    return simulate(notebook.schedule.described, notebook.machine)


def test_text_names_what_engines_wait_for_and_who_holds_it():
    report = report_of("vtcm_double_buffer")
    (wait,) = report.engines["matrix"].waits
    lines = [line.split() for line in report_text(report).splitlines()]
    assert ["matrix", wait.cause, wait.buffer, wait.block, f"{wait.cycles:,}"] in lines


def test_the_text_lists_energies_from_the_largest():
    report = report_of("vta_gemm")
    (line,) = [line for line in report_text(report).splitlines() if line.startswith("energy")]
    assert line.startswith(f"energy {report.energy_pj / 1e6:.3g} uJ: dram ")
    shares = [int(part.split()[-2]) for part in line.split(": ")[1].split(", ")]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(100, abs=len(shares))
