"""The shipped examples are proved as they are scheduled and after each pass of lowering."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.app.document import evaluate, load_document
from tilewright.engine.lower import PASSES, lower
from tilewright.engine.prove import prove

pytest.importorskip("islpy")
EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.mark.parametrize("name", sorted(f.stem for f in EXAMPLES.glob("*.py")))
def test_given_an_example_then_its_schedule_and_each_pass_of_lowering_are_proved(name: str) -> None:
    schedule = evaluate(load_document(EXAMPLES / f"{name}.py")).schedule
    assert schedule is not None and schedule.prove().status == "proved"
    for step in PASSES:
        lowered = lower(schedule.func, until=step.name)
        proof = prove(lowered, schedule.original[schedule.func_name])
        assert proof.status == "proved", f"after {step.name}: {proof.detail}"
