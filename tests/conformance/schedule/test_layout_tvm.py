"""Layouts, padding, alignment, types and iterators give what TVM gives, but for docs/differences.md."""

from __future__ import annotations

import pytest
from support.programs.sources import CONV2D, MATMUL, MATMUL_RELU
from support.tvm.oracle import Calls, assert_agrees, tvm_schedule

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

pytestmark = pytest.mark.tvm

STAGED = """from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((14, 10), "float32"), D: T.Buffer((14, 10), "float32")):
        B = T.sblock_alloc_buffer((14, 10), "float32")
        for i, j in T.grid(14, 10):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(14, 10):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vi, vj] + T.float32(1)
"""

MAPS = {
    "tiles": lambda i, j: [i // 4, j // 4, i % 4, j % 4],
    "rows": lambda i, j: [i // 4, i % 4, j],
    "columns in front": lambda i, j: [j // 4, i, j % 4],
    "shifted": lambda i, j: [(i + 2) // 4, (i + 2) % 4, j],
    "joined": lambda i, j: [(i * 10 + j) // 8, (i * 10 + j) % 8],
    "three parts": lambda i, j: [i // 8, i // 4 % 2, i % 4, j],
    "turned": lambda i, j: [j, i],
    "flat": lambda i, j: [i * 10 + j],
}
BUFFERS = {
    "written": ("B", ("write", 0)),
    "read": ("D", ("read", 0)),
    "input": ("B", ("read", 0)),
    "output": ("D", ("write", 0)),
}


def laid_out(block: str, buffer: object, index_map: object, **options: object) -> Calls:
    return lambda s: s.transform_layout(s.get_sblock(block), buffer, index_map, **options)


CASES: dict[str, tuple[str, Calls]] = {
    **{
        f"{name}, {which}": (STAGED, laid_out(*BUFFERS[which], index_map, pad_value=0.0))
        for name, index_map in MAPS.items()
        for which in BUFFERS
    },
    "a matmul's result": (MATMUL, laid_out("C", "C", lambda i, j: [i // 9, i % 9, j], pad_value=0.0)),
    "one place without an element": (MATMUL, laid_out("C", "A", lambda i, j: [i // 43, i % 43, j], pad_value=0.0)),
    "an operand": (MATMUL, laid_out("C", "A", lambda i, j: [i // 16, j // 16, i % 16, j % 16])),
    "aligned": (MATMUL_RELU, lambda s: s.storage_align(s.get_sblock("matmul"), 0, 0, 32, 1)),
    "aligned from the end": (MATMUL_RELU, lambda s: s.storage_align(s.get_sblock("matmul"), 0, -2, 32, 1)),
    "half precision": (MATMUL_RELU, lambda s: s.unsafe_set_dtype(s.get_sblock("matmul"), 0, "float16")),
    "iterators listed anew": (MATMUL, lambda s: s.reorder_block_iter_var(s.get_sblock("C"), [2, 0, 1])),
    "iterators turned": (MATMUL, lambda s: s.transform_block_layout(s.get_sblock("C"), lambda i, j, k: [j, i, k])),
    "iterators split": (MATMUL, lambda s: s.transform_block_layout(s.get_sblock("C"), lambda i, j, k: [i // 4, j, i % 4, k])),
    "a convolution as a matmul": (
        CONV2D,
        lambda s: s.transform_block_layout(
            s.get_sblock("conv"), lambda n, f, y, x, c, ry, rx: [y * 14 + x, f, c * 9 + ry * 3 + rx]
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_both_make_the_same_program(name: str) -> None:
    text, calls = CASES[name]
    assert_agrees(text, calls)


def test_tvm_takes_two_elements_for_one_place_and_ours_refuses() -> None:
    calls = laid_out("B", ("write", 0), lambda i, j: [i // 2, j])
    calls(tvm_schedule(STAGED))
    with pytest.raises(ScheduleError) as refused:
        calls(Schedule(parse(STAGED).program))
    assert refused.value.code == "not-bijective"


def test_tvm_loses_the_consumer_in_the_nest_and_ours_keeps_it() -> None:
    def calls(sch):
        sch.reverse_compute_at(sch.get_sblock("D"), sch.get_loops(sch.get_sblock("B"))[0])
        sch.transform_layout(sch.get_sblock("B"), ("write", 0), MAPS["rows"], pad_value=0.0)

    theirs, ours = tvm_schedule(STAGED), Schedule(parse(STAGED).program)
    calls(theirs)
    calls(ours)
    assert "D[" not in theirs.mod.script().split("D: T.Buffer")[1], "nothing stores D any more"
    assert ours.verify().status == "tested"
