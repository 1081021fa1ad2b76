"""The program of TE text equals that of TVM's te.create_prim_func for the same text; exported schedules run on TVM."""

# ruff: noqa: E501

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from support.programs.te_sources import (
    BOX_BLUR_SCHEDULE,
    GPU_MATMUL,
    MATMUL_VTCM,
    TRANSPOSED,
    TRANSPOSED_STORAGE,
    VTA_MATMUL,
)
from support.tvm.oracle import assert_same_program

from tilewright.engine.export import to_tvm_python
from tilewright.engine.ir import structural_equal
from tilewright.engine.script import ParseError, to_script
from tilewright.engine.script import parse as parse_script
from tilewright.engine.te import parse, read_te

tvm = pytest.importorskip("tvm")

pytestmark = pytest.mark.tvm

CONV2D = """
size, channels, kernel = 14, 4, 3
A = te.placeholder((2, channels, size, size), name="A")
W = te.placeholder((channels, kernel, kernel, 8), name="W")
Apad = te.compute((2, channels, size + 2, size + 2), lambda nn, cc, yy, xx: tvm.tirx.if_then_else(
    tvm.tirx.all(yy >= 1, yy - 1 < size, xx >= 1, xx - 1 < size), A[nn, cc, yy - 1, xx - 1], 0.0), name="Apad")
rc = te.reduce_axis((0, channels), name="rc")
ry = te.reduce_axis((0, kernel), name="ry")
rx = te.reduce_axis((0, kernel), name="rx")
B = te.compute((2, 8, size, size), lambda nn, ff, yy, xx: te.sum(
    Apad[nn, rc, yy + ry, xx + rx] * W[rc, ry, rx, ff], axis=[rc, ry, rx]), name="B")
f = te.create_prim_func([A, W, B])
"""

