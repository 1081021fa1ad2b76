"""Posted TE text: its computation, and the translation of its schedule."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.te_sources import (
    BOX_BLUR,
    BOX_BLUR_SCHEDULE,
    GPU_MATMUL,
    MATMUL_VTCM,
    STAGED_COPIES,
    TRANSPOSED,
    TRANSPOSED_STORAGE,
    VTA_MATMUL,
)

from tilewright.engine.execute import random_inputs, run, verify
from tilewright.engine.ir import PrimFunc, Var, structural_equal
from tilewright.engine.lower import lower
from tilewright.engine.script import ParseError, to_script
from tilewright.engine.script import parse as parse_script
from tilewright.engine.te import is_te, parse, read_te


def program(text: str) -> PrimFunc:
    found = parse(text).program
    assert isinstance(found, PrimFunc)
    return found


def test_symbolic_matmul_is_staged_as_in_the_post() -> None:
    schedule = read_te(MATMUL_VTCM).schedule
    assert [loop.name for loop in schedule.get_loops("A_local.vtcm")][:5] == [
        "m_outer",
        "n_outer",
        "mc_outer",
        "nc_outer",
        "ko",
    ]
    assert [loop.name for loop in schedule.get_loops("C")][-5:] == ["ko", "mc_inner", "ki", "no", "ni"]
    text = to_script(schedule.mod)
    assert 'A_local_vtcm = T.sblock_alloc_buffer((M, K), scope="local.vtcm")' in text
    assert 'scope="local.vtcm_Block_2"' in text
    assert "for ni in T.vectorized(16):" in text


def test_the_matmul_with_sizes_multiplies() -> None:
    found = read_te(MATMUL_VTCM, sizes={"M": 70, "K": 130, "N": 65})
    inputs = random_inputs(found.program)
    result = run(found.schedule.func, inputs)["C"]
    np.testing.assert_allclose(result, inputs["A"] @ inputs["B"], rtol=1e-4)


def test_posted_blur_runs_as_in_its_old_dialect() -> None:
    text = BOX_BLUR_SCHEDULE
    for name, size in (("rows", 6), ("cols", 7), ("chans", 3)):
        text = text.replace(f'{name} = tvm.var("{name}")', f"{name} = {size}")
    found = read_te(text)
    image = np.random.default_rng(0).integers(0, 255, (6, 7, 3)).astype("float32")
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge").astype("uint16").astype("int64")
    x_blur = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) // 3
    expected = ((x_blur[:-2] + x_blur[1:-1] + x_blur[2:]) // 3).astype("uint8")
    for func in (found.program, found.schedule.func):
        result = run(func, {"input": image, "box_blur": np.zeros((6, 7, 3), "uint8")})["box_blur"]
        np.testing.assert_array_equal(result, expected)


def test_x_blur_computes_three_rows_per_pixel() -> None:
    found = read_te(BOX_BLUR_SCHEDULE)
    assert "for ax0, ax1, ax2 in T.grid(3, 1, chans)" in to_script(found.schedule.mod)
    assert [step.method for step in found.schedule.trace.steps if step.changes] == [
        "compute_inline",
        "compute_inline",
        "compute_at",
    ]


def test_refused_build_names_its_line_and_the_error_in_it() -> None:
    """The strides of the post count three channels, its shape `chans`."""
    with pytest.raises(ParseError) as caught:
        read_te(BOX_BLUR)
    refusal = caught.value.refusal
    assert refusal.place is not None
    assert BOX_BLUR.splitlines()[refusal.place.line - 1].strip().startswith(", binds={x_blur: tvm.decl_buffer(")
    assert refusal.expected == "(rows + 2) * chans for one of the axes x; found (rows + 2) * 3"


def test_refused_build_with_three_channels_stores_y_innermost() -> None:
    text = BOX_BLUR.replace('chans = tvm.var("chans")', "chans = 3")
    found = read_te(text)
    assert 'x_blur = T.sblock_alloc_buffer((cols, 3, rows + 2), "int32", scope="local")' in to_script(
        found.schedule.mod
    )
    numbers = text.replace('tvm.var("rows")', "6").replace('tvm.var("cols")', "7")
    assert read_te(numbers).schedule.verify().status == "tested"


@pytest.mark.parametrize(("text", "order"), [(TRANSPOSED, ["j", "i"]), (TRANSPOSED_STORAGE, ["i", "j"])])
def test_cache_after_a_reorder_keeps_its_order(text: str, order: list[str]) -> None:
    """As the outputs in the post: B.global is [20, 10] in both, and computed j first, or i first."""
    found = read_te(text)
    assert "B_global = T.sblock_alloc_buffer((20, 10))" in to_script(found.schedule.mod)
    assert [loop.name for loop in found.schedule.get_loops("B")] == order
    assert found.schedule.verify().status == "tested"


def test_missing_names_in_the_quoted_vta_lines_are_reported() -> None:
    with pytest.raises(ParseError, match="the name o is not defined here") as caught:
        read_te(STAGED_COPIES)
    assert 'o = te.var("o")' in caught.value.refusal.fix
    assert read_te("o, n = 1, 4\nenv = vta.get_env()\n" + STAGED_COPIES).program.buffers[0].dtype == "int8"


def test_copies_of_the_vta_tutorial_are_under_ko() -> None:
    schedule = read_te(VTA_MATMUL).schedule
    assert schedule.get_loops("A_buf")[0].name == "ko"
    assert 'scope="local.inp_buffer"' in to_script(schedule.mod)
    assert schedule.verify().status == "tested"


@pytest.mark.slow
def test_all_threads_copy_with_the_same_result() -> None:
    found = read_te(GPU_MATMUL)
    assert found.schedule.verify().status == "tested"  # at once: each thread has its own buffers
    bindings = [s for s in found.schedule.trace.steps if s.method == "bind"]
    assert len(bindings) == 6
    assert found.names["AA"] == "A_shared"


def test_variables_of_the_text_are_kept() -> None:
    names = read_te(MATMUL_VTCM).names
    assert names["AL"] == "A_local.vtcm" and names["CC"] == "C"
    assert isinstance(names["ko"], Var) and names["ko"].name == "ko"


def test_each_step_has_its_line() -> None:
    found = read_te(MATMUL_VTCM)
    lines = MATMUL_VTCM.splitlines()
    for step, place in zip(found.schedule.trace.steps, found.sources, strict=True):
        if step.method == "vectorize":
            assert lines[place.line - 1] == "s[CC].vectorize(ni)"


def test_each_thread_of_a_factored_reduction_sums_its_part() -> None:
    text = """
