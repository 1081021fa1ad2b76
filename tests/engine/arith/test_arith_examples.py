"""What engineers expect of index arithmetic, by example."""

from __future__ import annotations

import pytest
from tilewright.engine.arith import bounds, detect_iter_map, interval, inverse, map_shape, prove, simplify
from tilewright.engine.ir import AXIS_SEPARATOR, IndexMap, Mul, Range, Var, build, structural_equal

I, J, K, N = Var("i"), Var("j"), Var("k"), Var("n")


def upto(n: int) -> Range:
    return build.make_range(0, n)


def same(expr, expected) -> bool:
    return structural_equal(expr, expected)


def test_a_split_index_folds_back():
    whole = build.add(build.mul(build.floordiv(I, 16), 16), build.floormod(I, 16))
    assert simplify(whole) is I


def test_the_fine_part_never_carries():
    fused = build.add(build.mul(I, 16), J)
    assert same(simplify(build.floordiv(fused, 32), {J: upto(16)}), build.floordiv(I, 2))
    assert simplify(build.floormod(fused, 16), {J: upto(16)}) is J


def test_a_loop_of_one_trip_is_its_value():
    assert build.is_const(simplify(build.add(I, 3), {I: upto(1)}), 3)


def test_a_predicate_loses_what_cannot_matter():
    condition = build.lt(build.add(build.mul(I, 16), J), 96)
    assert same(simplify(condition, {I: upto(100), J: upto(16)}), build.lt(I, 6))


def test_symbolic_extents_bound_their_loop():
    assert prove(build.lt(I, N), {I: build.make_range(0, N)})
    assert not prove(build.lt(I, N), {I: build.make_range(0, build.add(N, 1))})


def test_symbolic_tiles_stay_within_their_size():
    ranges = {I: build.make_range(0, N), J: upto(16)}
    assert prove(build.lt(build.add(build.mul(I, 16), J), build.mul(N, 16)), ranges)


def test_a_symbolic_product_cancels():
    assert build.is_const(simplify(build.sub(Mul(I, N), Mul(N, I))), 0)


def test_clamps_of_a_window_stay_close():
    top, bottom = (build.maximum(build.minimum(build.add(I, d), 511), 0) for d in (1, -1))
    assert bounds(build.sub(top, bottom)).high == 2


def test_the_hull_of_a_tile():
    index = build.add(build.mul(I, 64), J)
    found = interval(index, {J: upto(64)}, {I: upto(4)})
    assert same(found.min, build.mul(I, 64))
    assert same(found.max, build.add(build.mul(I, 64), 63))
    assert found.exact


def test_a_banked_layout_and_the_way_back():
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


@pytest.mark.parametrize("values", [(I, I), (build.mul(I, 2),), (build.floordiv(I, 3), build.floormod(I, 3))])
def test_no_bijection(values):
    found = detect_iter_map(list(values), {I: upto(8)})
    assert found is None or not found.bijective


def test_a_gap_is_injective_but_no_bijection():
    found = detect_iter_map([build.mul(I, 2)], {I: upto(8)})
    assert found is not None and found.injective and not found.bijective
