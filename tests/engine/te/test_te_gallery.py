"""Constructs of TVM's TE tutorials: quotients in shapes, intermediate tensors as parameters, tensor intrinsics, create_prim_func."""

from __future__ import annotations

from tilewright.engine.adopt import read_pasted
from tilewright.engine.te import read_te

TWO_STAGES = """\
import tvm
from tvm import te
n, bn = 64, 16
A = te.placeholder((n, n), name="A")
P = te.compute((n / bn, n, bn), lambda x, y, z: A[y, x * bn + z], name="P")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * P[j // bn, k, tvm.tir.indexmod(j, bn)], axis=k), name="C")
s = te.create_schedule(C.op)
"""
GEMV = """\
def intrin_gemv(m, l):
    a = te.placeholder((l,), name="a")
    b = te.placeholder((m, l), name="b")
    k = te.reduce_axis((0, l), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    Ab = tvm.tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
    def intrin_func(ins, outs):
        ib = tvm.tir.ir_builder.create()
        return ib.get()
    return te.decl_tensor_intrin(c.op, intrin_func, binds={a: Ab})
"""


def methods(text: str) -> list[str]:
    return [step.method for step in read_te(text).schedule.trace.steps]


def test_given_a_quotient_without_remainder_in_a_shape_then_it_is_a_size() -> None:
    program = read_te(TWO_STAGES + "s[P].vectorize(P.op.axis[2])\n").schedule
    (packed,) = [region.buffer for region in program.index.block("P").writes]
    assert [getattr(extent, "value", None) for extent in packed.shape] == [4, 64, 16]
    assert program.check().status == "proved"


def test_given_an_inlined_tensor_among_the_parameters_then_it_is_an_intermediate_with_a_note() -> None:
    found = read_te(TWO_STAGES + "s[P].compute_inline()\ntvm.lower(s, [A, P, C])\n")
    assert [buffer.name for buffer in found.program.buffers] == ["A", "C"]
    assert [(note.place.line, note.text.split()[0]) for note in found.notes] == [(9, "P")]
    assert not found.schedule.index.has_block("P")


def test_given_a_tensor_that_is_computed_at_a_loop_and_a_parameter_then_it_is_an_intermediate() -> None:
    found = read_te(TWO_STAGES + "s[P].compute_at(s[C], C.op.axis[0])\ntvm.lower(s, [A, P, C])\n")
    assert [buffer.name for buffer in found.program.buffers] == ["A", "C"]
    assert found.schedule.check().status == "proved"


def test_given_a_tensor_intrinsic_then_its_loops_are_a_block() -> None:
    text = (
        TWO_STAGES
        + GEMV
        + "jo, ji = s[C].split(C.op.axis[1], factor=16)\ns[C].tensorize(ji, intrin_gemv(16, n))\ntvm.lower(s, [A, C])\n"
    )
    assert methods(text)[-1] == "blockize"
    found = read_te(text)
    assert found.schedule.verify().status == "tested" and "tensorize" in found.notes[0].text


def test_given_a_pragma_of_code_and_types_without_bits_then_they_are_passed_over_and_32_bits() -> None:
    text = TWO_STAGES.replace("A[y, x * bn + z]", 'A[y, x * bn + z].astype("float")')
    found = read_te(text + 's[C].pragma(C.op.axis[0], "import_llvm", tvm.contrib.clang.create_llvm("x"))\n')
    assert [buffer.dtype for buffer in found.program.buffers] == ["float32", "float32"]
    assert "pragma" in found.notes[0].text


def test_given_a_tensorir_schedule_of_create_prim_func_then_its_calls_are_applied() -> None:
    text = TWO_STAGES.partition("s = ")[0] + (
        "sch = tvm.tir.Schedule(te.create_prim_func([A, C]))\nblock = sch.get_block('C')\n"
        "i, j, k = sch.get_loops(block)\nio, ii = sch.split(i, factors=[None, 16])\nsch.mod.show()\n"
    )
    schedule = read_pasted(text).schedule
    assert [step.method for step in schedule.trace.steps] == ["get_block", "get_loops", "split"]
    assert schedule.check().status == "proved"
