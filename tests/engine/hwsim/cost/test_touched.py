"""Bytes that a vector task accesses: windows that outer loops shift, private buffers, excluded iterations."""

from __future__ import annotations

from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import Machine, read_machine
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.script import parse


def machine(pad: str = "") -> Machine:
    """`plain` with these lines for its scratchpad."""
    return read_machine(PLAIN.replace("banks = 2\n", f"banks = 2\n{pad}"))


def touched(text: str, buffer: str) -> list[int]:
    """The bytes of a buffer that tasks read, in the order in which the kinds of task occur."""
    variants = replayed(parse(text).program, machine())[0].variants
    return [t.size_bytes for v in variants for t in v.cost.touched if t.buffer.name == buffer and not t.written]


def test_diverging_accesses_are_both_read() -> None:
    found = touched(
        """
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), Y: T.Buffer((8, 8), "int32")):
    L = T.alloc_buffer((64,), "int32", scope="local")
    M = T.alloc_buffer((8,), "int32", scope="local")
    for i, j in T.grid(8, 8):
        with T.block("load"):
            vi, vj = T.axis.remap("SS", [i, j])
            L[vi * 8 + vj] = A[vi, vj]
    for t in range(7):
        for j in range(8):
            with T.block("work"):
                vt, vj = T.axis.remap("SS", [t, j])
                M[vj] = L[vt * 8 + vj] * L[vj] + 1
        for j in range(8):
            with T.block("store"):
                vt, vj = T.axis.remap("SS", [t, j])
                Y[vt, vj] = M[vj]
""",
        "L",
    )
    assert found == [2 * 8 * 4]


def test_shared_elements_of_a_window_are_read_once() -> None:
    found = touched(
        """
@T.prim_func
def main(A: T.Buffer((66,), "int32"), Y: T.Buffer((64,), "int32")):
    L = T.alloc_buffer((66,), "int32", scope="local")
    M = T.alloc_buffer((64,), "int32", scope="local")
    for i in range(66):
        with T.block("load"):
            vi = T.axis.spatial(66, i)
            L[vi] = A[vi]
    for i in range(64):
        with T.block("work"):
            vi = T.axis.spatial(64, i)
            M[vi] = L[vi] + L[vi + 1] + L[vi + 2]
    for i in range(64):
        with T.block("store"):
            vi = T.axis.spatial(64, i)
            Y[vi] = M[vi]
""",
        "L",
    )
    assert found == [66 * 4]


def test_conditional_buffer_exists_once_per_iteration() -> None:
    program = parse(
        """
@T.prim_func
def main(Y: T.Buffer((4, 8), "int32")):
    S = T.alloc_buffer((4, 8), "int32", scope="local")
    for i, j in T.grid(4, 8):
        with T.block("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i * 8 + j < 29)
            S[vi, vj] = 0
    for i, j in T.grid(4, 8):
        with T.block("other"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = 0
"""
    ).program
    variants = replayed(program, machine())[0].variants
    written = [t.size_bytes for v in variants for t in v.cost.touched if t.buffer.name == "S" and t.written]
    assert written == [29 * 4]


def test_rows_cut_by_a_condition_use_whole_lanes() -> None:
    here = machine('mapping = "interleave"\ninterleave_bytes = 8\n').replace("vector.vector_bytes", 64)
    program = parse(
        """
@T.prim_func
def main(A: T.Buffer((4, 3), "int32"), Y: T.Buffer((4, 3), "int32")):
    L = T.alloc_buffer((4, 3), "int32", scope="local")
    M = T.alloc_buffer((4, 3), "int32", scope="local")
    for i, j in T.grid(4, 3):
        with T.block("load"):
            vi, vj = T.axis.remap("SS", [i, j])
            L[vi, vj] = A[vi, vj]
    for i, j in T.grid(4, 5):
        with T.block("work"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(j < 3)
            M[vi, vj] = L[vi, vj] * 2
    for i, j in T.grid(4, 3):
        with T.block("store"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = M[vi, vj]
"""
    ).program
    work = next(v for v in replayed(program, here)[0].variants if v.cost.operations == 12 and not v.cost.descriptor)
    # One operation of 12 lanes: 6 rows in 2 banks, as many cycles as an even spread.
    assert work.cost.duration == here.engine("vector").setup_cycles + 2
    assert not work.cost.conflicts
