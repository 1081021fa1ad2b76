"""Instructions of targets under older names or with arguments by name, and regions that branches declare."""

from __future__ import annotations

import pytest

from tilewright.engine.ir import first_difference
from tilewright.engine.script import parse, to_script

TEXT = """\
from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16,), "int8"), C: T.Buffer((4,), "int32")):
    with T.block("root"):
        with T.block("b"):
            T.reads(A[0:16, 0:16], B[0:16])
            T.writes(C[0:4])
            {line}
"""
SPELLINGS = {
    "a load of a vector by name": (
        'C[T.Ramp(0, 1, 4)] = T.Cast("int32x4", B.vload([4], dtype="int8x4"))',
        'C[T.Ramp(0, 1, 4)] = T.Cast("int32x4", B.vload([4], "int8x4"))',
    ),
    "ldmatrix with its type last": (
        'T.evaluate(T.ptx_ldmatrix(False, 4, ".b16", A.data, 8, A.data, 0, dtype="float16"))',
        'T.evaluate(T.ptx_legacy.ldmatrix(False, 4, ".b16", A.data, 8, A.data, 0))',
    ),
    "ldmatrix with its type first": (
        'T.evaluate(T.ptx_ldmatrix("float16", False, 4, ".b16", A.data, 8, A.data, 0))',
        'T.evaluate(T.ptx_legacy.ldmatrix(False, 4, ".b16", A.data, 8, A.data, 0))',
    ),
    "arguments by name": (
        "T.evaluate(T.metal.make_filled_simdgroup_matrix(A.data, index=0, value=T.float32(0)))",
        "T.evaluate(T.metal.make_filled_simdgroup_matrix(A.data, 0, T.float32(0), 8, 8))",
    ),
    "a function of LLVM by its number": (
        'C[0] = T.call_llvm_pure_intrin("int32", T.llvm_lookup_intrinsic_id("llvm.amdgcn.sdot4"), C[0])',
        'C[0] = T.call_llvm_pure_intrin("int32", "llvm.amdgcn.sdot4", C[0])',
    ),
    "a quotient": ("C[0] = T.div(C[1], C[2])", "C[0] = T.truncdiv(C[1], C[2])"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_another_spelling_is_the_same_program(name: str) -> None:
    old, new = (parse(TEXT.format(line=line)).program for line in SPELLINGS[name])
    assert first_difference(old, new) is None
    assert first_difference(parse(to_script(old)).program, old) is None


def test_regions_of_a_branch_are_those_of_its_block() -> None:
    text = """\
from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        with T.block("b"):
            vi = T.axis.spatial(16, i)
            {before}
            if vi < n:
                {inside}
                B[vi] = A[vi]
"""
    regions = ("T.reads(A[vi])", "T.writes(B[vi])")
    inside = parse(text.format(before="", inside="; ".join(regions))).program
    before = parse(text.format(before="; ".join(regions), inside="")).program
    assert first_difference(inside, before) is None


def test_allocation_is_declared_again_with_another_shape() -> None:
    """TVM prints lowered programs so: the name of an allocation is its address."""
    text = (
        "from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((8,), 'float32')):\n"
        "    B = T.allocate([8], 'float32', 'local')\n    C = T.decl_buffer((2, 4), 'float32', data=B, scope='local')\n"
        "    for i in range(8):\n        C[i // 4, i % 4] = A[i]\n        A[i] = C[i // 4, i % 4] + T.float32(1)\n"
    )
    found = to_script(parse(text).program)
    assert "data=B.data" in found and to_script(parse(found).program) == found
