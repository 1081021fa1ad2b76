"""Handwritten schedule code: nested calls, loops, functions, printed traces, and code that builds or measures."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tilewright.engine.adopt import Snippet, read_as_far_as_possible, read_pasted
from tilewright.engine.ir import PrimFunc, TilewrightError

MATMUL = """\
import tvm
from tvm import tir
from tvm.script import tir as T

N = 64


@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (N, N), "float32")
    B = T.match_buffer(b, (N, N), "float32")
    C = T.match_buffer(c, (N, N), "float32")
    for i, j, k in T.grid(N, N, N):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


"""
MAKE = "sch = tir.Schedule(matmul)\n"

CODES = {
    "nested calls": (
        MAKE + 'i, j, k = sch.get_loops(sch.get_block("C"))\nsch.vectorize(sch.split(j, [None, 16])[1])\n',
        "split vectorize",
    ),
    "the last loop of a call": (MAKE + 'sch.unroll(sch.get_loops(sch.get_block("C"))[-1])\n', "unroll"),
    "a starred target": (MAKE + '*rest, k = sch.get_loops(sch.get_block("C"))\nsch.fuse(*rest)\n', "fuse"),
    "a slice": (MAKE + 'sch.reorder(*sch.get_loops("C")[::-1])\n', "reorder"),
    "a comprehension": (
        MAKE + "tiles = [sch.split(l, [None, f]) for l, f in zip(sch.get_loops('C'), [32, 32, 4])]\n"
        "sch.reorder(*[t[0] for t in tiles], *[t[1] for t in tiles])\n",
        "split split split reorder",
    ),
    "a loop over a range": (
        MAKE + 'block = sch.get_block("C")\nfor index in range(2):\n    copy = sch.cache_read(block, index, "shared")\n'
        "    sch.compute_at(copy, sch.get_loops(block)[0])\n",
        "cache_read compute_at cache_read compute_at",
    ),
    "loops and threads in pairs": (
        MAKE + "i, j, k = sch.get_loops(block='C')\n"
        'for loop, (thread, size) in zip([i, j], [("threadIdx.y", 8), ("threadIdx.x", 8)]):\n'
        "    outer, inner = sch.split(loop, factors=[None, size])\n    sch.bind(inner, thread)\n",
        "split bind split bind",
    ),
    "a list that grows": (
        MAKE + "inner = []\nfor n, loop in enumerate(sch.get_loops('C')[:2]):\n    if n < 2:\n        inner.append(sch.split(loop, [None, 8])[1])\n"
        "inner += [sch.get_loops('C')[-1]]\nsch.reorder(*inner)\n",
        "split split reorder",
    ),
    "a condition on an extent": (
        MAKE + "for loop in sch.get_loops('C'):\n    extent = int(sch.get(loop).extent)\n    if extent % 32 == 0 and extent > 32:\n"
        "        sch.split(loop, factors=[extent // 32, 32])\n",
        "split split split",
    ),
    "a function with defaults": (
        'def tile(sch, block, ti=16, *, tj=16):\n    """Two levels."""\n    i, j, k = sch.get_loops(block)\n'
        "    io, ii = sch.split(i, [None, ti])\n    jo, ji = sch.split(j, [None, tj])\n    sch.reorder(io, jo, k, ii, ji)\n    return io, ji\n\n"
        'sch = tvm.tir.Schedule(matmul, debug_mask="all")\nio, ji = tile(sch, sch.get_block("C"), ti=8)\nsch.vectorize(ji)\n',
        "split split reorder vectorize",
    ),
    "a printed trace": (
        'def apply_trace(sch: tir.Schedule) -> None:\n  b0 = sch.get_block(name="C", func_name="main")\n  l1, l2, l3 = sch.get_loops(block=b0)\n'
        "  v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[8, 8])\n"
        "  l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True)\n  sch.enter_postproc()\n",
        "sample_perfect_tile split enter_postproc",
    ),
    "a main function": (
        'def main():\n    sch = tir.Schedule(matmul)\n    sch.unroll(sch.get_loops("C")[0])\n\n\nif __name__ == "__main__":\n    main()\n',
        "unroll",
    ),
    "a function that nothing calls": (
        'def schedule():\n    sch = tir.Schedule(matmul)\n    sch.unroll(sch.get_loops("C")[0])\n    return sch\n',
        "unroll",
    ),
    "a schedule that a function returns": (
        'def schedule(func, factor):\n    sch = tir.Schedule(func)\n    sch.split(sch.get_loops("C")[0], factors=[None, factor])\n    return sch\n\n'
        "sch = schedule(matmul, 8)\n",
        "split",
    ),
    "a module around the function": (
        'sch = tvm.tir.Schedule(tvm.IRModule({"main": matmul}))\nsch.unroll(sch.get_loops("C")[0])\nsch.show()\n',
        "unroll",
    ),
    "an attribute on the function": (
        'mod = tvm.IRModule.from_expr(matmul.with_attr("global_symbol", "main"))\nsch = tvm.tir.Schedule(mod)\nsch.unroll(sch.get_loops("C")[0])\n',
        "unroll",
    ),
    "a module that Python makes": (
        'sch = tir.Schedule(pipeline(model)["main"])\nsch.unroll(sch.get_loops("C")[0])\n',
        "unroll",
    ),
    "a layout with a constant": (
        'tile = 16\nsch = tir.Schedule(matmul)\nsch.transform_layout("C", ("read", 0), lambda i, j: [i // tile, j // tile, i % tile, j % tile])\n',
        "transform_layout",
    ),
    "a dict of tile sizes": (
        'config = {"i": 32, "j": 16}\nsch = tir.Schedule(matmul)\ni, j, k = sch.get_loops("C")\nsch.split(i, [None, config["i"]])\n'
        'sch.annotate(j, "pragma_x", {"a": 1})\n',
        "split annotate",
    ),
    "tile sizes in a class": (
        "class Tile:\n    i = 16\n    j: int = 2 * i\n\n" + MAKE + "i, j, k = sch.get_loops('C')\nsch.split(i, [None, Tile.i])\nsch.split(j, [None, Tile().j])\n",
        "split split",
    ),
    "a name made of parts": (
        MAKE + 'name = "C"\nsch.unroll(sch.get_loops(sch.get_block(f"{name}"))[0])\nsch.cache_write("C", 0, "local" + "")\n',
        "unroll cache_write",
    ),
    "an imported intrinsic": (
        "from tvm.tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN\n" + MAKE
        + "sch.tensorize(sch.get_loops('C')[1], VNNI_DOT_16x4_INTRIN)\n",
        "blockize",
    ),
    "an intrinsic of all that a module has": (
        "from tvm.tir.tensor_intrin.cuda import *\n" + MAKE
        + "sch.annotate('C', 'auto_tensorize', WMMA_LOAD_16x16x16_F16_A_DYN_INTRIN)\n",
        "annotate",
    ),
    "parts of a block": (
        MAKE + "block = sch.get(sch.get_block('C'))\nfor iterator, loop in zip(block.iter_vars, sch.get_loops('C')):\n"
        "    if iterator.iter_type == tvm.tir.IterVar.DataPar:\n        sch.unroll(loop)\n"
        "sch.annotate('C', 'reads', len(block.reads))\nsch.annotate('C', 'type', block.writes[0].buffer.dtype)\n",
        "unroll unroll annotate annotate",
    ),
    "code that builds and measures": (
        "import numpy as np\nimport timeit\na = np.random.rand(N, N).astype('float32')\n" + MAKE
        + 'sch.unroll(sch.get_loops("C")[0])\nwith tvm.target.Target("llvm"):\n    lib = tvm.build(sch.mod)\nif lib is not None:\n    lib(a)\n'
        "seconds = timeit.timeit(lambda: lib(a), number=3)\nfor name in lib.names:\n    print(name, seconds * 1e3)\nassert seconds > 0\n",
        "unroll",
    ),
}  # fmt: skip


def calls(found: Snippet) -> str:
    return " ".join(s.method for s in found.schedule.trace.steps if not s.method.startswith("get_"))


@pytest.mark.parametrize("name", CODES)
def test_handwritten_schedule_code_is_applied(name: str) -> None:
    code, expected = CODES[name]
    found = read_pasted(MATMUL + code)
    assert calls(found) == expected
    assert len(found.sources) == len(found.schedule.trace.steps)
    assert found.schedule.verify().status == "tested"


def test_each_call_of_a_loop_has_its_source_line() -> None:
    found = read_pasted(MATMUL + CODES["a loop over a range"][0])
    first = MATMUL.count("\n") + 1
    assert [place.line - first for place in found.sources] == [1, 3, 4, 4, 3, 4, 4]


def test_code_that_builds_or_measures_is_noted_with_its_lines() -> None:
    found = read_pasted(MATMUL + CODES["code that builds and measures"][0])
    assert [note.place.line for note in found.notes] == [23, 27, 28, 30, 31]
    assert all("passed over" in note.text for note in found.notes)


def test_schedule_belongs_to_the_function_that_it_names() -> None:
    second = MATMUL[MATMUL.index("@T") :].replace("matmul(", "second(").replace('"C"', '"D"').replace("0.0", "1.0")
    found = read_pasted(MATMUL + second + 'sch = tir.Schedule(second)\nsch.unroll(sch.get_loops("D")[0])\n')
    assert found.schedule.func.name == "second"
    assert isinstance(found.program, PrimFunc) and found.program.name == "second"


REFUSED = {
    "a loop that fails halfway": ("for loop in sch.get_loops('C'):\n    sch.parallel(loop)\n", "reduction-in-parallel"),
    "a function of another module": (
        "from tvm import meta_schedule as ms\nms.tune_tir(sch, target='llvm')\n",
        "unsupported",
    ),
    "a function that is not there": ("tile(sch, 16)\n", "unknown-name"),
    "a condition that is not known": ("if tvm.cuda(0).exist:\n    sch.unroll(sch.get_loops('C')[0])\n", "unsupported"),
    "an endless loop": ("while True:\n    sch.unroll(sch.get_loops('C')[0])\n", "too-large"),
    "endless calls": ("def f(n):\n    return f(n + 1)\nf(0)\n", "too-deep"),
    "a huge range": ("for n in range(10**9):\n    sch.get_loops('C')\n", "too-large"),
    "many calls": ("for n in range(100):\n    for m in range(100):\n        sch.get_loops('C')\n", "too-large"),
    "another schedule": ("other = tir.Schedule(matmul)\n", "unsupported"),
    "no such method": ("sch.tile_it('C')\n", "unsupported-instruction"),
    "a number as a loop": ("sch.unroll(3)\n", "bad-arguments"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_reading_stops_before_an_unreadable_statement(name: str) -> None:
    code, expected = REFUSED[name]
    found = read_as_far_as_possible(MATMUL + MAKE + 'sch.split(sch.get_loops("C")[0], [None, 8])\n' + code)
    assert calls(found) == "split" and found.stopped is not None
    refusal = found.stopped.refusal
    assert refusal.code == expected
    assert refusal.place is not None and refusal.place.line > MATMUL.count("\n") + 2
    assert found.rest[0].line > MATMUL.count("\n") + 2


def test_method_of_a_missing_schedule_names_the_missing_line() -> None:
    with pytest.raises(TilewrightError) as caught:
        read_pasted(MATMUL + "sch.unroll(sch.get_loops('C')[0])\n")
    assert caught.value.code == "no-schedule-line" and "Schedule(matmul)" in caught.value.refusal.expected


TE = """\
import tvm
from tvm import te, tir

