"""Suggestions: each is legal, keeps the result, and has the cycles that it promises."""

from __future__ import annotations

import pytest
from support.programs.layers import padded_convolution
from support.programs.sources import matmul

from tilewright.engine.execute import verify
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lint import Fix, LintFinding
from tilewright.engine.lint.revisions import replayed
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse
from tilewright.engine.suggest import RULES, Suggestion, best_first, from_findings, suggest

CONVOLUTION = padded_convolution(8, 32)


def fresh(text: str) -> Schedule:
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    return Schedule(program)


def by_rule(found: tuple[Suggestion, ...], code: str) -> Suggestion:
    return next(one for one in found if one.rule == code)


def applied(schedule: Schedule, one: Suggestion) -> Schedule:
    assert one.fix.revision is None
    after = schedule.copy()
    replayed(after, one.fix.steps)
    return after


@pytest.mark.parametrize(
    ("machine", "program"),
    [
        ("dual-bank-npu", CONVOLUTION),
        ("gemmini", padded_convolution(8, 32, "int8", "int32")),
        ("dual-bank-npu", matmul(64, 64, 64, "float16")),
    ],
)
def test_given_a_fresh_program_then_one_step_tiles_its_main_block_and_keeps_its_promise(
    machine: str, program: str
) -> None:
    schedule, target = fresh(program), load_machine(machine)
    found = suggest(schedule, target)
    best = by_rule(found, "tile")
    assert found[0].rule == "schedule" and best.fix.fits
    after = applied(schedule, best)
    report = simulate(after.described, target)
    assert report.cycles == best.fix.cycles < simulate(schedule.func, target).cycles / 10
    assert report.copied_bytes == best.fix.copied
    assert not any(t.engine == "scalar" for t in report.tasks)
    assert verify(schedule.func, after.func).status == "tested"


def test_given_a_tiled_convolution_then_further_steps_save_cycles_until_none_does() -> None:
    machine = load_machine("dual-bank-npu")
    schedule = fresh(CONVOLUTION)
    cycles = [simulate(schedule.func, machine).cycles]
    for _ in range(2):
        best = next((one for one in suggest(schedule, machine) if one.fix.revision is None), None)
        if best is None:
            break
        schedule = applied(schedule, best)
        cycles.append(best.fix.cycles)
    assert cycles == sorted(cycles, reverse=True) and len(cycles) >= 2
    assert verify(fresh(CONVOLUTION).func, schedule.func).status == "tested"


def test_given_a_program_that_does_not_fit_then_steps_that_fit_come_first() -> None:
    slow, over = (
        Suggestion("move", "", Fix((), 9, cycles, (), fits=not overflow, overflow=overflow))
        for cycles, overflow in ((8, 0), (2, 64))
    )
    assert best_first([over, slow]) == (slow, over)


def test_given_fixes_of_lints_then_those_that_save_cycles_are_steps() -> None:
    better, equal = (Fix((), 100, cycles, ()) for cycles in (60, 100))
    finding = LintFinding("scalar-engine", "warning", "", ("relu",), fixes=(better, equal))
    (one,) = from_findings([finding])
    assert (one.rule, one.title, one.fix) == ("scalar-engine", "Heavy work on the scalar engine: relu", better)


def test_each_rule_states_what_it_requires_and_calls() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.what.startswith("Requires a")
