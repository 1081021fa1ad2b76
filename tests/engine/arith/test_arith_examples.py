"""What engineers expect of index arithmetic, by example."""

from __future__ import annotations

import pytest

from tilewright.engine.arith import bounds, detect_iter_map, interval, inverse, map_shape, prove, simplify
from tilewright.engine.ir import AXIS_SEPARATOR, IndexMap, Mul, Range, Var, build, structural_equal

X, Y, Z, N = Var("i"), Var("j"), Var("k"), Var("n")


def upto(n: int) -> Range:
    return build.make_range(0, n)


def same(expr, expected) -> bool:
    return structural_equal(expr, expected)


def test_a_split_index_folds_back():
    whole = build.add(build.mul(build.floordiv(X, 16), 16), build.floormod(X, 16))
    assert simplify(whole) is X


@pytest.mark.parametrize("size", [N, build.add(N, 1), build.mul(N, Z)])
def test_symbolic_quotient_and_remainder_recombine(size):
    whole = build.add(build.mul(build.floordiv(X, size), size), build.floormod(X, size))
    assert simplify(whole) is X
    assert same(simplify(build.add(build.mul(whole, 3), Y)), build.add(build.mul(X, 3), Y))
    other = build.add(build.mul(build.floordiv(X, size), size), build.floormod(X, Y))
    assert not same(simplify(other), X)


def test_symbolic_fused_map_has_an_inverse():
    fused = IndexMap((X, Y, Z), (build.add(build.mul(build.add(build.mul(X, N), Y), 4), Z),))
    back = inverse(fused, [upto(2), build.make_range(0, N), upto(4)])
    assert back is not None
    (axis,) = back.params
    quotient = build.floordiv(axis, 4)
    expected = (build.floordiv(quotient, N), build.floormod(quotient, N), build.floormod(axis, 4))
    assert all(same(a, b) for a, b in zip(back.indices, expected, strict=True))
    assert inverse(fused, [upto(2), build.make_range(0, build.add(N, 1)), upto(4)]) is None


def test_a_term_added_to_itself_counts_twice():
    assert same(simplify(build.add(X, X)), build.mul(X, 2))
    digit = build.floordiv(X, 4)
    assert same(simplify(build.add(digit, digit)), build.mul(digit, 2))


def test_the_fine_part_never_carries():
    fused = build.add(build.mul(X, 16), Y)
    assert same(simplify(build.floordiv(fused, 32), {Y: upto(16)}), build.floordiv(X, 2))
    assert simplify(build.floormod(fused, 16), {Y: upto(16)}) is Y


def test_a_loop_of_one_iteration_is_its_value():
    assert build.is_const(simplify(build.add(X, 3), {X: upto(1)}), 3)


def test_a_predicate_loses_implied_conditions():
    condition = build.lt(build.add(build.mul(X, 16), Y), 96)
    assert same(simplify(condition, {X: upto(100), Y: upto(16)}), build.lt(X, 6))


def test_symbolic_extents_bound_their_loop():
    assert prove(build.lt(X, N), {X: build.make_range(0, N)})
    assert not prove(build.lt(X, N), {X: build.make_range(0, build.add(N, 1))})


def test_symbolic_tiles_stay_within_their_size():
    ranges = {X: build.make_range(0, N), Y: upto(16)}
    assert prove(build.lt(build.add(build.mul(X, 16), Y), build.mul(N, 16)), ranges)


def test_a_symbolic_product_cancels():
    assert build.is_const(simplify(build.sub(Mul(X, N), Mul(N, X))), 0)


def test_clamps_of_a_window_stay_close():
    top, bottom = (build.maximum(build.minimum(build.add(X, d), 511), 0) for d in (1, -1))
    assert bounds(build.sub(top, bottom)).high == 2


def test_the_rows_of_a_clamped_window():
    rows = build.sub(build.minimum(build.add(X, 1), 63), build.maximum(build.sub(X, 1), 0))
    assert bounds(rows, {X: upto(64)}).high == 2


def test_the_hull_of_a_tile():
    index = build.add(build.mul(X, 64), Y)
    found = interval(index, {Y: upto(64)}, {X: upto(4)})
    assert same(found.min, build.mul(X, 64))
    assert same(found.max, build.add(build.mul(X, 64), 63))
    assert found.exact


def test_a_banked_layout_and_its_inverse():
    layout = IndexMap.from_function(lambda m, k: [k // 64 % 2, AXIS_SEPARATOR, m, k // 128, k % 64], 2)
    shape = map_shape(layout, [build.as_expr(64), build.as_expr(512)])
    assert [build.int_value(s) for s in shape] == [2, 64, 4, 64]
    back = inverse(layout, [upto(64), upto(512)])
    assert back is not None
    bank, m, outer, inner = back.params
    assert back.indices[0] is m
    assert prove(
        build.eq(back.indices[1], build.add(build.add(build.mul(outer, 128), build.mul(bank, 64)), inner)),
        dict(zip(back.params, map(upto, (2, 64, 4, 64)), strict=True)),
    )


@pytest.mark.parametrize("values", [(X, X), (build.mul(X, 2),), (build.floordiv(X, 3), build.floormod(X, 3))])
def test_no_bijection(values):
    found = detect_iter_map(list(values), {X: upto(8)})
    assert found is None or not found.bijective


def test_a_gap_is_injective_but_no_bijection():
    found = detect_iter_map([build.mul(X, 2)], {X: upto(8)})
    assert found is not None and found.injective and not found.bijective
