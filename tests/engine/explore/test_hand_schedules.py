"""The hand schedules in tests/hand, the reference for derived ones: each fits, is proved, and needs the cycles below."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright

HAND = Path(__file__).parents[2] / "hand"

CYCLES = {
    "attention": 101_576,
    "attention_causal": 63_464,
    "conv1x1": 19_681,
    "conv3x3": 40_987,
    "conv_dilated": 40_719,
    "conv_grouped": 43_476,
    "conv_grouped_channels": 15_681,
    "conv_nchw": 44_633,
    "conv_strided": 45_936,
    "conv_transposed": 69_470,
    "cpu_gemm": 7_611_653,
    "cpu_softmax": 2_010_043,
    "depthwise": 171_174,
    "edges": 37_812,
    "gated_mlp": 125_165,
    "gemm_batched": 32_496,
    "gemm_batched_odd": 12_835,
    "gemm_gelu": 136_108,
    "gemm_odd": 21_439,
    "gemm_tall": 64_288,
    "gemm_vector": 25_634,
    "gemm_wide": 107_810,
    "gemmini_conv": 23_890,
    "gemmini_int8": 136_510,
    "gemmini_requantized": 217_714,
    "gemv_decode": 335_114,
    "gpu_gemm": 111_514,
    "gpu_transpose": 131_258,
    "layer_norm": 65_200,
    "matvec": 42_947,
    "max_pool": 79_732,
    "mlp": 26_379,
    "resize": 79_732,
    "resize_bilinear": 30_172,
    "rms_norm": 71_369,
    "rotary": 48_722,
    "row_sum": 167_249,
    "softmax": 179_912,
    "stencil": 185_416,
    "swish_add": 321_228,
    "transpose": 64_566,
}

FAST = ("transpose", "gemm_odd", "softmax")


def test_every_notebook_has_its_cycles() -> None:
    assert {file.stem for file in HAND.rglob("*.py")} == set(CYCLES)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in CYCLES]
)
def test_a_hand_schedule_fits_and_is_proved(name: str) -> None:
    notebook = tilewright.load(next(HAND.rglob(f"{name}.py")))
    assert notebook.error is None and notebook.schedule is not None and notebook.machine is not None
    report = tilewright.simulate(notebook.schedule, notebook.machine)
    assert [f.message for f in report.findings if f.severity == "error"] == []
    assert report.cycles == CYCLES[name]
    verdict = "tested" if name == "gpu_gemm" else "proved"  # the proof of its fragments exceeds the steps of a check
    assert notebook.schedule.check().status == verdict