PROGRAMS = {
    "conv2d": CONV2D,
    "symbolic matmul": MATMUL_VTCM.partition("#########")[0] + "f = te.create_prim_func([A, B, C])\n",
    "several outputs": """
n = te.var("n")
m = te.var("m")
A0 = te.placeholder((m, n), name="A0")
A1 = te.placeholder((m, n), name="A1")
B0, B1 = te.compute((m, n), lambda i, j: (A0[i, j] + 2, A1[i, j] * 3), name="B")
f = te.create_prim_func([A0, A1, B0, B1])
""",
    "argmax": """
def f_combine(x, y):
    lhs = tvm.tirx.Select((x[1] >= y[1]), x[0], y[0])
    rhs = tvm.tirx.Select((x[1] >= y[1]), x[1], y[1])
    return lhs, rhs

def f_identity(dtype0, dtype1):
    return tvm.tirx.const(-1, dtype0), te.min_value(dtype1)

argmax = te.comm_reducer(f_combine, f_identity, name="argmax")
idx = te.placeholder((12, 7), name="idx", dtype="int32")
val = te.placeholder((12, 7), name="val", dtype="float32")
k = te.reduce_axis((0, 7), "k")
max_idx, max_val = te.compute((12,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="argmax")
f = te.create_prim_func([idx, val, max_idx, max_val])
""",
    "staged copies": """
A = te.placeholder((1, 16, 1, 16), name="A", dtype="int8")
A_buf = te.compute((1, 16, 1, 16), lambda *i: A(*i), "A_buf")
C = te.compute((1, 16, 1, 16), lambda *i: A_buf(*i).astype("int32"), name="C")
f = te.create_prim_func([A, C])
""",
    "softmax": """
n, m = 8, 32
A = te.placeholder((n, m), name="A")
k = te.reduce_axis((0, m), name="k")
mx = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="mx")
e = te.compute((n, m), lambda i, j: te.exp(A[i, j] - mx[i]), name="e")
k2 = te.reduce_axis((0, m), name="k")
s = te.compute((n,), lambda i: te.sum(e[i, k2], axis=k2), name="s")
o = te.compute((n, m), lambda i, j: e[i, j] / s[i], name="o")
f = te.create_prim_func([A, o])
""",
    "one name twice, a number out, other orders": """
A = te.placeholder((16, 16), name="A")
B = te.compute((16, 16), lambda x, y: A[x, y] * 2, name="main")
C = te.compute((16, 16), lambda x, y: B[x][y] + 1, name="main")
k1 = te.reduce_axis((1, 15), "k1")
S = te.compute((), lambda: te.min(C[k1, k1], axis=k1))
f = te.create_prim_func([C, A, S])
""",
    "gather": """
A = te.placeholder((10,), name="A")
B = te.placeholder((10,), name="B", dtype="int32")
C = te.compute((10,), lambda i: A[B[i]])
f = te.create_prim_func([C, A, B])
""",
    "narrow integers": """
A = te.placeholder((8, 8, 8), name="A", dtype="uint8")
B = te.compute((8, 8, 8), lambda n, *i: A(n, *i) & 15, name="B.x")
C = te.compute((8, 8, 8), lambda i, j, k: (B[i, j, k] << 2) + (B[7 - i, j, k] >> 1) - i * j + te.max(k - 3, 0), name="C")
D = te.compute((8, 8), lambda i, j: te.power(C[i, j, 0].astype("float32"), 2.0)
    + te.floor(tvm.tirx.abs(C[j, i, i].astype("float32"))), name="D")
f = te.create_prim_func([A, D])
""",
    "half floats": """
n = te.var("n")
A = te.placeholder((n, 4), name="A", dtype="float16")
B = te.compute((n, 4), lambda i, j: te.if_then_else(i < 3, A[i, j] * 2.0, te.const(1, "float16")) + tvm.tirx.sigmoid(A[i, j]), name="B")
k = te.reduce_axis((0, 4))
P = te.compute((n,), lambda i: te.max(B[i, k], axis=k))
Q = te.compute((n * 4,), lambda i: P[i // 4] + B[i // 4, i % 4])
f = te.create_prim_func([A, B, Q])
""",
    "a number as parameter": """
n = te.var("n")
a = te.var("a", "float32")
X = te.placeholder((n,), name="X")
Y = te.placeholder((n,), name="Y")
Z = te.compute((n,), lambda i: a * X[i] + Y[i], name="Z")
f = te.create_prim_func([a, X, Y, Z])
""",
    "blur of today": """
rows, cols = te.var("rows"), te.var("cols")
image = te.placeholder((rows, cols), dtype="float32", name="image")
clamp = lambda v, lo, hi: tvm.tirx.max(tvm.tirx.min(v, hi), lo)
padded = te.compute((rows + 2, cols), lambda y, x: image[clamp(y - 1, 0, rows - 1), x].astype("uint16"), name="padded")
blur = te.compute((rows, cols), lambda y, x: (padded[y, x] + padded[y + 1, x] + padded[y + 2, x]) // 3, name="blur")
f = te.create_prim_func([image, blur])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_that_of_tvm(name: str) -> None:
    names: dict[str, Any] = {"tvm": tvm, "te": tvm.te}
    exec(PROGRAMS[name], names)  # the oracle runs the text; Tilewright reads it
    theirs = tvm.ir.IRModule({"main": names["f"]})
    assert_same_program(to_script(parse(PROGRAMS[name]).program), theirs)


def test_most_programs_are_equal_to_the_last_node() -> None:
    """No simplification between: only regions and clamps are written in another order."""
    same = 0
    for text in PROGRAMS.values():
        names: dict[str, Any] = {"tvm": tvm, "te": tvm.te}
        exec(text, names)
        same += structural_equal(parse(text).program, parse_script(names["f"].script()).program)
    assert same >= 10


SCHEDULES = {
    "transposed": TRANSPOSED,
    "transposed storage": TRANSPOSED_STORAGE,
    "symbolic matmul": MATMUL_VTCM,
    "blur": BOX_BLUR_SCHEDULE,
    "gpu matmul": GPU_MATMUL,
    "vta": VTA_MATMUL,
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_calls_are_accepted_by_tvm_with_the_same_result(name: str, tmp_path: Path) -> None:
    found = read_te(SCHEDULES[name])
    file = tmp_path / "exported.py"  # TVM needs the source of decorated functions
    file.write_text(to_tvm_python(found.schedule, found.names), encoding="utf-8")
    theirs = runpy.run_path(str(file))["sch"].mod
    assert_same_program(to_script(found.schedule.mod), theirs)


TOPI = {
    "an operator": ("A = te.placeholder((4, 8), name='A')\nB = topi.nn.relu(A)\n", "topi.nn.relu(p(4, 8))"),
    "a reduction of a symbolic size": (
        "n = te.var('n')\nA = te.placeholder((n, 8), name='A')\nB = topi.sum(A, axis=1)\n",
        "",
    ),
    "several stages": (
        "A = te.placeholder((4, 8), name='A')\nB = topi.nn.softmax(A, axis=-1)\n",
        "topi.nn.softmax(p(4, 8))",
    ),
    "operators on tensors": (
        "A = te.placeholder((4, 8), name='A')\nb = te.placeholder((8,), name='b')\nB = (A + b) * A / 2.0\n",
        "",
    ),
    "a schedule that is gone": (
        "A = te.placeholder((4, 8), name='A')\nB = topi.nn.relu(A)\nwith tvm.target.Target('llvm'):\n    s = topi.generic.schedule_injective([B])\n",
        "",
    ),
}


@pytest.mark.parametrize("name", TOPI)
def test_operator_of_topi_is_read_by_its_definition_in_tvm(name: str) -> None:
    text, theirs = TOPI[name]
    found = read_te(f"import tvm\nfrom tvm import te, topi\n{text}")
    assert found.schedule.check().status in ("proved", "tested")
    assert [note.text.partition(" is gone")[0] for note in found.notes] == (
        ["topi.generic.schedule_injective"] if "gone" in name else []
    )
    if theirs:
        given = tvm.te.placeholder((4, 8), "float32", "A")
        result = eval(theirs, {"topi": tvm.topi, "p": lambda *shape: given})
        assert_same_program(
            to_script(found.program), tvm.ir.IRModule({"main": tvm.te.create_prim_func([given, result])})
        )


def test_an_operator_can_be_scheduled_by_its_axes() -> None:
    text = """
from tvm import te, topi
A = te.placeholder((4, 6, 8), name="A")
B = topi.sum(A, axis=2)
C = topi.nn.relu(B)
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[1], factor=3)
s[B].compute_at(s[C], outer)
s[B].unroll(B.op.reduce_axis[0])
"""
    found = read_te(text)
    assert [step.method for step in found.schedule.trace.steps if step.changes] == ["split", "compute_at", "unroll"]
    assert found.schedule.verify().status == "tested"


@pytest.mark.parametrize(
    "call",
    ["topi.nn.relu_(A)", "topi.nn.relu(A, A, A)", "topi.te.placeholder((4,))", "topi.nn.relu(te)", "topi._ffi_api(A)"],
)
def test_call_that_is_no_operator_is_refused_with_its_line(call: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_te(f"from tvm import te, topi\nA = te.placeholder((4, 8), name='A')\nB = {call}\n")
    assert caught.value.place is not None and caught.value.place.line == 3


@pytest.mark.parametrize("name", ["utils.simplify_once", "nobody"])
def test_function_of_topi_that_is_no_operator_is_not_called(name: str) -> None:
    text = f"from tvm import te, topi\nA = te.placeholder((4, 8), name='A')\nB = topi.{name}(A)\n"
    with pytest.raises(ParseError) as refused:
        read_te(text)
    assert refused.value.code == "unsupported" and f"has no topi.{name}" in refused.value.refusal.message


def test_reference_on_arrays_of_topi_is_other_code() -> None:
    text = "from tvm import te, topi\nA = te.placeholder((4, 8), name='A')\nB = topi.nn.relu(A)\nwanted = topi.testing.strided_slice_python(A)\n"
    assert read_te(text).schedule.verify().status in ("tested", "proved")
