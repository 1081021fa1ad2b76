"""Index maps of a text are those that TVM makes, and workloads of TVM's tests are read."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.engine.adopt import programs_in, read_nested_program
from tilewright.engine.execute.program import run
from tilewright.engine.ir import PrimFunc, TilewrightError, build
from tilewright.engine.script import to_script
from tilewright.engine.te import read_te

HEAD = "import tvm\nfrom tvm import te, tir\nfrom tvm.tir import IndexMap\n"
MAPS = {
    "tiles": ("lambda i, j: [i // 4, j // 8, i % 4, j % 8]", (16, 16)),
    "a swap": ("lambda i, j: [j, i]", (4, 8)),
    "a fusion": ("lambda i, j: [i * 8 + j]", (4, 8)),
}


def _program(text: str, name: str = "main") -> PrimFunc:
    found = read_te(HEAD + text).program
    assert isinstance(found, PrimFunc)
    return found


def _require_equal(mine: Any, theirs: Any) -> None:
    """Require equal programs up to the integer types of regions, which TVM's TE makes int64, and TVM's mark of TE's functions."""
    shown = [
        [line for line in f.script().splitlines() if "T.reads" not in line and "noalias" not in line]
        for f in (mine, theirs)
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("name", MAPS)
def test_maps_are_those_of_tvm(name: str) -> None:
    tvm = pytest.importorskip("tvm")
    written, shape = MAPS[name]
    theirs = tvm.tirx.IndexMap.from_func(eval(written))  # the text is written above
    back = theirs.inverse(list(shape))
    text = (
        f"m = IndexMap.from_func({written})\n"
        f"back = m.inverse({list(shape)})\n"
        f"A = te.placeholder({tuple(int(n) for n in theirs.map_shape(list(shape)))}, name='A')\n"
        f"B = te.compute({shape}, lambda i, j: A[tuple(m.map_indices([i, j]))], name='B')\n"
        f"C = te.compute(m.map_shape({list(shape)}), lambda *k: B[tuple(back.map_indices(k))], name='C')\n"
        "s = te.create_prim_func([A, C])\n"
    )
    mine = _program(text)
    new_shape = [int(n) for n in theirs.map_shape(list(shape))]
    a = tvm.te.placeholder(new_shape, name="A")
    b = tvm.te.compute(shape, lambda i, j: a[tuple(theirs.map_indices([i, j]))], name="B")
    c = tvm.te.compute(new_shape, lambda *k: b[tuple(back.map_indices(list(k)))], name="C")
    expected = tvm.te.create_prim_func([a, c])
    found = tvm.script.from_source(to_script(mine))
    _require_equal(found.with_attr("global_symbol", "main"), expected)


def test_inverse_has_the_values_of_tvm() -> None:
    """The terms of a sum may stand in another order."""
    tvm = pytest.importorskip("tvm")
    written = "lambda i, j: [(i * 2 + j // 8) % 16, (i * 2 + j // 8) // 16 * 8 + j % 8]"
    theirs = tvm.tirx.IndexMap.from_func(eval(written), index_dtype="int32").inverse([16, 16])
    mine = _program(
        f"back = IndexMap.from_func({written}, index_dtype='int32').inverse([16, 16])\n"
        "A = te.placeholder((16, 16), name='A', dtype='int32')\n"
        "B = te.compute((16, 16), lambda i, j: A[tuple(back.map_indices([i, j]))], name='B')\n"
        "s = te.create_prim_func([A, B])\n"
    )
    a = np.arange(256, dtype="int32").reshape(16, 16)
    b = run(mine, {"A": a, "B": np.zeros((16, 16), "int32")})["B"]
    points = [tuple(int(n) for n in theirs.map_indices([i, j])) for i in range(16) for j in range(16)]
    assert b.ravel().tolist() == [a[point] for point in points]


def test_map_without_inverse_is_refused() -> None:
    with pytest.raises(TilewrightError, match="no inverse"):
        _program("m = IndexMap.from_func(lambda i: [i // 2])\nn = m.inverse([8]).map_shape([4])[0]\n"
                 "A = te.placeholder((n,), name='A')\nB = te.compute((n,), lambda i: A[i] + 1.0, name='B')\n"
                 "s = te.create_prim_func([A, B])\n")  # fmt: skip


def test_workload_of_tests_is_read() -> None:
    pytest.importorskip("tvm")
    found = _program(
        "from tvm.meta_schedule.testing import te_workload\n"
        "s = te.create_prim_func(te_workload.matmul(n=32, m=16, k=8))\n"
    )
    assert [tuple(map(build.int_value, b.shape)) for b in found.buffers] == [(32, 8), (8, 16), (32, 16)]


def test_helper_of_the_library_gives_numbers() -> None:
    pytest.importorskip("tvm")
    found = _program(
        "from tvm import topi\nfrom tvm.topi.nn.utils import get_pad_tuple\n"
        "top, left, down, right = get_pad_tuple((1, 2), (3, 3))\n"
        "A = te.placeholder((8, 8), name='A')\n"
        "B = topi.nn.pad(A, (top, left), (down, right))\ns = te.create_prim_func([A, B])\n"
    )
    assert [*map(build.int_value, found.buffers[1].shape)] == [10, 12]


FUSED = """
from typing import Any
from tvm import tir
from tvm.script import tir as T
import math

def frequency(scaling):
    if "kind" not in scaling:
        return plain
    if scaling["kind"] == "double":
        return double
    raise ValueError(scaling)

def plain(s, d, theta):
    x = tir.Var("x", "float32")
    return tir.cos(x), {x: s / tir.power(theta, d * 2 % 8 / tir.const(8, "float32"))}

def double(s, d, theta):
    x = tir.Var("x", "float32")
    return tir.cos(x), {x: s * math.log2(math.exp(1))}

def swapped(a, b):
    return b, a

def rotated(A, s, at, scaling):
    d = at[-1]
    value, known = frequency(scaling)(s, d, 10000)
    found = value * A[at[:-1] + (d,)]
    for var, bound in known.items():
        found = tir.Let(var, bound, found)
    return found

def make(n, scaling: dict[str, Any]):
    @T.prim_func
    def rope(A: T.Buffer((4, 8), "float32"), b: T.handle):
        B = T.match_buffer(b, swapped(8, n), "float32")
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                at: T.let[T.int32()] = vj
                B[vi, vj] = rotated(A, T.Cast("float32", vi), (vi, at), scaling)
    return rope
"""


@pytest.mark.parametrize("scaling", ["{}", '{"kind": "double"}'])
def test_dict_is_given_as_it_is_written(scaling: str, tmp_path: Path) -> None:
    tvm: Any = pytest.importorskip("tvm")
    program = programs_in(FUSED, "rope.py", None).programs[0]
    assert "scaling (dict)" in program.label
    mine = read_nested_program(program, "rope.py", {"n": 4, "scaling": scaling}, None)[0].program
    names: dict[str, Any] = {}
    text = (
        FUSED.replace("T.block", "T.sblock")
        .replace("T.prim_func", "T.prim_func(s_tir=True)")
        .replace("tvm.script import tir", "tvm.script import tirx")
    )
    path = tmp_path / "rope_of_tvm.py"
    path.write_text(text.replace("from tvm import tir\n", "from tvm import tirx as tir\n"))
    exec(compile(path.read_text(), str(path), "exec"), names)  # TVM reads the source from the file
    theirs = names["make"](4, ast.literal_eval(scaling))
    found = tvm.script.from_source(to_script(mine), check_well_formed=False)
    _require_equal(found.with_attr("global_symbol", "rope"), theirs)
