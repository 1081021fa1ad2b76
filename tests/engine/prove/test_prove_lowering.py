"""The shipped examples, and buffers with several slots, are proved after scheduling and after each pass of lowering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.profile import samples
from support.programs.sources import matmul

from tilewright.app.document import evaluate, load_document
from tilewright.engine.lower import PASSES, lower
from tilewright.engine.prove import prove
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

pytest.importorskip("islpy")
EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.mark.parametrize("name", samples(sorted(f.stem for f in EXAMPLES.glob("*.py")), "what_moves_what"))
def test_example_and_each_pass_of_its_lowering_are_proved(name: str) -> None:
    schedule = evaluate(load_document(EXAMPLES / f"{name}.py")).schedule
    assert schedule is not None and schedule.prove().status == "proved"
    for step in PASSES:
        lowered = lower(schedule.func, until=step.name)
        proof = prove(lowered, schedule.original[schedule.func_name])
        assert proof.status == "proved", f"after {step.name}: {proof.detail}"


SLOTS: list[dict[str, Any]] = [{"slots": 3}, {"slots": 3, "banks": (0, 1, 0)}, {"slots": 4}]


@pytest.mark.parametrize("slots", samples(SLOTS, SLOTS[1]))
def test_slots_and_each_pass_of_their_lowering_are_proved(slots: dict[str, Any]) -> None:
    schedule = Schedule(parse(matmul(16, 16, 56)).program)
    k, inner = schedule.split(schedule.get_loops("C")[2], factors=[None, 8])
    schedule.reorder(k, *schedule.get_loops("C")[:2], inner)
    schedule.compute_at(schedule.cache_read("C", 0, "local"), k)
    schedule.double_buffer("A_local", **slots)
    original = schedule.original[schedule.func_name]
    assert schedule.prove().status == "proved"
    for step in PASSES:
        proof = prove(lower(schedule.func, until=step.name), original)
        assert proof.status == "proved", (step.name, proof)