n = 40
A = te.placeholder((n, 128), name="A")
k = te.reduce_axis((0, 128), "k")
B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
BF = s.rfactor(B, ki)
xo, xi = s[B].split(s[B].op.axis[0], factor=32)
s[B].bind(xo, te.thread_axis("blockIdx.x"))
s[B].bind(xi, te.thread_axis("threadIdx.y"))
tx = te.thread_axis("threadIdx.x")
s[B].bind(s[B].op.reduce_axis[0], tx)
s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
s[B].set_store_predicate(tx.var.equal(0))
fcuda = tvm.build(s, [A, B], "cuda")
"""
    schedule = read_te(text).schedule
    assert schedule.verify().status == "tested"
    assert [loop.name for loop in schedule.get_loops("B_rf")][:3] == ["xo", "xi", "ki"]


def test_condition_on_a_reduction_is_kept() -> None:
    text = """
A = te.placeholder((4, 8), "int32", name="A")
k = te.reduce_axis((0, 8), "k")
B = te.compute((4,), lambda i: te.max(A[i, k], axis=k, where=te.all(k < 5, k != i)), name="B")
"""
    func = program(text)
    values = np.random.default_rng(1).integers(-50, 50, (4, 8)).astype("int32")
    result = run(func, {"A": values, "B": np.zeros(4, "int32")})["B"]
    expected = [max(v for k, v in enumerate(row[:5]) if k != i) for i, row in enumerate(values)]
    np.testing.assert_array_equal(result, expected)


def test_code_that_runs_the_program_is_ignored() -> None:
    text = """
import numpy as np
import tvm
from tvm import te

def vector_add(n, dtype="float32"):
    A = te.placeholder((n,), name="A", dtype=dtype)
    B = te.placeholder((n,), name="B", dtype=dtype)
    return A, B, te.compute((n,), lambda i: A[i] + B[i], name="C")

A, B, C = vector_add(1024)
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=64)
s[C].parallel(outer)
s[C].vectorize(inner)
tgt = tvm.target.Target(target="llvm", host="llvm")
fadd = tvm.build(s, [A, B, C], tgt, name="myadd")
dev = tvm.device(tgt.kind.name, 0)
a = tvm.nd.array(np.random.uniform(size=1024).astype(A.dtype), dev)
c = tvm.nd.array(np.zeros(1024, dtype=C.dtype), dev)
fadd(a, a, c)
evaluator = fadd.time_evaluator(fadd.entry_name, dev, number=10)
mean = evaluator(a, a, c).mean * 1000
print("Took %f ms" % mean, f"{mean} ms")
np.testing.assert_allclose(c.numpy(), a.numpy() + a.numpy())
"""
    found = read_te(text)
    assert [b.name for b in found.program.buffers] == ["A", "B", "C"]
    assert "for outer in T.parallel(16):" in to_script(found.schedule.mod)


def test_inputs_and_outputs_are_the_default_parameters() -> None:
    assert [b.name for b in program(MATMUL_VTCM).buffers] == ["A", "B", "C"]


def test_separated_layout_lowers_to_two_banks() -> None:
    text = """
