"""CPU vectors, whose lanes are those of the program's vectorized loops."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profile import IS_DEEP
from support.programs.real_programs import REAL
from support.programs.sources import ROWS, matmul

from tilewright.engine.explore import DerivedSpace, EvaluationRequest, Evaluator, derive_space
from tilewright.engine.explore.bounds.program_bound import program_bound
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

CPU = load_machine("cpu-core")
MATVEC = """
@T.prim_func(s_tir=True)
def matvec(A: T.Buffer((64, 96), "float32"), x: T.Buffer((96,), "float32"), y: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 96):
        with T.sblock("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + A[vi, vk] * x[vk]
"""

TEXTS = {"product": matmul(8, 8, 8), "matvec": MATVEC}


@cache
def program(name: str) -> PrimFunc:
    found = parse(REAL[name].text if name in REAL else TEXTS[name]).program
    assert isinstance(found, PrimFunc)
    return found


@cache
def derived(name: str) -> DerivedSpace:
    return derive_space(program(name), CPU)


def cycles(name: str, point: tuple[int, ...] | None = None) -> int:
    space = derived(name).space
    outcome = Evaluator(space, CPU, ("cycles",)).tried(EvaluationRequest(0, point or space.default))
    assert outcome.fits and outcome.figures is not None, outcome
    return outcome.figures.cycles


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("product", 1.2),
        ("matvec", 1),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (("batch_matmul", 1.7), ("softmax", 1.2), ("layer_norm", 1))
        ),
    ],
)
def test_default_is_vectorized_and_faster_than_the_program(name: str, factor: float) -> None:
    found = derived(name)
    assert "sch.vectorize(" in found.text
    assert factor * cycles(name) < simulate(program(name), CPU).cycles
    assert found.space.schedule_at(found.space.default).schedule.check().status in ("proved", "tested")


@pytest.mark.slow
def test_order_of_loops_around_product_lanes_is_a_choice() -> None:
    (order,) = [hole for hole in derived("product").space.holes if hole.name == "order of C"]
    assert len(order.values) > 1


def test_sum_along_rows_is_split_into_lanes_first() -> None:
    text = derived("matvec").text
    assert "# Sums along rows: y sums 16 lanes apart." in text
    assert "y_rf = sch.rfactor(k_lanes, -1)" in text
    assert text.count("sch.vectorize(") == 2


@pytest.mark.slow
@given(
    st.sampled_from(["batch_matmul", "softmax", "matvec", "transpose"] if IS_DEEP else ["product", "matvec"]),
    st.integers(0, 2**40),
)
@settings(max_examples=100 if IS_DEEP else 8, deadline=None)
def test_cpu_points_are_right_and_within_the_bound(name: str, number: int) -> None:
    space = derived(name).space
    point = space.point_at(number % space.size)
    outcome = Evaluator(space, CPU, ("cycles",)).tried(EvaluationRequest(0, point))
    assert outcome.status in ("fits", "refused"), outcome
    if outcome.figures is not None:
        assert outcome.figures.cycles >= program_bound(program(name), CPU).cycles
        assert space.schedule_at(point).schedule.check().status in ("proved", "tested")


def test_bound_counts_the_first_miss_of_each_line() -> None:
    lines = (64 * 96 + 96 + 64) * 4 // 64
    each = (12 + 2) + (39 + 3) + (235 + 8)
    assert program_bound(program("matvec"), CPU).movement == lines * each // 2
    assert simulate(Schedule(program("matvec")).func, CPU).cycles >= lines * each // 2


@pytest.mark.slow
def test_machines_with_lanes_along_the_result_vectorize_no_loops() -> None:
    found = derive_space(parse(ROWS).program, load_machine("dual-bank-npu"))
    assert "vectorize" not in found.text and "rfactor" not in found.text
