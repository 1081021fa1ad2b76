"""Schedules with holes, small enough for an exhaustive search."""

from __future__ import annotations

from support.programs.gemms import GEMM

from tilewright.engine.explore import Space, space_of
from tilewright.engine.script import parse, read_calls

LINES = """C = sch.get_block("C")
i, j, k = sch.get_loops(C)
ti = choose("ti", [32, 8, 16])
tj = choose("tj", [16, 32])
tk = choose("tk", [32])
io, ii = sch.split(i, [None, ti], names=["io", "ii"])
jo, ji = sch.split(j, [None, tj], names=["jo", "ji"])
ko, ki = sch.split(k, [None, tk], names=["ko", "ki"])
order = choose("order", [["io", "jo", "ko"], ["jo", "io", "ko"]])
sch.reorder(*order, ii, ji, ki)
A_pad = sch.cache_read(C, 0, "local.scratchpad")
B_pad = sch.cache_read(C, 1, "local.scratchpad")
C_acc = sch.cache_write(C, 0, "local.accumulator")
sch.reverse_compute_at(C_acc, order[1])
A_at = choose("A at", ["ko", "jo", "io"])
sch.compute_at(A_pad, A_at)
sch.compute_at(B_pad, "ko")
A_slots = choose("A slots", [1, 2])
sch.double_buffer(A_pad, slots=A_slots)
"""
"""GEMM on Gemmini: 72 points, some of them refused (two slots of an operand loaded once)."""


def gemm_space(lines: str = LINES, m: int = 32, n: int = 32, k: int = 64) -> Space:
    """A product with holes for its tiles."""
    program = parse(GEMM.format(m=m, n=n, k=k, dtype="int8")).program
    return space_of(program, read_calls(lines))
