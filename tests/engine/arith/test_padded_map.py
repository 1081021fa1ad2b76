"""padded_inverse: each element has a place, and a condition selects the other places, for splits, fusions, offsets and tails."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.schedules.integers import value

from tilewright.engine.arith import keeps_order, padded_inverse
from tilewright.engine.ir import IndexMap, IntImm, Var, build
from tilewright.engine.script import expr_text


def inverted(function, *shape):
    found = padded_inverse(
        IndexMap.from_function(function, len(shape)), [e if isinstance(e, Var) else IntImm(e) for e in shape]
    )
    assert found is not None
    return found


@st.composite
def maps(draw: st.DrawFn):
    """(function, shape): axes split by factors that need not divide, shifted, some fused before, in any order."""
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    fuse = len(shape) > 1 and draw(st.booleans())
    rank = len(shape) - fuse
    factors = [draw(st.lists(st.integers(1, 4), max_size=2)) for _ in range(rank)]
    shifts = [draw(st.integers(0, 3)) if f and f[0] > 1 else 0 for f in factors]
    shifts = [shift % f[0] if f else 0 for shift, f in zip(shifts, factors, strict=True)]
    parts = sum(len(f) + 1 for f in factors)
    order = draw(st.permutations(range(parts)))

    def function(*axes):
        sources = [axes[0] * shape[1] + axes[1], *axes[2:]] if fuse else list(axes)
        found = []
        for source, split, shift in zip(sources, factors, shifts, strict=True):
            rest = source + shift
            for factor in split:
                found.append(rest % factor)
                rest = rest // factor
            found.append(rest)
        return [found[place] for place in order]

    return function, shape


@given(maps())
def test_inverse_of_uneven_splits_has_exact_padding(drawn):
    function, shape = drawn
    index_map = IndexMap.from_function(function, len(shape))
    found = padded_inverse(index_map, [IntImm(e) for e in shape])
    if found is None:
        return
    at = {}
    for element in product(*map(range, shape)):
        values = dict(zip(index_map.params, element, strict=True))
        at[tuple(value(i, values) for i in index_map.indices)] = element
    box = [range(low.value, low.value + e.value) for low, e in zip(found.lowest, found.shape, strict=True)]
    assert set(at) <= set(product(*box))
    for place in product(*box):
        values = dict(zip(found.inverse.params, place, strict=True))
        assert bool(value(found.padding, values)) == (place not in at)
        if place in at:
            assert tuple(value(i, values) for i in found.inverse.indices) == at[place]


@given(st.integers(1, 9), st.integers(2, 4), st.integers(0, 3))
def test_inverse_of_one_split(extent, factor, shift):
    assert inverted(lambda i: [(i + shift % factor) // factor, (i + shift % factor) % factor], extent)


def test_inverse_of_a_tail_has_tvms_condition():
    found = inverted(lambda i: [i // 4, i % 4], 14)
    assert expr_text(found.padding) == "axis0 == 3 and 2 <= axis1"
    assert [expr_text(i) for i in found.inverse.indices] == ["axis0 * 4 + axis1"]


def test_places_before_the_first_element_are_padding():
    found = inverted(lambda i: [(i + 1) // 4, (i + 1) % 4], 15)
    assert expr_text(found.padding) == "axis0 == 0 and axis1 < 1"


def test_padding_condition_has_a_symbolic_extent():
    n = Var("n", "int32")
    found = inverted(lambda i: [i // 4, i % 4], n)
    for size in range(1, 10):
        for high, low in product(range((size + 3) // 4), range(4)):
            values = {n: size, **dict(zip(found.inverse.params, (high, low), strict=True))}
            assert bool(value(found.padding, values)) == (high * 4 + low >= size)


def test_padding_condition_has_a_symbolic_divisor():
    n = Var("n", "int32")
    function = IndexMap((i := Var("i", "int32"),), (build.floordiv(i, n), build.floormod(i, n)))
    found = padded_inverse(function, [IntImm(16)])
    assert found is not None
    for size in range(1, 20):
        for high, low in product(range(-(-16 // size)), range(size)):
            values = {n: size, **dict(zip(found.inverse.params, (high, low), strict=True))}
            assert bool(value(found.padding, values)) == (high * size + low >= 16)


def test_inverse_of_axes_fused_by_a_symbolic_extent():
    n = Var("n", "int32")
    i, j = Var("i", "int32"), Var("j", "int32")
    found = padded_inverse(IndexMap((i, j), (build.add(build.mul(i, n), j),)), [IntImm(4), n])
    assert found is not None
    assert [expr_text(e) for e in found.inverse.indices] == ["axis0 // n", "axis0 % n"]


@pytest.mark.parametrize(
    "function",
    [lambda i: [i // 4], lambda i: [i % 4], lambda i: [i * 2], lambda i: [i * i], lambda i: [i // 4, (i + 2) % 4]],
)
def test_map_with_collisions_or_gaps_has_no_inverse(function):
    assert padded_inverse(IndexMap.from_function(function, 1), [IntImm(14)]) is None


@given(maps())
def test_an_order_preserving_map_is_monotone(drawn):
    function, shape = drawn
    index_map = IndexMap.from_function(function, len(shape))
    found = padded_inverse(index_map, [IntImm(e) for e in shape])
    if found is None or not keeps_order(index_map, [IntImm(e) for e in shape], found.shape):
        return
    elements = product(*map(range, shape))
    at = [[value(i, dict(zip(index_map.params, e, strict=True))) for i in index_map.indices] for e in elements]
    assert at == sorted(at)


def test_split_rows_keep_the_order_and_leading_columns_do_not():
    shape = [IntImm(14), IntImm(10)]
    for function, kept in (
        (lambda i, j: [i // 4, i % 4, j], True),
        (lambda i, j: [i, j // 4, j % 4], True),
        (lambda i, j: [j, i], False),
        (lambda i, j: [i // 4, j, i % 4], False),
    ):
        index_map = IndexMap.from_function(function, 2)
        assert keeps_order(index_map, shape, inverted(function, 14, 10).shape) is kept
