"""Verdicts of programs that take too long to run: the same calls are tested at smaller sizes, and the verdict says so."""

from __future__ import annotations

import pytest

from tilewright.engine.data import with_data
from tilewright.engine.execute import operation_count, verify
from tilewright.engine.ir import PrimFunc, build
from tilewright.engine.prove.proof import QUICK_RUN
from tilewright.engine.schedule import Schedule
from tilewright.engine.schedule.smaller import smaller_program
from tilewright.engine.script import parse, to_script

SQUARES = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((128, 16384), "float32"), W: T.Buffer((16384, 8192), "float32"), B: T.Buffer(({rows}, 8192), "float32")):
    for i, j, k in T.grid(128, 8192, 16384):
        with T.sblock("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi * vi, vj] = T.float32(0)
            B[vi * vi, vj] = B[vi * vi, vj] + A[vi, vk] * W[vk, vj]
"""
"""Indices that proofs do not know, and 10^13 operations."""

SYMBOLIC = """
@T.prim_func(s_tir=True)
def main(a: T.handle, w: T.handle, B: T.Buffer((16200, 64), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (128, n), "float32")
    W = T.match_buffer(w, (n, 64), "float32")
    for i, j, k in T.grid(128, 64, n):
        with T.sblock("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi * vi, vj] = T.float32(0)
            B[vi * vi, vj] = B[vi * vi, vj] + A[vi, vk] * W[vk, vj]
"""


def scheduled(text: str) -> Schedule:
    sch = Schedule(parse(text).program)
    sch.split(sch.get_loops("B")[2], [None, 16])
    return sch


def test_constant_extents_are_halved() -> None:
    verdict = scheduled(SQUARES.format(rows=16200)).check()
    assert verdict.status == "tested"
    assert "on a smaller program (" in verdict.detail
    assert "for 16384" in verdict.detail
    assert "takes too long" in verdict.detail


def test_sizes_are_halved() -> None:
    verdict = scheduled(SYMBOLIC).check({"n": 1 << 22})
    assert verdict.status == "tested"
    assert "with n = " in verdict.detail
    assert "a run with n = 4194304 takes too long" in verdict.detail


def test_sizes_that_run_are_not_halved() -> None:
    verdict = scheduled(SYMBOLIC).check({"n": 32})
    assert verdict.status == "tested"
    assert verdict.detail.endswith("with n = 32")


def test_given_a_program_that_is_no_other_size_then_unknown() -> None:
    verdict = scheduled(SQUARES.format(rows=16384)).check()
    assert verdict.status == "unknown", "a program with fewer rows would write outside of them"
    assert verdict.is_too_costly


@pytest.mark.parametrize("most", [10**6, 10**9])
def test_a_smaller_program_has_at_most_so_many_operations(most: int) -> None:
    func = parse(SQUARES.format(rows=16200)).program
    assert isinstance(func, PrimFunc)
    found = smaller_program(func, most)
    assert found is not None
    small, new = found
    assert (operation_count(small) or 0) <= most
    assert f"(16200, {new[8192]})" in to_script(small)
    assert smaller_program(small, most) is None, "it is small enough"
    assert smaller_program(func, 10) is None, "windows and vectors stay"


HALO = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer((64, 130, 256), "float32"), W: T.Buffer((3, 256, 512), "float32"),
    I: T.Buffer((512,), "int32"), C: T.Buffer((64, 128, 512), "float32")
):
    for n, w, o, r, c in T.grid(64, 128, 512, 3, 256):
        with T.sblock("C"):
            vn, vw, vo, vr, vc = T.axis.remap("SSSRR", [n, w, o, r, c])
            T.reads(A[vn, vw + vr, vc], W[vr, vc, vo], I[vo])
            T.writes(C[vn, vw, 0:512])
            with T.init():
                C[vn, vw, I[vo]] = T.float32(0)
            C[vn, vw, I[vo]] = C[vn, vw, I[vo]] + A[vn, vw + vr, vc] * W[vr, vc, vo]
"""

ODD = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4095, 8191), "float32"), I: T.Buffer((4095,), "int32"), C: T.Buffer((4095, 4097), "float32")):
    for i, j, k in T.grid(4095, 4097, 8191):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], I[vi])
            T.writes(C[0:4095, vj])
            with T.init():
                C[I[vi], vj] = T.float32(0)
            C[I[vi], vj] = C[I[vi], vj] + A[vi, vk]
"""

CSR = """
@T.prim_func(s_tir=True)
def main(
    P: T.Buffer((1000001,), "int32"), J: T.Buffer((16000000,), "int32"),
    B: T.Buffer((1000000, 256), "float32"), C: T.Buffer((1000000, 256), "float32")
):
    for i, k in T.grid(1000000, 256):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            T.reads(P[vi:vi + 2], J[0:16000000], B[0:1000000, vk])
            T.writes(C[vi, vk])
            C[vi, vk] = T.float32(0)
            for j in range(P[vi + 1] - P[vi]):
                C[vi, vk] = C[vi, vk] + B[J[P[vi] + j], vk]
"""


@pytest.mark.parametrize(("text", "names"), [(HALO, "AW"), (ODD, "A"), (CSR, "B")], ids=["halo", "odd", "sparse"])
def test_axes_follow_their_indices(text: str, names: str) -> None:
    func = parse(text).program
    assert isinstance(func, PrimFunc)
    found = smaller_program(func, QUICK_RUN)
    assert found is not None
    small, new = found
    assert verify(small, small).status == "tested"
    extents = {b.name: tuple(build.int_value(e) for e in b.shape) for b in small.buffers}
    offset = {"A": {1: 2}} if text is HALO else {}
    for name in names:
        whole = next(b for b in func.buffers if b.name == name)
        for axis, extent in enumerate(whole.shape):
            more = offset.get(name, {}).get(axis, 0)
            old = (build.int_value(extent) or 0) - more
            assert extents[name][axis] == new.get(old, old) + more
            assert (extents[name][axis] - (build.int_value(extent) or 0)) % 16 == 0, "factors divide it as before"


def test_a_schedule_of_a_large_sparse_program_is_tested() -> None:
    sch = Schedule(with_data(parse(CSR).program, {"j": 16}))
    i, _ = sch.get_loops("C")
    sch.split(i, [None, 64])
    verdict = sch.check()
    assert verdict.status == "tested" and "on a smaller program (" in verdict.detail


def test_a_symbolic_program_with_large_constants_is_tested() -> None:
    text = CSR.replace("P: T.Buffer((1000001,)", "n: T.int32, P: T.Buffer((1000001,)").replace(
        "T.grid(1000000, 256)", "T.grid(n, 256)"
    )
    sch = Schedule(parse(text).program)
    verdict = sch.check({"n": 1000000})
    assert verdict.status == "tested" and "smaller program" in verdict.detail
