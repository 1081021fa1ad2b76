"""The findings on the shipped examples, judged one by one. False positives are defects."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from tilewright.app.document import Notebook, apply_lint, evaluate, load_document
from tilewright.engine.lint import LintFinding, lint

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"

pytestmark = pytest.mark.xdist_group("lint examples")
"""One worker lints each example once."""

SAID = {
    "ascend_gemm_cores": {"uneven-tail": "info"},
    "tilelang_gemm_a100": {"uneven-tail": "info"},
    "tilelang_gemm_h100": {"idle-cores": "warning"},  # its grid is a part of the kernel's text: no call fixes it
    "box_blur": {
        # Three rows for each pixel, as in the discussion: nine tenths of the cycles. They also cause conflicts.
        "recompute": "warning",
        "bank-conflict": "info",
    },
    "explore_tiles": {"one-bank": "warning"},  # as its holes are by default: one slot each, side by side
    "fused_matmul_relu_roundtrip": {"round-trip": "warning"},  # the topic of the example
    # Each core computes rows of the first layer twice, which costs less than a transfer; DRAM is the limit.
    "fused_convolutions_quad": {"port-saturated": "info", "guard": "info"},
    "place_the_copies": {"capacity-overflow": "error"},  # two copies without a place yet
}
"""All expected findings; the other examples have none."""
CHIPS = ("ascend_gemm_cores", "fused_convolutions_quad", "tilelang_gemm_a100", "tilelang_gemm_h100")


@cache
def linted(name: str) -> tuple[Notebook, tuple[LintFinding, ...]]:
    notebook = evaluate(load_document(EXAMPLES / f"{name}.py"))
    assert notebook.schedule is not None and notebook.machine is not None
    return notebook, lint(notebook.schedule, notebook.machine)


FAST = "place_the_copies"


def samples(names: Iterable[str]) -> list[object]:
    return [pytest.param(name, marks=[] if name == FAST else pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", samples(sorted(path.stem for path in EXAMPLES.glob("*.py"))))
def test_examples_have_only_findings_of_an_expert(name: str):
    _, found = linted(name)
    assert {f.code: f.severity for f in found} == SAID.get(name, {})


@pytest.mark.slow
def test_finding_without_a_fix_names_its_trials():
    (finding,) = [f for f in linted("box_blur")[1] if not f.fixes]
    assert finding.code == "bank-conflict"
    tried = re.fullmatch(r"(\d+) changes tried: (\d+) without effect on the finding, (\d+) not faster", finding.no_fix)
    assert tried is not None and int(tried[1]) == int(tried[2]) + int(tried[3]) > 0


@pytest.mark.parametrize("name", samples(name for name in SAID if name not in CHIPS))
def test_fix_of_an_example_keeps_its_result_and_ends_the_finding(name: str):
    notebook, found = linted(name)
    serious = [f for f in found if f.severity != "info"]
    assert serious and all(f.fixes for f in serious)
    for finding in serious:
        for fix in finding.fixes:
            fixed = apply_lint(notebook, fix)
            assert fixed.schedule is not None and fixed.machine is not None and fixed.error is None
            assert fixed.schedule.check().status in ("proved", "tested")
            left = lint(fixed.schedule, fixed.machine)
            assert finding.code not in {f.code for f in left}
            assert not [f for f in left if f.severity == "error"]
