"""Laws of integer reasoning, against plain evaluation of every point."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.schedules.integers import VARS, X, Y, Z, conditions, integers, points, ranges, value

from tilewright.engine.arith import bounds, detect_iter_map, interval, inverse, linear, prove, simplify
from tilewright.engine.ir import IndexMap, build, structural_equal


@given(st.one_of(integers, conditions), ranges)
def test_simplify_keeps_the_value(expr, known):
    simple = simplify(expr, known)
    assert all(value(simple, env) == value(expr, env) for env in points(known))


@given(st.one_of(integers, conditions), ranges)
def test_simplify_without_ranges_keeps_the_value(expr, known):
    simple = simplify(expr)
    assert all(value(simple, env) == value(expr, env) for env in points(known))


@given(integers, ranges)
def test_bounds_hold(expr, known):
    found = bounds(expr, known)
    for env in points(known):
        assert found.low is not None and found.high is not None
        assert found.low <= value(expr, env) <= found.high


@given(conditions, ranges)
def test_what_is_proved_holds(condition, known):
    if prove(condition, known):
        assert all(value(condition, env) for env in points(known))


@given(integers, ranges)
def test_hull_contains_every_value_and_exact_ends_are_reached(expr, known):
    relaxed = {v: known[v] for v in (X, Z)}
    found = interval(expr, relaxed, known)
    assert found is not None
    for env in points({Y: known[Y]}):
        values = [value(expr, {**env, **inner}) for inner in points(relaxed)]
        low, high = value(found.min, env), value(found.max, env)
        assert low <= min(values) and max(values) <= high
        assert not found.exact or (low, high) == (min(values), max(values))


@given(integers, ranges)
def test_a_linear_form_has_the_value(expr, known):
    form = linear(expr)
    for env in points(known):
        assert form.constant + sum(value(atom, env) * factor for atom, factor in form.terms) == value(expr, env)


@given(st.lists(integers, min_size=1, max_size=3), ranges)
def test_a_reported_bijection_is_one(values, known):
    found = detect_iter_map(values, known)
    if found is None:
        return
    met = [tuple(value(v, env) for v in values) for env in points(known)]
    if found.injective:
        assert len(set(met)) == len(met)
    if found.bijective:
        box = [(min(axis), max(axis)) for axis in zip(*met, strict=True)]
        size = 1
        for (low, high), total in zip(box, found.sums, strict=True):
            assert (low, high) == (total.base, total.base + total.extent - 1)
            size *= high - low + 1
        assert size == len(met)


_splits = st.sampled_from([2, 4, 8])


@given(st.permutations(range(5)), _splits, _splits, st.booleans(), st.sets(st.integers(0, 4)))
def test_the_inverse_undoes_a_bijective_map(order, first, second, fuse, counted_down):
    i, j, k = VARS
    domain = [build.make_range(0, n) for n in (16, 8, 3)]
    total = build.add(build.mul(j, 3), k)
    digits = [
        build.floordiv(i, first),
        build.floormod(i, first),
        *((build.floordiv(total, second), build.floormod(total, second)) if fuse else (j, k)),
        build.const(0, "int32"),
    ]
    digits = [build.sub(9, d) if n in counted_down else d for n, d in enumerate(digits)]
    index_map = IndexMap(VARS, tuple(digits[n] for n in order))
    back = inverse(index_map, domain)
    assert back is not None
    for env in points(dict(zip(VARS, domain, strict=True))):
        there = tuple(value(x, env) for x in index_map.indices)
        again = dict(zip(back.params, there, strict=True))
        assert tuple(value(x, again) for x in back.indices) == tuple(env[v] for v in VARS)


@given(integers)
def test_simplify_returns_the_same_object_without_a_change(expr):
    simple = simplify(expr)
    again = simplify(simple)
    assert (again is simple) == structural_equal(again, simple)
