"""The hand schedules in tests/hand, the yardstick of derived ones: each fits, is proved, and needs the cycles below."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright

HAND = Path(__file__).parents[2] / "hand"

CYCLES = {
    "attention": 101_576,
    "conv3x3": 40_987,
    "depthwise": 171_174,
    "gated_mlp": 125_165,
    "gemm_odd": 21_439,
    "gemm_tall": 64_288,
    "gemm_wide": 107_810,
    "gemmini_requantized": 217_714,
    "layer_norm": 65_200,
    "softmax": 179_912,
    "stencil": 185_416,
    "transpose": 64_566,
}


def test_every_notebook_has_its_cycles() -> None:
    assert {file.stem for file in HAND.glob("*.py")} == set(CYCLES)


@pytest.mark.parametrize("name", CYCLES)
def test_a_hand_schedule_fits_and_is_proved(name: str) -> None:
    notebook = tilewright.load(HAND / f"{name}.py")
    assert notebook.error is None and notebook.schedule is not None and notebook.machine is not None
    report = tilewright.simulate(notebook.schedule, notebook.machine)
    assert [f.message for f in report.findings if f.severity == "error"] == []
    assert report.cycles == CYCLES[name]
    assert notebook.schedule.check().status == "proved"
