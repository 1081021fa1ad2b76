"""Single passes on small texts: init, match_buffer, opaque blocks, simplification, nothing left over; and the table of passes."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.sources import HEADER, MATMUL, MATMUL_RELU

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import Allocate, PrimFunc, build, walk_stmts
from tilewright.engine.lower import PASSES, LowerError, allocations, lower
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script


def program(body: str) -> PrimFunc:
    """`body` is the text after `def f`, parameters included."""
    found = parse(HEADER + f"@T.prim_func(s_tir=True)\ndef f{body}").program
    assert isinstance(found, PrimFunc)
    return found


def lines(func: PrimFunc, until: str | None = None) -> list[str]:
    """The text of the lowered body, without the signature."""
    text = to_script(lower(func, until))
    return [line.strip() for line in text.partition("def ")[2].splitlines()[1:] if line.strip()]


def assert_same_results(func: PrimFunc, until: str | None = None) -> None:
    inputs = random_inputs(func)
    found = run(lower(func, until), inputs)
    for name, array in run(func, inputs).items():
        np.testing.assert_array_equal(found[name], array)


def test_a_lowered_matmul_is_plain_loops():
    assert lines(Schedule(parse(MATMUL).program).func) == [
        "for i, j, k in T.grid(128, 128, 128):",
        "if k == 0:",
        "C[i, j] = T.float32(0.0)",
        "C[i, j] = C[i, j] + A[i, k] * B[k, j]",
    ]


def test_unknown_pass_is_refused_with_names():
    with pytest.raises(LowerError) as caught:
        lower(Schedule(parse(MATMUL).program).func, until="Flatten")
    assert caught.value.code == "unknown-pass"
    assert "FlattenBuffer" in caught.value.refusal.expected


def test_passes_are_in_tvms_order():
    assert [p.name for p in PASSES] == [
        "LowerInitBlock",
        "PlanAndUpdateBufferAllocationLocation",
        "ConvertBlocksToOpaque",
        "CompactBufferAllocation",
        "LowerMatchBuffer",
        "InjectSoftwarePipeline",
        "InjectDoubleBuffer",
        "LowerOpaqueBlock",
        "FlattenBuffer",
        "StmtSimplify",
        "RemoveNoOp",
    ]


MATCHED = """(A: T.Buffer((16, 32), "int32"), C: T.Buffer((16, 32), "int32")):
    B = T.sblock_alloc_buffer((16, 32), "int32")
    for i, j in T.grid(4, 4):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 4:vi * 4 + 4, vj * 8:vj * 8 + 8])
            T.writes(B[vi * 4:vi * 4 + 4, vj * 8:vj * 8 + 8])
            sub = T.match_buffer(B[vi * 4:vi * 4 + 4, vj * 8:vj * 8 + 8], (4, 8), "int32", offset_factor=1)
            for x, y in T.grid(4, 8):
                sub[x, y] = A[vi * 4 + x, vj * 8 + y] + 1
    for i, j in T.grid(16, 32):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] * 2
"""


def test_accesses_of_a_matched_region_are_replaced_by_its_source():
    func = program(MATCHED)
    assert "B[i * 128 + x * 32 + j * 8 + y] = A[i * 4 + x, j * 8 + y] + 1" in lines(func)
    assert_same_results(func, "LowerMatchBuffer")
    assert_same_results(func)


def test_a_match_of_another_shape_is_refused():
    func = program(MATCHED.replace("(4, 8), ", "(4, 7), ").replace("T.grid(4, 8)", "T.grid(4, 7)"))
    with pytest.raises(LowerError) as caught:
        lower(func)
    assert caught.value.code == "bad-match-buffer"
    assert (caught.value.refusal.found, caught.value.refusal.expected) == ("4, 7", "4, 8")


def test_loops_of_one_iteration_are_removed():
    sch = Schedule(parse(MATMUL_RELU).program)
    i, _, _ = sch.get_loops(sch.get_block("matmul"))
    sch.split(i, [1, 128])
    assert not any("range(1)" in line or "grid(1," in line for line in lines(sch.func))
    assert_same_results(sch.func)


def test_one_branch_guards_an_uneven_split():
    sch = Schedule(parse(MATMUL).program)
    sch.split(sch.get_loops(sch.get_block("C"))[0], [None, 60])
    found = lines(sch.func)
    assert [line for line in found if line.startswith("if")] == ["if i_0 * 60 + i_1 < 128:", "if k == 0:"]


def test_decided_branches_are_removed():
    func = program("""(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.sblock_alloc_buffer((8,), "int32")
    D = T.sblock_alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(B[vi], D[vi], C[vi])
            if vi < 8:
                B[vi] = A[vi]
            if vi * 2 > 14:
                D[vi] = A[vi]
            if A[vi] > 3:
                if A[vi] > 3:
                    C[vi] = B[vi]
                else:
                    D[vi] = 0
            else:
                C[vi] = 0
""")
    assert lines(func) == [
        "for i in range(8):",
        'B = T.alloc_buffer((1,), "int32")',
        "B[0] = A[i]",
        "if 3 < A[i]:",
        "C[i] = B[0]",
        "else:",
        "C[i] = 0",
    ]


ROWS = """(A: T.Buffer((16, 32), "int32"), C: T.Buffer((16, 32), "int32")):
    B = T.sblock_alloc_buffer((16, 32), "int32")
    for i, j in T.grid(16, 32):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(16, 32):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj]
"""


def test_aligned_storage_leaves_gaps_between_rows():
    sch = Schedule(program(ROWS))
    sch.annotate(sch.get_block("B"), "buffer_dim_align", [[0, 0, 32, 8]])
    func = sch.func
    assert "B[i * 40 + j] = A[i, j]" in lines(func)
    (allocate,) = [s for s in walk_stmts(lower(func)) if isinstance(s, Allocate)]
    assert build.int_value(allocate.buffers[0].shape[0]) == 640
    assert allocations(func)[0].tile == (16, 32)
    assert_same_results(func)


def test_alignment_of_a_missing_axis_is_ignored():
    sch = Schedule(
        program("""(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.sblock_alloc_buffer((), "int32")
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            T.sblock_attr({"buffer_dim_align": [[0, 1, 2, 0]]})
            B[()] = A[vi]
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[()] + 1
""")
    )
    (allocate,) = [s for s in walk_stmts(lower(sch.func)) if isinstance(s, Allocate)]
    assert [build.int_value(n) for n in allocate.buffers[0].shape] in ([], [1])
    assert_same_results(sch.func)


def test_narrow_arithmetic_still_wraps_after_lowering():
    func = program("""(A: T.Buffer((256,), "uint8"), C: T.Buffer((256,), "bool")):
    for i in range(256):
        with T.sblock("C"):
            vi = T.axis.spatial(256, i)
            T.reads(A[vi])
            T.writes(C[vi])
            C[vi] = T.uint8(1) - A[vi] < T.uint8(1)
""")
    assert "C[i] = T.uint8(1) - A[i] < T.uint8(1)" in lines(func)
    inputs = {"A": np.arange(256, dtype=np.uint8)}
    np.testing.assert_array_equal(run(lower(func), inputs)["C"], run(func, inputs)["C"])
