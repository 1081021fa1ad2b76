"""Inferred regions of blocks without T.reads and T.writes. `tests/conformance/test_script_tvm.py` compares with TVM."""

from __future__ import annotations

import pytest

from tilewright.engine.analysis import accessed_regions
from tilewright.engine.ir import Block, BlockRealize, walk_stmts
from tilewright.engine.script import expr_text, parse, to_script


def found(body: str) -> tuple[list[str], list[str]]:
    """The regions of the first block, which has the iterators vi (16) and vj (8)."""
    inner = "\n".join(f"            {line}" for line in body.strip().splitlines())
    text = f"""@T.prim_func(s_tir=True)
def f(A: T.Buffer((64, 64)), B: T.Buffer((64, 64)), S: T.Buffer((16,), "int32")):
    for i, j in T.grid(16, 8):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
{inner}
"""
    realize = next(s for s in walk_stmts(parse(text).program) if isinstance(s, BlockRealize) and s.block.iter_vars)
    reads, writes = accessed_regions(realize.block)
    return [expr_text(r) for r in reads], [expr_text(w) for w in writes]


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        ("A[vi, vj] = B[vj, vi]", ["B[vj, vi]"], ["A[vi, vj]"]),
        ("A[vi, vj] = B[vi, vj] + B[vi, vj]", ["B[vi, vj]"], ["A[vi, vj]"]),
        ("A[vi, vj] = B[vi, vj] + B[vi, vj + 1] + B[vi, vj + 2]", ["B[vi, vj:vj + 3]"], ["A[vi, vj]"]),
        ("for k in range(4):\n    A[vi, vj * 4 + k] = B[k, 7 - k]", ["B[0:4, 4:8]"], ["A[vi, vj * 4:vj * 4 + 4]"]),
        ("for k in range(4):\n    A[vi, k * 3 % 7] = B[vi * k, k // 2]", ["B[0:64, 0:2]"], ["A[vi, 0:7]"]),
        ("A[vi, S[vi]] = B[S[vi + 1], 0]", ["B[S[vi + 1], 0]", "S[vi:vi + 2]"], ["A[vi, S[vi]]"]),
        ("for k in range(4):\n    A[vi, S[k]] = 1.0", ["S[0:4]"], ["A[vi, 0:64]"]),
        ("with T.init():\n    A[vi, vj] = 0.0\nA[vi, vj] = A[vi, vj] + B[vi, vj]", ["B[vi, vj]"], ["A[vi, vj]"]),
        ("A[vi, vj] = A[vi, vj] + B[vi, vj]", ["A[vi, vj]", "B[vi, vj]"], ["A[vi, vj]"]),
        ("L = T.sblock_alloc_buffer((4,))\nL[0] = B[vi, vj]\nA[vi, vj] = L[0]", ["B[vi, vj]"], ["A[vi, vj]"]),
        ("M = T.match_buffer(A[vi * 2:vi * 2 + 2, 8:16], (2, 8), offset_factor=1)\nM[1, vj] = 1.0", [], ["A[vi * 2 + 1, 8 + vj]"]),
        ("x: T.let[T.int32] = vi * 2\nA[x, vj] = B[x + 1, vj]", ["B[vi * 2 + 1, vj]"], ["A[vi * 2, vj]"]),
        ("for k in range(96):\n    A[vi, vj] = T.if_then_else(k >= 32, B[vi, k - 32], 0.0)", ["B[vi, 0:64]"], ["A[vi, vj]"]),
        ("for k in range(128):\n    if k < 64:\n        A[vi, k] = B[vi, k + vj]", ["B[vi, vj:vj + 128]"], ["A[vi, 0:64]"]),
        ('T.tvm_access_ptr(T.type_annotation("int32"), S.data, 0, 16, 1)\nA[vi, vj] = 1.0', ["S[0:16]"], ["A[vi, vj]"]),
        ('T.tvm_access_ptr(T.type_annotation("int32"), S.data, 0, 16, 2)\nA[vi, vj] = 1.0', [], ["S[0:16]", "A[vi, vj]"]),
        ('T.tvm_access_ptr(T.type_annotation("int32"), S.data, 0, 16, 3)\nA[vi, vj] = 1.0', ["S[0:16]"], ["S[0:16]", "A[vi, vj]"]),
    ],
)  # fmt: skip
def test_the_regions_of_a_block(body: str, reads: list[str], writes: list[str]) -> None:
    assert found(body) == (reads, writes)


def test_a_nested_blocks_declared_regions_count() -> None:
    text = """@T.prim_func(s_tir=True)
def f(A: T.Buffer((64, 64)), B: T.Buffer((64, 64))):
    for i in range(16):
        with T.sblock("outer"):
            vi = T.axis.spatial(16, i)
            for j in range(8):
                with T.sblock("inner"):
                    vj = T.axis.spatial(8, j)
                    T.reads(B[vi, 0:vj + 1])
                    T.writes(A[vi, vj * 2])
                    A[vi, vj * 2] = B[vi, 0]
"""
    outer = next(s for s in walk_stmts(parse(text).program) if isinstance(s, Block) and s.name == "outer")
    reads, writes = accessed_regions(outer)
    assert [expr_text(r) for r in (*reads, *writes)] == ["B[vi, 0:8]", "A[vi, 0:15]"]


def test_region_indexed_by_two_tables_holds_both():
    """Tables of equal shape are distinct: each selects another element."""
    text = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(B: T.Buffer((9,), "uint8"), X: T.Buffer((9,), "int32"), Y: T.Buffer((9,), "int32"), C: T.Buffer((9,), "uint8")):
    for i in range(9):
        with T.sblock("C"):
            v = T.axis.spatial(9, i)
            C[v] = B[X[v]] + B[Y[v]]
"""
    assert "B[T.min(X[v], Y[v]):" in to_script(parse(text).program)
