"""Schedule calls with the signatures of older TVM are read as the calls of today."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import read_pasted
from tilewright.engine.ir import TilewrightError, structural_equal
from tilewright.engine.te import read_te

CHAIN = """\
import tvm
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32), "float32")
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(16, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 2.0

sch = tvm.tir.Schedule(main)
b, c = sch.get_block("B"), sch.get_block("C")
i, j = sch.get_loops(b)
"""

SAME = {
    "blockize of a loop": ("sch.blockize(loop=i)", "sch.blockize(i)"),
    "split by a factor": ("sch.split(i, factor=5)", "sch.split(i, [None, 5])"),
    "split in parts": ("sch.split(i, nparts=5)", "sch.split(i, [5, None])"),
    "layout by position and side": (
        "sch.transform_layout(b, 0, 'write', lambda i, j: [j, i])",
        "sch.transform_layout(b, ('write', 0), lambda i, j: [j, i])",
    ),
    "layout by keyword": (
        "sch.transform_layout(block=c, buffer_index=0, buffer_index_type='read', index_map=lambda i, j: [j, i])",
        "sch.transform_layout(c, ('read', 0), lambda i, j: [j, i])",
    ),
    "layout with is_write_index": (
        "sch.transform_layout(b, buffer_index=0, is_write_index=True, index_map=lambda i, j: [j, i])",
        "sch.transform_layout(b, ('write', 0), lambda i, j: [j, i])",
    ),
    "layout by an object of TVM": (
        "sch.transform_layout(b, ('write', 0), tvm.tir.IndexMap.from_func(lambda i, j: [j, i]))",
        "sch.transform_layout(b, ('write', 0), lambda i, j: [j, i])",
    ),
    "layout by a function of the text": (
        "def tiled(i, j):\n    return j, i\nsch.transform_layout(b, ('write', 0), tiled)",
        "sch.transform_layout(b, ('write', 0), lambda i, j: [j, i])",
    ),
    "reindex": ("sch.reindex(c, 0, 'read')", "sch.reindex(c, ('read', 0))"),
    "separators": (
        "sch.set_axis_separator(b, 0, 'write', [1])",
        "sch.set_axis_separator(b, ('write', 0), [1])",
    ),
    "a converted value": ("sch.annotate(i, 'x', tvm.convert([1, 2]))", "sch.annotate(i, 'x', [1, 2])"),
    "an annotation of names": ("key, value = 'x', 4\nsch.annotate(i, key, value)", "sch.annotate(i, 'x', 4)"),
    "loops of 2021": ("sch.unroll(sch.get_axes(b)[0])", "sch.unroll(i)"),
}


@pytest.mark.parametrize("name", SAME)
def test_given_an_older_call_then_as_the_call_of_today(name: str) -> None:
    older, today = (read_pasted(f"{CHAIN}{calls}\n").schedule for calls in SAME[name])
    assert structural_equal(older.func, today.func)
    assert not structural_equal(older.func, older.original["main"])
    assert older.verify().status == "tested"


@pytest.mark.parametrize(
    "call",
    [
        "sch.split(i, factor=8, nparts=2)",
        "sch.split(i, factors=[2, 8], factor=8)",
        "sch.transform_layout(b, 0, 'both', lambda i, j: [j, i])",
        "sch.transform_layout(b, buffer_index=0, buffer_index_type='none', index_map=lambda i, j: [j, i])",
        "sch.reindex(b, 0, 'none')",
    ],
)
def test_given_a_call_of_no_generation_then_refused(call: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        read_pasted(f"{CHAIN}{call}\n")
    assert caught.value.refusal.place is not None
    assert caught.value.refusal.place.line == CHAIN.count("\n") + 1


def test_a_tensor_is_indexed_by_a_tuple() -> None:
    text = """
import tvm
from tvm import te
A = te.placeholder((16, 32), name="A")
B = te.compute((16, 32), lambda *i: A[{index}] + tvm.convert(1.0), name="B")
s = te.create_schedule(B.op)
"""
    one, other = (read_te(text.format(index=index)).schedule for index in ("i", "i[0], i[1]"))
    assert structural_equal(one.func, other.func)
