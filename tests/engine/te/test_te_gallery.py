"""Constructs of TVM's TE tutorials: quotients in shapes, intermediate tensors as parameters, intrinsics, external calls, scans."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest

from tilewright.engine.adopt import read_pasted
from tilewright.engine.execute import run
from tilewright.engine.ir import structural_equal
from tilewright.engine.schedule import ScheduleError
from tilewright.engine.script import ParseError, parse, to_script
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


def test_an_exact_quotient_in_a_shape_is_a_size() -> None:
    program = read_te(TWO_STAGES + "s[P].vectorize(P.op.axis[2])\n").schedule
    (packed,) = [region.buffer for region in program.index.block("P").writes]
    assert [getattr(extent, "value", None) for extent in packed.shape] == [4, 64, 16]
    assert program.check().status == "proved"


def test_inlined_tensor_parameter_is_a_noted_intermediate() -> None:
    found = read_te(TWO_STAGES + "s[P].compute_inline()\ntvm.lower(s, [A, P, C])\n")
    assert [buffer.name for buffer in found.program.buffers] == ["A", "C"]
    assert [(note.place.line, note.text.split()[0]) for note in found.notes] == [(9, "P")]
    assert not found.schedule.index.has_block("P")


def test_parameter_computed_at_a_loop_is_an_intermediate() -> None:
    found = read_te(TWO_STAGES + "s[P].compute_at(s[C], C.op.axis[0])\ntvm.lower(s, [A, P, C])\n")
    assert [buffer.name for buffer in found.program.buffers] == ["A", "C"]
    assert found.schedule.check().status == "proved"


def test_loops_of_a_tensor_intrinsic_are_a_block() -> None:
    text = (
        TWO_STAGES
        + GEMV
        + "jo, ji = s[C].split(C.op.axis[1], factor=16)\ns[C].tensorize(ji, intrin_gemv(16, n))\ntvm.lower(s, [A, C])\n"
    )
    assert methods(text)[-1] == "blockize"
    found = read_te(text)
    assert found.schedule.verify().status == "tested" and "tensorize" in found.notes[0].text


def test_code_pragmas_are_skipped_and_types_default_to_32_bits() -> None:
    text = TWO_STAGES.replace("A[y, x * bn + z]", 'A[y, x * bn + z].astype("float")')
    found = read_te(text + 's[C].pragma(C.op.axis[0], "import_llvm", tvm.contrib.clang.create_llvm("x"))\n')
    assert [buffer.dtype for buffer in found.program.buffers] == ["float32", "float32"]
    assert "pragma" in found.notes[0].text


def test_calls_of_a_create_prim_func_schedule_are_applied() -> None:
    text = TWO_STAGES.partition("s = ")[0] + (
        "sch = tvm.tir.Schedule(te.create_prim_func([A, C]))\nblock = sch.get_block('C')\n"
        "i, j, k = sch.get_loops(block)\nio, ii = sch.split(i, factors=[None, 16])\nsch.mod.show()\n"
    )
    schedule = read_pasted(text).schedule
    assert [step.method for step in schedule.trace.steps] == ["get_block", "get_loops", "split"]
    assert schedule.check().status == "proved"


EXTERN = """\
import tvm
from tvm import te
from tvm.contrib import cblas
n, l, m = 16, 8, 4
bias = te.var("bias", dtype="float32")
A = te.placeholder((n, l), name="A")
B = te.placeholder((l, m), name="B")
C = te.extern((n, m), [A, B], lambda ins, outs: tvm.tir.call_packed("tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], False, False), name="C")
D = te.compute(C.shape, lambda i, j: C[i, j] + bias, name="D")
s = te.create_schedule(D.op)
s[D].vectorize(D.op.axis[1])
"""


@pytest.mark.parametrize("call", ["", "cblas.matmul(A, B)"])
def test_external_call_is_a_block_that_declares_its_buffers(call: str) -> None:
    lines = EXTERN.split("\n")
    lines[7] = f"C = {call}" if call else lines[7]
    found = read_te("\n".join(lines))
    block = found.schedule.index.block("C")
    assert [r.buffer.name for r in block.reads] == ["A", "B"] and [w.buffer.name for w in block.writes] == ["C"]
    assert "tvm.contrib.cblas.matmul" in to_script(found.program)
    assert found.notes[0].place.line == 8 and "cannot be verified" in found.notes[0].text
    assert [p.name for p in found.program.params] == ["var_A", "var_B", "var_D", "bias"]
    assert structural_equal(parse(to_script(found.program)).program, found.program)
    with pytest.raises(ScheduleError):
        read_te("\n".join(lines) + "s[C].compute_inline()\n")


SCAN = """\
m, n = te.var("m"), te.var("n")
X = te.placeholder((m, n), name="X")
state = te.placeholder((m, n))
init = te.compute((1, n), lambda _, i: X[0, i], name="init")
update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
result = te.scan(init, update, state, inputs=[X])
s = te.create_schedule(result.op)
xo, xi = s[update].split(update.op.axis[1], factor=32)
s[update].bind(xo, te.thread_axis("blockIdx.x"))
s[update].bind(xi, te.thread_axis("threadIdx.x"))
tvm.lower(s, [X, result])
"""


def test_scan_is_a_loop_over_time_with_its_state_as_output() -> None:
    found = read_te(SCAN, sizes={"m": 6, "n": 40})
    assert [b.name for b in found.program.buffers] == ["X", "scan"]
    x = np.arange(240, dtype="float32").reshape(6, 40)
    out = run(found.schedule.func, {"X": x})
    np.testing.assert_allclose(out["scan"], np.cumsum(x, axis=0))
    assert found.schedule.verify().status == "tested"


def test_the_time_axis_of_a_scan_stays_in_order() -> None:
    with pytest.raises(ScheduleError) as caught:
        read_te(SCAN.replace("s[update].bind(xi", "s[update].reorder(xi, update.op.axis[0])\ns[update].bind(xi"))
    assert caught.value.code == "opaque-iterator"


def test_a_scan_of_two_states_shares_one_loop() -> None:
    text = """\
X = te.placeholder((5, 8), name="X")
a, b = te.placeholder((5, 8)), te.placeholder((5, 4))
doubled = te.compute((5, 8), lambda t, i: a[t - 1, i] * 2.0, name="doubled")
starts = [te.compute((1, 8), lambda _, i: X[0, i]), te.compute((1, 4), lambda _, i: 0.0)]
steps = [te.compute((5, 8), lambda t, i: doubled[t, i] + X[t, i]), te.compute((5, 4), lambda t, i: b[t - 1, i] + a[t - 1, 0])]
p, q = te.scan(starts, steps, [a, b], inputs=[X])
s = te.create_schedule([p.op])
"""
    found = read_te(text)
    x = np.ones((5, 8), "float32")
    out = run(found.program, {"X": x})
    assert out["scan_v0"][:, 0].tolist() == [1, 3, 7, 15, 31]
    assert out["scan_v1"][:, 0].tolist() == [0, 1, 4, 11, 26]


@pytest.mark.parametrize(
    "line",
    [
        "te.scan([init], [update], [])",
        "te.scan(init, X, state)",
        "te.scan(X, update, state)",
        "te.scan(init, init, state)",
    ],
)
def test_scan_of_inconsistent_parts_is_refused_at_its_line(line: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_te(SCAN.replace("te.scan(init, update, state, inputs=[X])", line))
    assert caught.value.place is not None and caught.value.place.line == 6


def test_inputs_of_an_operation_are_its_tensors() -> None:
    found = read_te(
        TWO_STAGES + "data, packed = s[C].op.input_tensors\ns[packed].compute_inline()\ntvm.lower(s, [data, C])\n"
    )
    assert [b.name for b in found.program.buffers] == ["A", "C"]


def test_uncalled_function_is_read_with_sizes_on_request() -> None:
    text = """\
@auto_scheduler.register_workload
def scale(N, M, dtype):
    A = te.placeholder((N, M), name="A", dtype=dtype)
    return [A, te.compute((N, M), lambda i, j: A[i, j] * 2, name="B", attrs={"layout_free_placeholders": [A]})]
"""
    found = read_te(text, assumes=True)
    assert [p.name for p in found.program.buffers] == ["A", "B"] and "scale(N=a size" in found.notes[0].text
    with pytest.raises(ParseError):
        read_te(text)
    task = "task = auto_scheduler.SearchTask(func=scale, args=(4, 8, 'float16'), target='llvm')\n"
    assert [b.dtype for b in read_te(f"from tvm import auto_scheduler\n{text}{task}").program.buffers] == [
        "float16",
        "float16",
    ]


@pytest.mark.parametrize(("line", "fix"), [("f = te.hybrid.script(g)", "prim_func")])
def test_unreadable_te_is_refused_with_a_fix(line: str, fix: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_te(f"from tvm import autotvm\n{TWO_STAGES}{line}\n")
    assert fix in caught.value.refusal.fix[0]


def test_stages_in_loops_and_lists_are_scheduled() -> None:
    text = TWO_STAGES + (
        "for t in [P, C]:\n    outer, inner = s[t].split(t.op.axis[0], factor=4)\n    if t is not C:\n        s[t].unroll(inner)\n"
        "print([t.op.name for t in (P, C)], f'{n}')\n"
    )
    assert [m for m in methods(text) if m != "get_loops" and m != "get_block"] == ["split", "split", "unroll"]
