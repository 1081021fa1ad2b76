"""The shipped examples, and buffers with several slots, are proved as they are scheduled and after each pass of lowering."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs.sources import matmul

from tilewright.app.document import evaluate, load_document
from tilewright.engine.lower import PASSES, lower
from tilewright.engine.prove import prove
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

pytest.importorskip("islpy")
EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.mark.parametrize(
    "name",
    [
        name if name == "place_the_copies" else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(f.stem for f in EXAMPLES.glob("*.py"))
    ],
)
def test_an_example_and_each_pass_of_its_lowering_are_proved(name: str) -> None:
    schedule = evaluate(load_document(EXAMPLES / f"{name}.py")).schedule
    assert schedule is not None and schedule.prove().status == "proved"
    for step in PASSES:
        lowered = lower(schedule.func, until=step.name)
        proof = prove(lowered, schedule.original[schedule.func_name])
        assert proof.status == "proved", f"after {step.name}: {proof.detail}"


@pytest.mark.parametrize(
    ("slots", "banks"),
    [(3, (0, 1, 0)), pytest.param(3, None, marks=pytest.mark.slow), pytest.param(4, None, marks=pytest.mark.slow)],
)
def test_slots_and_each_pass_of_their_lowering_are_proved(slots: int, banks: tuple[int, ...] | None) -> None:
    schedule = Schedule(parse(matmul(16, 16, 56)).program)
    k, inner = schedule.split(schedule.get_loops("C")[2], factors=[None, 8])
    schedule.reorder(k, *schedule.get_loops("C")[:2], inner)
    schedule.compute_at(schedule.cache_read("C", 0, "local"), k)
    schedule.double_buffer("A_local", slots=slots, banks=banks)
    original = schedule.original[schedule.func_name]
    assert schedule.prove().status == "proved"
    for step in PASSES:
        proof = prove(lower(schedule.func, until=step.name), original)
        assert proof.status == "proved", (step.name, proof)
