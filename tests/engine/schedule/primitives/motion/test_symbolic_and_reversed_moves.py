"""Moves and inlining with symbolic sizes, descending indices, or blocks of one iteration."""

from __future__ import annotations

import pytest
from support.programs.sources import HEADER

from tilewright.engine.analysis import is_covered
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import expr_text, parse, to_script


def schedule(text: str) -> Schedule:
    return Schedule(parse(HEADER + text).program)


def values(sch: Schedule, block: str) -> list[str]:
    return [expr_text(v) for v in sch.index.realize(block).iter_values]


SYMBOLIC = """@T.prim_func(s_tir=True)
def sizes(a: T.handle, d: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m))
    D = T.match_buffer(d, (n, m))
    B = T.sblock_alloc_buffer((n, m))
    for i, j in T.grid(n, m):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(n, m):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] * T.float32(2)
"""


def test_moves_with_symbolic_sizes_cover_each_axis_by_its_loop():
    moved = schedule(SYMBOLIC)
    moved.compute_at("B", moved.get_loops("D")[0])
    assert values(moved, "B") == ["i", "ax0"]
    after = schedule(SYMBOLIC)
    after.reverse_compute_at("D", after.get_loops("B")[0])
    assert values(after, "D") == ["i", "ax0"]
    for primitive, block in (("compute_inline", "B"), ("reverse_compute_inline", "D")):
        sch = schedule(SYMBOLIC)
        getattr(sch, primitive)(block)
        assert len(sch.index.block_names) == 2


def test_triangle_of_symbolic_size_does_not_cover_a_whole_read():
    sch = schedule(SYMBOLIC.replace("for i, j in T.grid(n, m):", "for i in range(n):\n      for j in range(i + 1):", 1))
    writer, reader = sch.index.realize("B"), sch.index.realize("D")
    assert not is_covered(sch.index, writer, reader, writer.block.writes[0].buffer)


def test_constant_loop_covers_no_symbolic_domain():
    whole = 'n, m):\n        with T.sblock("D"):\n            vi, vj = T.axis.remap("SS", [i, j])'
    part = '4, m):\n        with T.sblock("D"):\n            vi = T.axis.spatial(n, i)\n            vj = T.axis.spatial(m, j)'
    sch = schedule(SYMBOLIC.replace(whole, part))
    with pytest.raises(ScheduleError) as refused:
        sch.reverse_compute_at("D", sch.get_loops("B")[1])
    assert refused.value.code == "partial-domain"


FUSED = """@T.prim_func(s_tir=True)
def fused(a: T.handle, d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (32, n))
    D = T.match_buffer(d, (32, n))
    B = T.sblock_alloc_buffer((32, n))
    for f in range(n * 32):
        with T.sblock("B"):
            vi = T.axis.spatial(32, f // n)
            vj = T.axis.spatial(n, f % n)
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for f in range(n * 32):
        with T.sblock("D"):
            vi = T.axis.spatial(32, f // n)
            vj = T.axis.spatial(n, f % n)
            D[vi, vj] = B[vi, vj] * T.float32(2)
"""


def test_loops_fused_over_a_symbolic_size_compute_their_element():
    sch = schedule(FUSED)
    sch.reverse_compute_at("D", sch.get_loops("B")[0])
    assert values(sch, "D") == ["f // n", "f % n"]
    assert expr_text(sch.index.realize("D").predicate) == "T.bool(True)"


def test_part_of_a_fused_loop_covers_no_domain():
    sch = schedule(
        FUSED.replace('range(n * 32):\n        with T.sblock("D")', 'range(n * 31):\n        with T.sblock("D")')
    )
    with pytest.raises(ScheduleError) as refused:
        sch.reverse_compute_at("D", sch.get_loops("B")[0])
    assert refused.value.code == "partial-domain"


REVERSED = """@T.prim_func(s_tir=True)
def reversed_axes(X: T.Buffer((10, 12), "float32"), Z: T.Buffer((10, 12), "float32")):
    Y = T.sblock_alloc_buffer((12, 10))
    for i, j in T.grid(10, 12):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[11 - vj, 9 - vi] = X[vi, vj] + T.float32(1)
    for i, j in T.grid(10, 12):
        with T.sblock("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = Y[vj, vi] * T.float32(2)
"""


def test_descending_indices_reverse_iterators():
    sch = schedule(REVERSED)
    sch.compute_at("Y", sch.get_loops("Z")[0])
    assert values(sch, "Y") == ["9 - i", "ax0"]
    assert sch.verify().status == "tested"


@pytest.mark.parametrize("primitive, block", [("compute_inline", "Y"), ("reverse_compute_inline", "Z")])
def test_descending_indices_are_inverted_by_inlining(primitive, block):
    sch = schedule(REVERSED)
    getattr(sch, primitive)(block)
    assert sch.verify().status == "tested"