A = te.placeholder((64, 128), name="A")
B = te.compute((64, 128), lambda i, j: A[i, j] + 1.0, name="B")
s = te.create_schedule(B.op)
AL = s.cache_read(A, "local.vtcm", [B])
s[AL].transform_layout(lambda i, j: [j // 64, te.AXIS_SEPARATOR, i, j % 64])
tvm.lower(s, [A, B])
"""
    schedule = read_te(text).schedule
    assert schedule.verify().status == "tested"
    assert "(2, 4096)" in to_script(lower(schedule.func))


def test_tvmscript_that_mentions_te_is_tvmscript() -> None:
    script = '@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4,), "float32")):\n    # once te.compute((4,), …)\n    A[0] = T.float32(0)\n'
    assert not is_te(script)
    assert structural_equal(parse(script).program, parse_script(script).program)


def test_positions_of_the_program_point_at_the_text() -> None:
    parsed = parse(TRANSPOSED)
    assert isinstance(parsed.program, PrimFunc)
    (place,) = parsed.positions[parsed.program.buffers[0]]
    assert TRANSPOSED.splitlines()[place.line - 1].startswith("A = tvm.placeholder(")


def test_verify_compares_with_the_program_of_the_text() -> None:
    found = read_te(TRANSPOSED)
    assert verify(found.schedule.func, found.program).status == "tested"


FUSED = {"s[C].fuse(j, i)": "i_j_fused", "s[C].fuse(*reversed(C.op.axis))": "i_j_fused", "s[C].fuse(i, j)": "i_j_fused"}


@pytest.mark.parametrize("line", FUSED)
def test_fuse_of_loops_from_the_inside_fuses_them_in_the_order_of_the_loops(line: str) -> None:
    text = (
        'A = te.placeholder((4, 8), name="A")\nC = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="C")\n'
        f"s = te.create_schedule(C.op)\ni, j = C.op.axis\nf = {line}\ns[C].unroll(f)\n"
    )
    assert f"for {FUSED[line]} in T.unroll(32):" in to_script(read_te(text).schedule.mod)


def test_axes_of_a_program_in_an_array_are_put_in_another_order() -> None:
    text = (
        'import numpy as np\nA = te.placeholder((4, 8), name="A")\norder = [1, 0]\n'
        'C = te.compute((8, 4), lambda i, j: A[tuple(np.array([i, j])[order])] + 1.0, name="C")\ns = te.create_schedule(C.op)\n'
    )
    assert "A[v_j, v_i] + T.float32(1" in to_script(read_te(text).schedule.mod)
    with pytest.raises(ParseError):
        read_te(text.replace("[order]", "[order > 0]"))


def test_array_of_an_array_has_its_items() -> None:
    text = (
        'import numpy as np\nsizes = np.array(np.array([4, 8]))\nA = te.placeholder((int(sizes[1]),), name="A")\n'
        'C = te.compute(A.shape, lambda i: A[i] + 1.0, name="C")\ns = te.create_schedule(C.op)\n'
    )
    assert "A: T.Buffer((8,)" in to_script(read_te(text).schedule.mod)


def test_axes_and_tensors_are_found_in_lists() -> None:
    text = (
        'A = te.placeholder((4, 8), name="A")\nC = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="C")\n'
        "s = te.create_schedule(C.op)\ni, j = s[C].op.axis\n"
        "if j not in [i] and C in (A, C) and C.op not in [A.op]:\n    s[C].reorder(j, i)\n"
    )
    assert read_te(text).schedule.trace.steps[-1].method == "reorder"
    with pytest.raises(ParseError, match="cannot be compared"):
        read_te(text.replace("[i]", "[3]"))


def test_operators_of_the_library_take_older_names_and_have_their_kinds() -> None:
    pytest.importorskip("tvm")
    text = (
        'A = te.placeholder((1, 4, 8, 8), name="A")\nW = te.placeholder((4, 4, 3, 3), name="W")\n'
        'C = topi.nn.conv2d(A, W, strides=1, padding=1, dilation=1, layout="NCHW")\nD = topi.nn.relu(C)\n'
        "s = te.create_schedule(D.op)\n"
        "if topi.tag.is_broadcast(D.op.tag) and C.op.tag == 'conv2d_nchw' and A.op.tag == '':\n"
        "    s[D].parallel(D.op.axis[0])\n"
    )
    assert read_te(f"import tvm\nfrom tvm import te, topi\n{text}").schedule.trace.steps[-1].method == "parallel"
    with pytest.raises(ParseError, match="unexpected keyword argument 'order'"):
        read_te(f"import tvm\nfrom tvm import te, topi\n{text.replace('layout', 'order')}")


def test_functions_of_modules_are_applied_to_lists() -> None:
    text = (
        'n, m = map(te.var, ["n", "m"])\nA = te.placeholder((n, m), name="A")\n'
        'C = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="C")\ns = te.create_schedule(C.op)\ntvm.lower(s, [A, C, n])\n'
    )
    func = read_te(text).program
    assert isinstance(func, PrimFunc)
    assert [p.name for p in func.params][-1] == "n"
    with pytest.raises(ParseError, match="not known for certain"):
        read_te(text.replace("te.var", "np.zeros"))
