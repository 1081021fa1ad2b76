"""Expressions over whole nests against evaluating them point by point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.schedules.integers import points, value

from tilewright.engine.hwsim import MachineError
from tilewright.engine.hwsim.tasks.grid import MAX_AXES, MAX_POINTS, UnknownValueError, axes, values
from tilewright.engine.ir import Buffer, Range, Select, Var, build

I, J = Var("i"), Var("j")  # noqa: E741
SIZES = {I: 5, J: 4}
RANGES = {v: Range(build.as_expr(0), build.as_expr(e)) for v, e in SIZES.items()}

leaves = st.one_of(st.sampled_from([I, J]), st.integers(-3, 7).map(build.as_expr))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(build.add, inner, inner),
        st.builds(build.sub, inner, inner),
        st.builds(build.mul, inner, inner),
        st.builds(build.minimum, inner, inner),
        st.builds(build.maximum, inner, inner),
        st.builds(build.floordiv, inner, st.integers(1, 4)),
        st.builds(build.floormod, inner, st.integers(1, 4)),
    ),
    max_leaves=6,
)


@given(expressions)
def test_law_grid_values_are_those_at_each_point(expr):
    found = np.broadcast_to(values(expr, axes(SIZES)), tuple(SIZES.values()))
    for at in points(RANGES):
        assert found[at[I], at[J]] == value(expr, at)


@given(expressions, expressions)
def test_law_a_choice_is_made_at_each_point(a, b):
    found = np.broadcast_to(values(Select(build.lt(I, J), a, b), axes(SIZES)), tuple(SIZES.values()))
    for at in points(RANGES):
        assert found[at[I], at[J]] == value(a if at[I] < at[J] else b, at)


def test_an_unused_axis_is_not_broadcast():
    assert values(build.mul(I, 3), axes(SIZES)).shape == (5, 1)


def test_data_and_too_many_points_are_reported():
    with pytest.raises(UnknownValueError):
        values(build.load(Buffer("A", (build.as_expr(5),), "int32"), [I]), axes(SIZES))
    with pytest.raises(UnknownValueError):
        values(build.add(I, J), {I: np.arange(MAX_POINTS), J: np.arange(2).reshape(2, 1)})
    with pytest.raises(UnknownValueError):
        values(Var("elsewhere"), axes(SIZES))


def test_values_of_a_huge_loop_are_unknown_without_memory() -> None:
    over = axes({I: 2**40, J: 4})
    assert over[I].strides == (0, 0)
    with pytest.raises(UnknownValueError):
        values(build.add(I, J), over)
    assert values(build.add(J, 1), over).reshape(-1).tolist() == [1, 2, 3, 4]


def test_more_loops_than_array_axes_are_refused() -> None:
    loops = {Var(f"i{n}"): 1 for n in range(MAX_AXES + 1)}
    with pytest.raises(MachineError) as refused:
        axes(loops)
    assert refused.value.code == "too-many-loops"
    loops.popitem()
    assert len(axes(loops)) == MAX_AXES