SUMS_DOWN = """@T.prim_func(s_tir=True)
def sums_down(X: T.Buffer((8, 4), "float32"), Z: T.Buffer((8,), "float32")):
    Y = T.sblock_alloc_buffer((8,))
    for i, k in T.grid(8, 4):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[7 - vi] = T.float32(0)
            Y[7 - vi] = Y[7 - vi] + X[vi, vk]
    for i in range(8):
        with T.sblock("Z"):
            vi = T.axis.spatial(8, i)
            Z[vi] = Y[vi] * T.float32(2)
"""


def test_reduction_with_descending_output_is_moved():
    sch = schedule(SUMS_DOWN)
    outer, _ = sch.split(sch.get_loops("Z")[0], [None, 4])
    sch.compute_at("Y", outer)
    assert sch.verify().status == "tested"


ONE_TRIP = """@T.prim_func(s_tir=True)
def one_trip(A: T.Buffer((8, 8), "float32"), D: T.Buffer((1, 2), "float32")):
    B = T.sblock_alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(1, 2):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(1)
"""


def test_unit_iterator_runs_at_its_input():
    sch = schedule(ONE_TRIP)
    sch.reverse_compute_at("D", sch.get_loops("B")[0])
    assert values(sch, "D")[0] == "i"
    assert "i < 1" in expr_text(sch.index.realize("D").predicate)
    assert sch.verify().status == "tested"


PADDED_LOOPS = """@T.prim_func(s_tir=True)
def padded_loops(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    B = T.sblock_alloc_buffer((8,))
    for i, k in T.grid(10, 10):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i - 1)
            vk = T.axis.reduce(8, k - 1)
            T.where(1 <= i and i < 9 and 1 <= k and k < 9)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * T.float32(2)
"""


def test_loops_guarded_to_the_domain_cover_it():
    sch = schedule(PADDED_LOOPS)
    sch.compute_at("B", sch.get_loops("C")[0])
    assert sch.verify().status == "tested"


@pytest.mark.parametrize("part", ["1 <= k and k < 8", "2 <= k and k < 9"])
def test_loops_guarded_below_the_domain_do_not_cover_the_sum(part):
    sch = schedule(PADDED_LOOPS.replace("1 <= k and k < 9", part))
    with pytest.raises(ScheduleError) as refused:
        sch.compute_at("B", sch.get_loops("C")[0])
    assert refused.value.code in ("partial-domain", "order-dependent")


BLOCKED = """@T.prim_func(s_tir=True)
def blocked(A: T.Buffer((32,), "float32"), C: T.Buffer((30,), "float32")):
    B = T.sblock_alloc_buffer((4, 8))
    for i, j in T.grid(4, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 8 + vj] * T.float32(2)
    for i in range(30):
        with T.sblock("C"):
            vi = T.axis.spatial(30, i)
            C[vi] = B[vi // 8, vi % 8] + T.float32(1)
"""


def test_reverse_inlining_a_partial_read_of_blocks():
    sch = schedule(BLOCKED)
    sch.reverse_compute_inline("C")
    assert expr_text(sch.index.realize("B").predicate) == "i * 8 + j < 30"
    assert sch.verify().status == "tested"


ONE_OF_MANY = """@T.prim_func(s_tir=True)
def one_of_many(A: T.Buffer((8, 20), "float32"), C: T.Buffer((ROWS, 16), "float32")):
    B = T.sblock_alloc_buffer((8, 20))
    for i, j in T.grid(8, 20):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(ROWS, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[READ] + T.float32(1)
"""


@pytest.mark.parametrize(
    ("rows", "read"),
    [(1, "vi + 3, vj"), (1, "3, vj"), (1, "vi + 3, vj + 4"), (2, "(vi * 16 + vj) // 16, (vi * 16 + vj) % 16")],
)
def test_reverse_inlining_does_not_store_unread_elements(rows, read):
    sch = schedule(ONE_OF_MANY.replace("ROWS", str(rows)).replace("READ", read))
    sch.reverse_compute_inline("C")
    assert sch.verify().status == "tested"


FUSED_AXES = """@T.prim_func(s_tir=True)
def fused(a: T.handle, d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (2, n))
    D = T.match_buffer(d, (2 * n,))
    B = T.sblock_alloc_buffer((2 * n,))
    for i, j in T.grid(2, n):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * n + vj] = A[vi, vj] + T.float32(1)
    for i in range(2 * n):
        with T.sblock("D"):
            v = T.axis.spatial(2 * n, i)
            D[v] = B[v] * T.float32(2)
"""


def test_inlining_splits_symbolic_fused_axes() -> None:
    sch = schedule(FUSED_AXES)
    sch.compute_inline("B")
    assert "A[v // n, v % n]" in to_script(sch.func)
    assert sch.verify(sizes={"n": 5}).status == "tested"


def test_inlining_axes_of_another_size_is_refused() -> None:
    sch = schedule(FUSED_AXES.replace("T.grid(2, n)", "T.grid(2, n - 1)"))
    with pytest.raises(ScheduleError) as caught:
        sch.compute_inline("B")
    assert caught.value.code == "region-not-covered" and "B[" in caught.value.refusal.found
