"""Runs, boxes and edges against counting them one by one."""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.arith import Analyzer
from tilewright.engine.hwsim.tasks.geometry import Runs, domain, layout, runs
from tilewright.engine.hwsim.tasks.index_boxes import box_elements, progressions
from tilewright.engine.hwsim.tasks.work import Access
from tilewright.engine.ir import Buffer, Range, Var, build

extents = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def nest(sizes: list[int]) -> tuple[dict[Var, int], Analyzer]:
    loops = {Var(f"i{n}"): size for n, size in enumerate(sizes)}
    ranges = {v: Range(build.as_expr(0), build.as_expr(size)) for v, size in loops.items()}
    return loops, Analyzer(ranges)


def row_major(sizes, order) -> dict[int, int]:
    strides, step = {}, 1
    for axis in reversed(order):
        strides[axis] = step
        step *= sizes[axis]
    return strides


def regular_run(points: list[tuple[int, int]]) -> int:
    """The longest length of which all points are runs, in the order of the targets, source and target advancing by one together."""
    points = sorted(points, key=lambda p: p[1])

    def fits(length: int) -> bool:
        if len(points) % length:
            return False
        starts = range(0, len(points), length)
        return all(points[s + n] == (points[s][0] + n, points[s][1] + n) for s in starts for n in range(length))

    return max(n for n in range(1, len(points) + 1) if fits(n))


@given(extents, st.data())
def test_law_runs_of_a_transposed_copy_are_the_actual_ones(sizes: list[int], data: st.DataObject):
    axes = range(len(sizes))
    order, padding = (
        data.draw(st.permutations(axes)),
        data.draw(st.lists(st.integers(0, 3), min_size=len(sizes), max_size=len(sizes))),
    )
    loops, analyzer = nest(sizes)
    variables = list(loops)
    shape = [size + pad for size, pad in zip(sizes, padding, strict=True)]
    source = Access(Buffer("A", tuple(map(build.as_expr, shape))), tuple(variables))
    target = Access(Buffer("B", tuple(build.as_expr(sizes[a]) for a in order)), tuple(variables[a] for a in order))
    cut = data.draw(st.integers(1, sizes[0]))
    where = domain(loops, [build.lt(variables[0], cut)], {})
    found = runs([layout(source, loops, analyzer), layout(target, loops, analyzer)], where)
    of_source, of_target = row_major(shape, list(axes)), row_major(sizes, order)
    points = [
        (sum(of_source[a] * p[a] for a in axes), sum(of_target[a] * p[a] for a in axes))
        for p in product(*map(range, sizes))
        if p[0] < cut
    ]
    length = regular_run(points)
    assert found == (Runs(length, len(points) // length),)
    assert sum(r.elements * r.count for r in found) == where.iterations == cut * prod(sizes[1:])


def test_runs_of_a_layout_that_is_not_affine_are_counted():
    loops, analyzer = nest([4, 12])
    i, k = loops
    rows = Access(Buffer("A", (build.as_expr(4), build.as_expr(12))), (i, k))
    tiled = Buffer("B", tuple(map(build.as_expr, (3, 4, 4))))
    access = Access(tiled, (build.floordiv(k, 4), i, build.floormod(k, 4)))
    found = runs([layout(rows, loops, analyzer), layout(access, loops, analyzer)], domain(loops, [], {}))
    assert found == (Runs(4, 12),)


def test_no_run_of_a_copy_crosses_axis_separators():
    loops, analyzer = nest([2, 8])
    i, k = loops
    flat = Access(Buffer("A", (build.as_expr(16),)), (build.add(build.mul(i, 8), k),))
    for separators, wanted in (((), Runs(16, 1)), ((1,), Runs(8, 2))):
        banked = Access(Buffer("B", (build.as_expr(2), build.as_expr(8)), axis_separators=separators), (i, k))
        assert runs([layout(flat, loops, analyzer), layout(banked, loops, analyzer)], domain(loops, [], {})) == (
            wanted,
        )


def test_loop_in_two_axis_groups_steps_in_both():
    loops, analyzer = nest([4])
    (i,) = loops
    diagonal = Buffer("D", (build.as_expr(4), build.as_expr(4)), axis_separators=(1,))
    strides = layout(Access(diagonal, (i, i)), loops, analyzer).strides
    assert strides is not None and strides[i] > 2**30 and strides[i] % 2**30 == 1


@given(st.lists(st.integers(1, 6), min_size=2, max_size=2), st.integers(1, 12), st.integers(0, 3))
def test_law_a_domain_counts_the_executed_iterations(sizes: list[int], limit: int, outer: int):
    loops, _ = nest(sizes)
    i, j = loops
    o = Var("o")
    condition = build.lt(build.add(build.add(build.mul(o, 4), build.mul(i, sizes[1])), j), limit)
    where = domain(loops, [condition], {o: outer})
    points = [p for p in product(*map(range, sizes)) if outer * 4 + p[0] * sizes[1] + p[1] < limit]
    assert where.iterations == len(points)
    if points:
        assert list(where.active.values()) == [len({p[n] for p in points}) for n in (0, 1)]


@given(extents, st.data())
def test_law_a_box_contains_all_accesses(sizes: list[int], data: st.DataObject):
    """Sliding windows: the union of three neighbours is two wider than the tile."""
    loops, analyzer = nest(sizes)
    taps = data.draw(st.integers(1, 3))
    shape = tuple(build.as_expr(size + taps - 1) for size in sizes)
    buffer = Buffer("A", shape)
    accesses = [Access(buffer, tuple(build.add(v, t) for v in loops)) for t in range(taps)]
    touched = {tuple(x + t for x in p) for p in product(*map(range, sizes)) for t in range(taps)}
    box = prod(size + taps - 1 for size in sizes)
    for known in (True, False):
        sides = [(a, progressions(a, loops, analyzer) if known else None) for a in accesses]
        found = box_elements(sides, domain(loops, [], {}))
        assert len(touched) <= found == min(box, prod(sizes) * taps)


def test_runs_follow_the_longer_window_loop():
    # Repeated with new variables: their order depended on their addresses in memory.
    for _ in range(20):
        loops, analyzer = nest([3, 64])
        r, x = loops
        window = Access(Buffer("A", (build.as_expr(66),)), (build.add(x, r),))
        assert runs([layout(window, loops, analyzer)], domain(loops, [], {})) == (Runs(64, 3),)
