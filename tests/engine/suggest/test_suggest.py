"""Suggestions: each is legal, keeps the result, and has the cycles that it promises."""

from __future__ import annotations

import pytest
from support.programs.layers import padded_convolution
from support.programs.sources import TINY, matmul

from tilewright.engine.execute import verify
from tilewright.engine.hwsim import Machine, load_machine, simulate
from tilewright.engine.ir import PrimFunc, replay
from tilewright.engine.lint import Fix, LintFinding
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse
from tilewright.engine.suggest import RULES, Suggestion, best_first, from_findings, suggest, suggesting

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
    replay(one.fix.steps, after.make)
    return after


def keeps_its_promise(schedule: Schedule, best: Suggestion, machine: Machine) -> Schedule:
    """The schedule after a suggestion, with the cycles and bytes that it promises and the result of the program."""
    after = applied(schedule, best)
    report = simulate(after.described, machine)
    assert report.cycles == best.fix.cycles < simulate(schedule.func, machine).cycles
    assert report.copied_bytes == best.fix.copied
    assert verify(schedule.func, after.func).status in ("tested", "proved")
    return after


SAMPLED = [
    ("dual-bank-npu", CONVOLUTION),
    ("gemmini", padded_convolution(8, 32, "int8", "int32")),
    ("dual-bank-npu", matmul(64, 64, 64, "float16")),
]


@pytest.mark.parametrize(
    ("machine", "program", "first"),
    [
        pytest.param("dual-bank-npu", matmul(32, 32, 32, "float16"), "tile", id="product"),
        *(pytest.param(*one, "schedule", id=f"sample {n}", marks=pytest.mark.slow) for n, one in enumerate(SAMPLED)),
    ],
)
def test_one_step_tiles_the_main_block(machine: str, program: str, first: str) -> None:
    schedule, target = fresh(program), load_machine(machine)
    found = suggest(schedule, target)
    best = by_rule(found, "tile")
    assert found[0].rule == first and best.fix.fits
    after = keeps_its_promise(schedule, best, target)
    assert best.fix.cycles < simulate(schedule.func, target).cycles / 10
    assert not any(t.engine == "scalar" for t in simulate(after.described, target).tasks)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", [pytest.param(TINY, id="tiny"), pytest.param(CONVOLUTION, marks=pytest.mark.slow, id="convolution")]
)
def test_further_steps_save_cycles(program: str) -> None:
    machine = load_machine("dual-bank-npu")
    schedule = fresh(program)
    cycles = [simulate(schedule.func, machine).cycles]
    for _ in range(2):
        best = next((one for one in suggest(schedule, machine) if one.fix.revision is None), None)
        if best is None:
            break
        schedule = keeps_its_promise(schedule, best, machine)
        cycles.append(best.fix.cycles)
    assert cycles == sorted(cycles, reverse=True) and len(cycles) >= 2


def test_steps_that_fit_come_first() -> None:
    slow, over = (
        Suggestion("move", "", Fix((), 9, cycles, (), fits=not overflow, overflow=overflow))
        for cycles, overflow in ((8, 0), (2, 64))
    )
    assert best_first([over, slow]) == (slow, over)


SCAN_IN_PLACE = """
@T.prim_func(s_tir=True)
def prefix(A: T.Buffer((256, 256), "float32")):
    for s in range(8):
        for r, c in T.grid(256, 256):
            with T.sblock("step"):
                vs, vr, vc = T.axis.remap("SSS", [s, r, c])
                A[vr, 255 - vc] = A[vr, 255 - vc] + T.if_then_else(
                    255 - vc >= T.shift_left(1, vs), A[vr, 255 - vc - T.shift_left(1, vs)], T.float32(0)
                )
"""


@pytest.mark.parametrize("machine", ["cpu-core", "gpu-sm"])
def test_independent_rows_of_a_scan_in_place_run_outside_of_its_steps(machine: str) -> None:
    schedule, chip = fresh(SCAN_IN_PLACE), load_machine(machine)
    rows = [rule for rule in RULES if rule.code == "rows"]
    found = [now for now in suggesting(schedule, chip, rules=rows) if now is not None][-1]
    after = keeps_its_promise(schedule, by_rule(found, "rows"), chip)
    assert after.get_loops("step")[0].name.startswith("r")
    assert list(suggesting(fresh(matmul(32, 32, 32, "float16")), chip, rules=rows)) == [()]


def test_fixes_of_lints_that_save_cycles_are_steps() -> None:
    better, equal = (Fix((), 100, cycles, ()) for cycles in (60, 100))
    finding = LintFinding("scalar-engine", "warning", "", ("relu",), fixes=(better, equal))
    (one,) = from_findings([finding])
    assert (one.rule, one.title, one.fix) == ("scalar-engine", "Heavy work on the scalar engine: relu", better)


def test_each_rule_states_what_it_requires_and_calls() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.what.startswith("Requires a")