def matmul(n):
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C]

"""


@pytest.mark.parametrize(
    "make",
    [
        "sch = tir.Schedule(te.create_prim_func(matmul(64)))\n",
        "func = te.create_prim_func(matmul(64))\nfunc = func.with_attr('global_symbol', 'main')\nsch = tir.Schedule(tvm.IRModule({'main': func}))\n",
        "A, B, C = matmul(64)\nmod = tvm.IRModule.from_expr(te.create_prim_func([A, B, C]))\nmod.show()\nsch = tir.Schedule(mod['main'])\n",
    ],
)
def test_te_computation_may_be_scheduled_as_tensorir(make: str) -> None:
    found = read_pasted(
        TE + make + "for loop in sch.get_loops(sch.get_block('C'))[:2]:\n    sch.split(loop, [None, 8])\n"
    )
    assert calls(found) == "split split"
    assert found.schedule.verify().status == "tested"


def test_decision_that_the_text_leaves_open_is_drawn_with_a_note() -> None:
    text = (
        "import tvm\nfrom tvm.script import tir as T\n\n@T.prim_func\ndef f(A: T.Buffer((64,), 'float32')):\n"
        "    for i in range(64):\n        with T.block('A'):\n            vi = T.axis.spatial(64, i)\n            A[vi] = T.float32(1)\n\n"
        "sch = tvm.tir.Schedule(f)\n(i,) = sch.get_loops('A')\nsizes = sch.sample_perfect_tile(i, n=2)\nsch.split(i, factors=sizes)\n"
    )
    found, again = read_pasted(text), read_pasted(text)
    steps = [step.method for step in found.schedule.trace.steps]
    assert steps == ["get_loops", "sample_perfect_tile", "split"]
    assert any("draws at random" in note.text for note in found.notes)
    assert [s.arguments for s in found.schedule.trace.steps][2][1:] == [
        s.arguments for s in again.schedule.trace.steps
    ][2][1:]


def test_imported_intrinsics_have_the_names_of_tvm() -> None:
    intrinsics = (
        "from tvm.tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN\nfrom tvm.tir.tensor_intrin.cuda import *\n"
    )
    names = {
        "VNNI_DOT_16x4_INTRIN": "dot_16x4_vnni",
        "WMMA_LOAD_16x16x16_F16_A_DYN_INTRIN": "wmma_load_16x16x16_f16_a_shared_dyn",
        "WMMA_FILL_16x16x16_F32_INTRIN": "wmma_fill_16x16x16_f32",
        "LDMATRIX_f16_A_INTRIN": "mma_ldmatrix_f16_a",
        "MMA_store_16x16_f32_global_INTRIN": "mma_store_16x16_f32_global_",
    }
    for constant, name in names.items():
        found = read_pasted(f"{intrinsics}{MATMUL}{MAKE}sch.annotate('C', 'auto_tensorize', {constant})\n")
        assert found.schedule.trace.steps[-1].argument("ann_val") == name


def test_decision_is_a_number_that_the_text_can_ask_for() -> None:
    text = MATMUL + (
        "sch = tvm.tir.Schedule(matmul)\ni = sch.get_loops('C')[0]\n"
        "a, b = sch.sample_perfect_tile(i, n=2, max_innermost_factor=16, decision=[8, 8])\n"
        "outer, inner = sch.split(i, factors=[a, b])\nif sch.get(b) == 8:\n    sch.unroll(inner)\n"
    )
    assert calls(read_pasted(text)).endswith("split unroll")
    with pytest.raises(TilewrightError, match="not a loop or a block"):
        read_pasted(text.replace("sch.get(b)", "sch.get('b')"))
