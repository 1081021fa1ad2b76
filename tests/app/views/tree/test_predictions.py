"""Predictions of a drop in figures and words; targets of loops and of several blocks."""

from __future__ import annotations

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL

from tilewright.app.actions.calls import moves_of
from tilewright.app.components.esm import STATIC
from tilewright.app.document import evaluate, load_document
from tilewright.app.jobs.drop_targets import loop_chain, reordered, targets_of
from tilewright.app.state.row_ids import row_ids
from tilewright.app.views.tree.costs import compact, row_costs
from tilewright.app.views.tree.predictions import prediction_value
from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.ir import Refusal, TilewrightError
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


@pytest.fixture
def placed() -> Schedule:
    schedule = evaluate(load_document(STATIC / "examples" / "place_the_copies.py")).schedule
    assert schedule is not None
    return schedule


def predicted(now: Schedule, then: Schedule, *blocks: str) -> dict:
    machine = load_machine("dual-bank-npu")
    return prediction_value(simulate(now.func, machine), simulate(then.func, machine), now.index, then.index, blocks)


def lines(value: dict) -> dict[str, dict[str, str]]:
    return {line.name: line for line in value.lines}


def test_a_drop_that_makes_a_copy_fit_is_labelled(placed: Schedule) -> None:
    then = placed.copy()
    then.compute_at("A_local.vtcm", next(f.loop_var for f in then.index.loops if f.loop_var.name == "ko"))
    value = predicted(placed, then, "A_local.vtcm")
    assert not value.costly
    assert value.label.startswith("fits vtcm[1]")
    found = lines(value)
    assert found["Recompute"].change == "×4"
    assert found["Peak vtcm[1]"].word == "fits"
    assert found["Peak vtcm[0]"].word == "over capacity"
    assert found["Cycles"].word == "with larger memories"


def test_a_drop_that_repeats_a_block_is_costly_with_the_reason(placed: Schedule) -> None:
    then = placed.copy()
    then.compute_at("A_local.vtcm", next(f.loop_var for f in then.index.loops if f.loop_var.name == "ki"))
    value = predicted(placed, then, "A_local.vtcm")
    assert value.costly
    assert value.trend == "worse"
    assert any("runs 256× as often" in why for why in value.why)
    assert "runs ×256" in value.label


def test_a_drop_back_is_better_and_not_costly(placed: Schedule) -> None:
    worse = placed.copy()
    worse.compute_at("A_local.vtcm", next(f.loop_var for f in worse.index.loops if f.loop_var.name == "ki"))
    better = placed.copy()
    better.compute_at("A_local.vtcm", next(f.loop_var for f in better.index.loops if f.loop_var.name == "ko"))
    value = predicted(worse, better, "A_local.vtcm")
    assert not value.costly
    assert value.trend == "better"
    assert value.why == []
    assert lines(value)["Cycles"].word == "better"


def test_a_drop_that_the_machine_cannot_run_is_costly(placed: Schedule) -> None:
    now = simulate(placed.func, load_machine("dual-bank-npu"))
    error = TilewrightError(Refusal("no-engine", "no engine reaches the operands"))
    value = prediction_value(now, error, placed.index, placed.index, ("C",))
    assert value.costly
    assert "no engine reaches" in value.why[0]
    unknown = prediction_value(error, now, placed.index, placed.index, ("C",))
    assert lines(unknown)["Cycles"].text


def test_other_chains_are_no_reorder_target_and_have_a_reason(placed: Schedule) -> None:
    entries = {e.loop: e for e in targets_of(placed, ["ko"])}
    assert entries["ki"].legal
    assert entries["ki"].order == ("mi", "ni", "ki", "ko")
    assert entries["mo"].code == entries["ax0"].code == "not-in-one-chain"
    assert "ko" not in entries


def test_an_order_that_the_engine_refuses_has_a_reason() -> None:
    schedule = Schedule(parse(MATMUL).program)
    i, j, k = schedule.get_loops("C")
    schedule.decompose_reduction("C", k)
    entries = {e.loop: e for e in targets_of(schedule, [row_ids(schedule.func).of(j)])}
    refused = [e for e in entries.values() if not e.legal]
    assert all(e.reason for e in refused)
    assert i.name in entries


@pytest.mark.parametrize(
    ("moved", "target", "order"),
    [
        ("a", "c", "bca"),
        ("c", "a", "cab"),
        ("b", "c", "cb"),
        ("ab", "d", "cdab"),
        ("cd", "a", "cdab"),
        ("ac", "d", "bdac"),
    ],
)
def test_loops_of_a_chain_move_to_the_place_of_the_target(moved: str, target: str, order: str) -> None:
    text = MATMUL
    schedule = Schedule(parse(text).program)
    parts = schedule.split("i", [2, 2, 2, None], names=["a", "b", "c", "d"])
    by_name = {loop.name: loop for loop in parts}
    chain = loop_chain(schedule.index, parts[0])
    assert [v.name for v in chain][:4] == ["a", "b", "c", "d"]
    found = reordered(parts, [by_name[m] for m in moved], by_name[target])
    assert "".join(v.name for v in found) == order


def test_producers_follow_consumers_to_a_loop() -> None:
    schedule = Schedule(parse(ELEMENTWISE_CHAIN).program)
    target = schedule.get_loops("D")[0]
    moves = moves_of(schedule, ["B", "C"], target)
    assert moves == [("compute_at", "C"), ("compute_at", "B")]
    entries = {e.loop: e for e in targets_of(schedule, ["B", "C"])}
    assert entries[row_ids(schedule.func).of(target)].legal
    own = row_ids(schedule.func).of(schedule.get_loops("B")[0])
    assert not entries[own].legal
    assert entries[own].reason


def test_blocks_and_loops_have_no_common_target(placed: Schedule) -> None:
    assert targets_of(placed, ["C", "ko"]) == []
    assert targets_of(placed, ["gone"]) == []


def test_rows_have_the_costs_of_the_report_below_them(placed: Schedule) -> None:
    report = simulate(placed.func, load_machine("dual-bank-npu"))
    assert isinstance(report, Report)
    costs = row_costs(placed.func, report)
    total = sum(traffic.bytes for traffic in report.traffic)
    tops = [row for row in costs if row in ("mo", "ax0", "ax0~2")]
    assert sum(costs[row].bytes.share for row in tops) == pytest.approx(1, abs=0.01)
    assert total > 0
    assert costs["C"].cycles == costs["ki"].cycles
    assert costs["mo"].cycles.share > costs["ko"].cycles.share
    assert "busy cycles" in costs["mo"].cycles.tip


@pytest.mark.parametrize(
    ("number", "text"), [(7, "7"), (999, "999"), (20_205, "20.2k"), (1_240_000, "1.24M"), (3_000_000_000, "3G")]
)
def test_numbers_are_abbreviated(number: int, text: str) -> None:
    assert compact(number) == text
