"""Classes of equivalent iterations: runs agree, and clamped windows have an interior."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.arith import Analyzer
from tilewright.engine.hwsim.tasks.grid import values
from tilewright.engine.hwsim.tasks.periodicity import IterationClass, Run, runs_of
from tilewright.engine.ir import Expr, Range, Var, build

INNER = 3
OUTER, TAP = Var("i"), Var("d")


def runs(extent: int, *shifted: Expr, conditions: tuple[Expr, ...] = ()) -> tuple[Run, ...]:
    zero = build.const(0, "int32")
    known = Analyzer({OUTER: Range(zero, build.const(extent, "int32")), TAP: Range(zero, build.const(INNER, "int32"))})
    return runs_of(OUTER, extent, IterationClass(conditions=conditions, shifted=shifted), {}, known)


def clamped(expr: Expr, low: int, high: int) -> Expr:
    return build.maximum(build.minimum(expr, high), low)


def test_only_the_ends_of_a_clamped_window_are_distinct() -> None:
    found = runs(64, build.mul(clamped(build.add(build.add(OUTER, TAP), -1), 0, 63), 288))
    assert [r.period for r in found if r.stop - r.start > 2] == [1]
    assert len(found) <= 3 and sum(r.stop - r.start for r in found) == 64


@st.composite
def addresses(draw: st.DrawFn) -> Expr:
    expr = build.add(build.mul(OUTER, draw(st.integers(-3, 3))), build.mul(TAP, draw(st.integers(-2, 2))))
    expr = build.add(expr, draw(st.integers(-9, 9)))
    for _ in range(draw(st.integers(0, 2))):
        limit = draw(st.integers(-12, 30))
        other = build.add(build.mul(OUTER, draw(st.integers(0, 2))), limit) if draw(st.booleans()) else limit
        expr = (build.maximum if draw(st.booleans()) else build.minimum)(expr, other)
        expr = build.add(expr, build.mul(OUTER, draw(st.integers(0, 2))))
    if draw(st.booleans()):
        expr = build.select(build.lt(OUTER, draw(st.integers(-2, 20))), expr, draw(st.integers(-5, 5)))
    return build.floormod(expr, draw(st.integers(2, 5))) if draw(st.integers(0, 3)) == 0 else expr


@given(st.lists(addresses(), min_size=1, max_size=2), st.integers(1, 24))
def test_law_iterations_of_a_class_shift_every_address_by_one_step(exprs: list[Expr], extent: int) -> None:
    def pattern(i: int) -> list[list[int]]:
        at = [[int(values(e, {OUTER: i, TAP: d})) for d in range(INNER)] for e in exprs]
        return [[place - places[0] for place in places] for places in at]

    found = runs(extent, *exprs)
    assert [r.start for r in found] == [0, *(r.stop for r in found[:-1])] and found[-1].stop == extent
    for run in found:
        for i in range(run.start, run.stop):
            assert pattern(i) == pattern(run.like(i)), (run, i)
