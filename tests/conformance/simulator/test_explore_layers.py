"""The recorded tables of explored layers, against a repeated run of a small part of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.profile import IS_DEEP, samples
from support.programs.layers import LAYERS, Layer
from support.schedules.layer_spaces import TARGETS, layer_space, study_machine
from support.schedules.loma_replay import loma_space, undivided

from tilewright.engine.execute import verify
from tilewright.engine.explore import EvaluationRequest, Evaluator, Settings, explore

RECORDED = Path(__file__).parents[1] / "recorded"
BY_NAME = {layer.name: layer for layer in LAYERS}


@cache
def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text())


def cycles_at(layer: Layer, machine: str, point: list[int]) -> int | None:
    target = TARGETS[machine]
    outcome = Evaluator(layer_space(layer, target), study_machine(machine), ("cycles",)).tried(
        EvaluationRequest(0, tuple(point))
    )
    return outcome.figures.cycles if outcome.fits and outcome.figures else None


def test_best_points_of_the_table_have_the_recorded_cycles() -> None:
    rows = recorded("explore_layers")["rows"]
    assert {row["machine"] for row in rows} == set(TARGETS)
    for row in rows[:: max(1, len(rows) // (6 if IS_DEEP else 2))]:
        assert cycles_at(BY_NAME[row["layer"]], row["machine"], row["point"]) == row["cycles"], row["layer"]


def test_no_recorded_row_is_below_the_bounds_of_its_machine() -> None:
    for row in recorded("explore_layers")["rows"]:
        target, layer = TARGETS[row["machine"]], BY_NAME[row["layer"]]
        assert (row["bound"], row["reachable"]) == (target.bound(layer), target.reachable(layer))
        assert row["cycles"] >= row["reachable"] >= row["bound"] > 0, row["layer"]


@pytest.mark.slow
def test_repeated_study_finds_the_same_and_checks_its_offers() -> None:
    layer, target = Layer("small", 64, 64, 128), TARGETS["dual-bank-npu"]
    studies = [
        explore(layer_space(layer, target), study_machine(target.machine), Settings(trials=24, exhaustive=24, seed=3))
        for _ in range(2)
    ]
    assert [t.point for t in studies[0].trials] == [t.point for t in studies[1].trials]
    assert studies[0].best == studies[1].best
    assert studies[0].offers[0].verdict.status in ("proved", "tested")


HEADS = Layer("heads", 32, 32, 64, 2)
LAYERS = [Layer("product", 32, 64, 128), HEADS, Layer("convolution", 16, 64, 64, 1, (4, 4), (3, 3), 2)]


@pytest.mark.parametrize("machine", samples(TARGETS, "dual-bank-npu"))
@pytest.mark.parametrize("layer", samples(LAYERS, HEADS), ids=lambda layer: layer.name)
def test_points_of_a_small_space_compute_the_same(layer: Layer, machine: str) -> None:
    target = TARGETS[machine]
    space = layer_space(layer, target)
    program = layer.program(target.dtype, target.sums)
    tried = 0
    for number in range(0, space.size, max(1, space.size // 7)):
        outcome = Evaluator(space, study_machine(machine), ("cycles",)).tried(
            EvaluationRequest(0, space.point_at(number))
        )
        if outcome.figures is not None:
            tried += 1
            verdict = verify(space.schedule_at(space.point_at(number)).schedule.func, program)
            assert verdict.status == "tested", (verdict, space.texts_at(space.point_at(number)))
    assert tried >= 2


@pytest.mark.slow
def test_mappings_of_loma_have_the_recorded_cycles() -> None:
    mappings = {(row["layer"], row["machine"]): row for row in recorded("zigzag_layers")["rows"]}
    for row in [r for r in recorded("explore_beside")["loma"] if r["cycles"] is not None][:4]:
        target, machine = TARGETS[row["machine"]], study_machine(row["machine"])
        space = loma_space(BY_NAME[row["layer"]], target, mappings[row["layer"], row["machine"]]["loops"])
        study = explore(space, machine if row["divided"] else undivided(machine))
        assert study.best is not None and study.best.outcome.figures is not None
        assert study.best.outcome.figures.cycles == row["cycles"], row["layer"]
        assert study.offers[0].verdict.status in ("proved", "tested")
