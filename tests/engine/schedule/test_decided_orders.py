"""Concurrent and reordered iterations, decided exactly: legal orders are accepted, illegal ones have a witness, others are undecided."""

from __future__ import annotations

import pytest

from tilewright.engine.schedule import Schedule, ScheduleError

SUM = """\
@T.prim_func
def main(A: T.Buffer((8, 50), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(8, 50):
        with T.sblock("B"):
            vi = T.axis.spatial(16, {element})
            vk = T.axis.reduce(50, k)
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi // 2, vk]
"""
CHAIN = """\
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (2 * n,))
    C = T.match_buffer(c, (2 * n,))
    B = T.sblock_alloc_buffer((2 * n,))
    for i, j in T.grid(2, n):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * n + vj] = A[vi * n + vj] + 1.0
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi * n + vj] = B[{read}] * 2.0
"""


@pytest.mark.parametrize("call", ["parallel", "reorder"])
def test_axes_fused_by_a_symbolic_size_are_independent(call: str) -> None:
    sch = Schedule(CHAIN.format(read="vi * n + vj"))
    i, j = sch.get_loops("B")
    sch.parallel(i) if call == "parallel" else sch.reorder(j, i)
    assert sch.verify(sizes={"n": 5}).status == "tested"


@pytest.mark.parametrize(
    ("text", "loop", "found"),
    [
        (SUM.format(element="i // 2 + k % 2"), 0, "iterations (i = 0, k = 0) and (i = 1, k = 0) of 'B' access the same element"),
        (
            CHAIN.format(read="vi * n + n - 1 - vj"), 1,
            "iterations (i = 0, j = 0) of 'B' and (i = 0, j = 1) of 'C' access the same element of 'B' for n = 2",
        ),
        (CHAIN.format(read="vi * n + vj * vj % n"), 0, "undecided: the bindings or indices are not affine"),
        (CHAIN.format(read="vi * n + (vj + 1) % n"), 0, "undecided: sizes are multiplied; correct for 5 and 12 and 37"),
    ],
)  # fmt: skip
def test_possible_conflicts_are_refused_with_a_witness(text: str, loop: int, found: str) -> None:
    sch = Schedule(text)
    with pytest.raises(ScheduleError) as caught:
        sch.parallel(sch.get_loops("B")[loop])
    assert caught.value.code == "order-dependent" and found in caught.value.refusal.found


def test_decomposing_a_late_sum_is_refused() -> None:
    sch = Schedule(SUM.format(element="i").replace("reduce(50, k)", "reduce(50, 49 - k)"))
    with pytest.raises(ScheduleError) as caught:
        sch.decompose_reduction("B", sch.get_loops("B")[1])
    assert caught.value.code == "order-dependent"
    assert (
        "the first term of a sum is added at (k = 0), where the init does not run for i = 0"
        in caught.value.refusal.found
    )


def test_elements_shared_by_iterators_are_refused_with_a_witness() -> None:
    text = SUM.format(element="i").replace("B[vi]", "B[vi % 4]")
    sch = Schedule(text)
    with pytest.raises(ScheduleError) as caught:
        sch.reorder(*sch.get_loops("B")[::-1])
    assert "(vi = 0" in caught.value.refusal.found and "(vi = 4" in caught.value.refusal.found
