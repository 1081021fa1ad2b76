"""Engines whose lanes are the program's vectorized loops, as those of a CPU are, beside engines that fill lanes along the result."""

from __future__ import annotations

import pytest

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

ADD = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def add(A: T.Buffer((24, 64), "float32"), B: T.Buffer((24, 64), "float32")):
    for i, j in T.grid(24, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def cycles(factor: int, lanes: str) -> int:
    program = parse(ADD).program
    assert isinstance(program, PrimFunc)
    sch = Schedule(program)
    _, j = sch.get_loops("B")
    if factor > 1:
        _, inner = sch.split(j, [None, factor])
        sch.vectorize(inner)
    machine = load_machine("cpu-core").replace("engines.simd.lanes", lanes)
    return simulate(sch.func, machine, max_accesses=1).bounds[0].cycles


@pytest.mark.parametrize(
    ("factor", "operations"), [(1, 24 * 64), (2, 24 * 32), (16, 24 * 4), (20, 24 * 7), (32, 24 * 4)]
)
def test_operation_takes_the_vectorized_lanes_of_the_program(factor: int, operations: int) -> None:
    """Sixteen floats are an operation: twenty are two, and the remaining four of a row are one."""
    assert cycles(factor, "program") == operations


@pytest.mark.parametrize("factor", [1, 2, 16])
def test_lanes_along_the_result_are_full_without_vectorized_loops(factor: int) -> None:
    assert cycles(factor, "result") == 24 * 64 // 16
