"""Texts of other generations: the form of 2021, scalars of TVM 0.27, relax functions beside tensor programs, unindented pastes."""

from __future__ import annotations

import numpy as np
from support.programs.sources import MATMUL

from tilewright.engine.execute import run
from tilewright.engine.ir import IRModule, LetStmt, PrimFunc, allocated_buffers, first_difference, walk_stmts
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

EARLY_MATMUL = """
@tvm.script.tir
def matmul(a: ty.handle, b: ty.handle, c: ty.handle) -> None:
    A = tir.match_buffer(a, [128, 128], "float32")
    B = tir.match_buffer(b, [128, 128], "float32")
    C = tir.match_buffer(c, [128, 128], "float32")
    with tir.block([128, 128, tir.reduce_axis(0, 128)], "C") as [vi, vj, vk]:
        with tir.init():
            C[vi, vj] = tir.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

EARLY_TILED = """
from tvm.script import ty

@tvm.script.tir
class Module:
    def main(a: ty.handle, c: ty.handle) -> None:
        tir.func_attr({"tir.noalias": True})
        A = tir.match_buffer(a, [128, 128])
        C = tir.match_buffer(c, (128,))
        with tir.block([], "root") as []:
            B = tir.alloc_buffer([128, 128])
            for i, j in tir.grid(128, 128):
                with tir.block([128, 128], "B") as [vi, vj]:
                    B[vi, vj] = A[vi, vj] * 2.0
            for i0, i1, k in tir.grid(8, 17, 128):
                with tir.block([128, tir.reduce_axis(0, 128)], "C") as [vi, vk]:
                    tir.where(i0 * 17 + i1 < 128)
                    tir.bind(vi, i0 * 17 + i1)
                    tir.bind(vk, k)
                    tir.reads([C[vi], B[vi, vk]])
                    tir.writes([C[vi]])
                    with tir.init():
                        C[vi] = tir.float32(0)
                    C[vi] = C[vi] + tir.exp(B[vi, vk], dtype="float32")
"""

CLASSIC_TILED = """
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((128, 128)), C: T.Buffer((128,))):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer([128, 128])
    for i, j in T.grid(128, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i0, i1, k in T.grid(8, 17, 128):
        with T.block("C"):
            vi = T.axis.spatial(128, i0 * 17 + i1)
            vk = T.axis.reduce(128, k)
            T.where(i0 * 17 + i1 < 128)
            T.reads(C[vi], B[vi, vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + T.exp(B[vi, vk])
"""


def function(text: str) -> PrimFunc:
    found = parse(text).program
    return found.functions[0] if isinstance(found, IRModule) else found


def test_block_of_the_2021_form_gets_its_own_loops() -> None:
    func = function(EARLY_MATMUL)
    assert first_difference(func, function(MATMUL)) is None
    assert [loop.name for loop in Schedule(func).get_loops("C")] == ["i0", "i1", "i2"]


def test_2021_class_form_equals_the_classic_text() -> None:
    assert first_difference(function(EARLY_TILED), function(CLASSIC_TILED)) is None


SCALARS = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi])
            T.writes(B[vi])
            x: T.float32 = A[vi]
            for k in range(3):
                x = x + 1
            x += 2.0
            n = vi + 1
            z: T.int32
            z = n + 1
            w: T.float32[2]
            w[1] = x
            if x > 3:
                B[vi] = w[1] + n + z
            else:
                B[vi] = 0.0
"""


def test_each_read_of_a_changing_scalar_has_its_current_value() -> None:
    func = function(SCALARS)
    values = np.arange(16, dtype="float32")
    result = run(func, {"A": values, "B": np.zeros(16, "float32")})["B"]
    place = np.arange(16)
    assert np.array_equal(result, values + 5 + (place + 1) + (place + 2))
    lowered = run(lower(func), {"A": values, "B": np.zeros(16, "float32")})["B"]
    assert np.array_equal(lowered, result)


def test_scalars_print_as_they_were_read() -> None:
    func = function(SCALARS)
    text = to_script(func)
    assert "x: T.float32 = A[vi]" in text and "x = x + T.float32(1.0)" in text and "z: T.int32 = n + 1" in text
    assert first_difference(function(text), func) is None
    assert [b.name for b in allocated_buffers(func.body)] == ["x", "n", "z", "w"]


def test_typed_name_of_the_classic_dialect_is_a_let() -> None:
    text = SCALARS.replace("T.sblock", "T.block").replace("(s_tir=True)", "")
    start, end = text.index("            for k"), text.index("            n = ")
    func = function(
        text[:start]
        + text[end:]
        .replace("            z: T.int32\n", "")
        .replace("            w: T.float32[2]\n            w[1] = x\n", "")
        .replace("w[1]", "x")
    )
    assert [s.var.name for s in walk_stmts(func.body) if isinstance(s, LetStmt)] == ["x", "n", "z"]
