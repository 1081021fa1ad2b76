"""Verdicts of programs that take too long to run: the same calls are tested at smaller sizes, and the verdict says so."""

from __future__ import annotations

import pytest

from tilewright.engine.execute import operation_count
from tilewright.engine.ir import PrimFunc
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
    assert smaller_program(func, 10**15) is None, "it is small enough"
    assert smaller_program(func, 10) is None, "windows and vectors stay"
