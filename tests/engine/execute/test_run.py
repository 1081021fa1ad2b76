"""Results and refusals of `run`, by example. Programs are TVMScript."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs import sources
from support.programs.sources import HEADER

from tilewright.engine.execute import ExecuteError, random_inputs, run
from tilewright.engine.ir import (
    Allocate,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    IfThenElse,
    IterVar,
    MatchBufferRegion,
    PrimFunc,
    Range,
    Stmt,
    StringImm,
    Var,
    build,
    walk,
)
from tilewright.engine.script import parse


def program(signature: str, body: str) -> PrimFunc:
    """A function of buffers "A: (2, 3) int8, …" with `body`, indented by four."""
    params = ", ".join(
        f'{name}: T.Buffer({shape.rpartition(" ")[0]}, "{shape.rpartition(" ")[2]}")'
        for name, shape in (part.split(": ") for part in signature.split("; "))
    )
    return parse(f"{HEADER}@T.prim_func(s_tir=True)\ndef main({params}):\n{body}").program


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(dtype)


def loops(var: Var, extent: int, body: Stmt) -> Stmt:
    return build.serial(var, extent, body)


def func_of(body: Stmt, *buffers: Buffer) -> PrimFunc:
    handles = tuple(Var(f"p_{b.name}", "handle") for b in buffers)
    return PrimFunc("main", handles, tuple(zip(handles, buffers, strict=True)), body)


def shaped(name: str, *shape: int, dtype: str = "int32") -> Buffer:
    return Buffer(name, tuple(build.const(e, "int32") for e in shape), dtype)


def c(value: int, dtype: str = "int32"):
    return build.const(value, dtype)


# -- meaning


def test_matmul_is_the_product_and_leaves_its_inputs():
    func = parse(sources.matmul(20, 12, 7)).program
    a, b = numbers(20, 7), numbers(7, 12, seed=1)
    before = a.copy()
    result = run(func, {"A": a, "B": b})
    assert list(result) == ["A", "B", "C"]
    assert np.array_equal(result["C"], a @ b)
    assert np.array_equal(a, before)


def test_old_values_of_an_output_are_readable():
    func = program("A: (4,) int32; B: (4,) int32", "    for i in range(4):\n        B[i] = B[i] + A[i]\n")
    result = run(func, {"A": np.arange(4, dtype="int32"), "B": np.full(4, 10, "int32")})
    assert result["B"].tolist() == [10, 11, 12, 13]


def test_each_iteration_of_a_scan_reads_the_one_before():
    func = program("A: (64,) int32", "    for i in range(63):\n        A[i + 1] = A[i] + A[i + 1]\n")
    a = numbers(64, dtype="int32")
    assert np.array_equal(run(func, {"A": a})["A"], np.cumsum(a))


def test_a_shift_in_place_keeps_the_loop_order():
    forwards = program("A: (5,) int32", "    for i in range(4):\n        A[i + 1] = A[i]\n")
    backwards = program("A: (5,) int32", "    for i in range(4):\n        A[i] = A[i + 1]\n")
    a = np.arange(5, dtype="int32")
    assert run(forwards, {"A": a})["A"].tolist() == [0, 0, 0, 0, 0]
    assert run(backwards, {"A": a})["A"].tolist() == [1, 2, 3, 4, 4]


def test_a_float_sum_is_added_in_program_order():
    func = parse(sources.ROW_SUM).program
    a = np.random.default_rng(0).standard_normal((128, 128)).astype("float32")
    expected = np.zeros(128, "float32")
    for k in range(128):
        expected += a[:, k]
    assert np.array_equal(run(func, {"A": a})["B"], expected)


def test_reset_after_an_update_keeps_its_iteration():
    func = program(
        "A: (8,) int32; B: (1,) int32",
        "    for k in range(8):\n        B[0] = B[0] + A[k]\n        if k == 0:\n            B[0] = 100\n",
    )
    a = numbers(8, dtype="int32")
    assert run(func, {"A": a, "B": np.zeros(1, "int32")})["B"][0] == 100 + a[1:].sum()


def test_sum_below_an_ordered_loop_is_added_in_program_order():
    a, b, s = shaped("A", 6, 50, dtype="float32"), shaped("B", 1, dtype="float32"), shaped("S", 51, dtype="float32")
    k, i = Var("k"), Var("i")
    zero, one = c(0), build.const(1, "float32")
    scan = BufferStore(s, build.add(BufferLoad(s, (i,)), one), (build.add(i, 1),))
    total = BufferStore(b, build.add(BufferLoad(b, (zero,)), BufferLoad(a, (k, i))), (zero,))
    inner = build.seq([BufferStore(s, one, (zero,)), loops(i, 50, build.seq([scan, total]))])
    values = np.random.default_rng(0).standard_normal((6, 50)).astype("float32")
    result = run(func_of(loops(k, 6, Allocate((s,), inner)), a, b), {"A": values, "B": np.zeros(1, "float32")})
    assert result["B"][0] == np.add.accumulate(values.reshape(-1))[-1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_overflowing_integers_wrap(dtype):
    func = program(
        f"A: (3,) {dtype}; B: (3,) {dtype}; C: (1,) {dtype}",
        "    for i in range(3):\n        B[i] = A[i] * A[i] + A[i]\n    C[0] = A[0]\n"
        "    for k in range(3):\n        C[0] = C[0] + A[k]\n",
    )
    top = np.iinfo(dtype).max
    a = np.array([top, top - 1, 3], dtype)
    with np.errstate(over="ignore"):
        result = run(func, {"A": a})
        assert np.array_equal(result["B"], a * a + a)
        assert result["C"][0] == (a[0] + a.sum(dtype=dtype)).astype(dtype)


def test_floor_and_trunc_differ_for_negative_numbers():
    a, out = shaped("A", 4), shaped("B", 4, 4)
    i = Var("i")
    x, y = BufferLoad(a, (i,)), c(3)
    kinds = (build.floordiv, build.floormod, build.div, build.truncmod)
    body = build.seq([BufferStore(out, kind(x, y), (c(n), i)) for n, kind in enumerate(kinds)])
    result = run(func_of(loops(i, 4, body), a, out), {"A": np.array([7, -7, 6, -6], "int32")})["B"]
    assert result.tolist() == [[2, -3, 2, -2], [1, 2, 0, 0], [2, -2, 2, -2], [1, -1, 0, 0]]


def test_casts_truncate_floats_and_wrap_integers():
    a, b, d = shaped("A", 3, dtype="float32"), shaped("B", 3, dtype="int32"), shaped("D", 3, dtype="int8")
    i = Var("i")
    body = build.seq(
        [
            BufferStore(b, build.cast(BufferLoad(a, (i,)), "int32"), (i,)),
            BufferStore(d, build.cast(BufferLoad(b, (i,)), "int8"), (i,)),
        ]
    )
    result = run(func_of(loops(i, 3, body), a, b, d), {"A": np.array([-1.9, 1.9, 300.5], "float32")})
    assert result["B"].tolist() == [-1, 1, 300]
    assert result["D"].tolist() == [-1, 1, 44]


def test_each_step_of_float16_is_rounded():
    func = program(
        "A: (2048,) float16; B: (1,) float16",
        "    for k in range(2048):\n"
        '        with T.sblock("B"):\n'
        "            vk = T.axis.reduce(2048, k)\n"
        "            with T.init():\n                B[0] = T.float16(0)\n"
        "            B[0] = B[0] + A[vk]\n",
    )
    a = np.full(2048, 0.7, "float16")
    expected = np.float16(0)
    for value in a:
        expected = expected + value
    assert run(func, {"A": a})["B"][0] == expected


def test_unchosen_branch_of_padding_is_not_computed():
    func = program(
        "A: (6,) float32; B: (8,) float32",
        "    for i in range(8):\n        B[i] = T.if_then_else(1 <= i and i < 7, A[i - 1], T.float32(0))\n",
    )
    a = numbers(6)
    assert np.array_equal(run(func, {"A": a})["B"], np.pad(a, 1))


def test_a_choice_by_data_is_made_per_element():
    func = program(
        "A: (40, 8) int32; B: (40, 8) int32",
        "    for i, j in T.grid(40, 8):\n        B[i, j] = T.if_then_else(A[i, j] > 0, T.truncdiv(100, A[i, j]), 0)\n",
    )
    a = numbers(40, 8, dtype="int32")
    assert np.array_equal(run(func, {"A": a})["B"], np.where(a > 0, 100 // np.where(a > 0, a, 1), 0))


def test_indices_from_data_gather_and_scatter():
    func = program(
        "A: (5,) float32; P: (5,) int32; B: (5,) float32",
        "    for i in range(5):\n        B[P[i]] = A[i]\n",
    )
    order = np.array([3, 0, 4, 1, 2], "int32")
    assert run(func, {"A": np.arange(5, dtype="float32"), "P": order})["B"].tolist() == [1, 3, 4, 0, 2]


def test_matched_buffer_is_a_window_of_its_source():
    a, window, i = shaped("A", 4, 6), shaped("W", 2, 3), Var("i")
    v = IterVar(Var("v"), Range(c(0), c(2)))
    region = BufferRegion(a, (Range(build.mul(v.var, 2), c(2)), Range(c(3), c(3))))
    body = BufferStore(window, build.add(v.var, 7), (c(1), c(2)))
    block = Block("b", (v,), (), (region,), body, match_buffers=(MatchBufferRegion(window, region),))
    result = run(func_of(loops(i, 2, BlockRealize((i,), build.TRUE, block)), a), {"A": np.zeros((4, 6), "int32")})
    assert [result["A"][1, 5], result["A"][3, 5], result["A"].sum()] == [7, 8, 15]


def test_lowered_program_accepts_arrays_with_axes():
    flat, i = shaped("A", 12), Var("i")
    func = func_of(loops(i, 12, BufferStore(flat, build.add(BufferLoad(flat, (i,)), 1), (i,))), flat)
    a = numbers(3, 4, dtype="int32")
    assert np.array_equal(run(func, {"A": a})["A"], a + 1)


def test_loads_read_the_right_one_of_two_slots():
    a, b, slots = shaped("A", 8, 16), shaped("B", 8, 16), shaped("S", 2, 16)
    t, i, j = Var("t"), Var("i"), Var("j")
    slot = build.floormod(t, 2)
    body = build.seq(
        [
            loops(i, 16, BufferStore(slots, BufferLoad(a, (t, i)), (slot, i))),
            loops(j, 16, BufferStore(b, build.mul(BufferLoad(slots, (slot, j)), 3), (t, j))),
        ]
    )
    values = numbers(8, 16, dtype="int32")
    assert np.array_equal(run(func_of(Allocate((slots,), loops(t, 8, body)), a, b), {"A": values})["B"], values * 3)


# -- refusals


def refusal(func: PrimFunc, arrays):
    with pytest.raises(ExecuteError) as caught:
        run(func, arrays)
    return caught.value.refusal


BLOCK = (
    "    for i in range(8):\n"
    '        with T.sblock("shift"):\n'
    "            vi = T.axis.spatial(8, i)\n"
    "            B[vi] = A[vi + 1]\n"
)


def test_out_of_bounds_index_names_buffer_and_block():
    func = program("A: (8,) float32; B: (8,) float32", BLOCK)
    found = refusal(func, {"A": numbers(8)})
    assert found.code == "out-of-bounds"
    assert all(part in found.message for part in ("A[8]", "(8)", "'shift'", "i = 7")), found.message
    assert found.nodes[0] in set(walk(func)) and found.nodes[0].buffer.name == "A"


def test_out_of_bounds_store_under_a_predicate_is_legal():
    func = program(
        "A: (10,) float32; B: (10,) float32",
        "    for i, j in T.grid(3, 4):\n"
        '        with T.sblock("copy"):\n'
        "            vi = T.axis.spatial(10, i * 4 + j)\n"
        "            T.where(i * 4 + j < 10)\n"
        "            B[vi] = A[vi]\n",
    )
    a = numbers(10)
    assert np.array_equal(run(func, {"A": a})["B"], a)


def test_reading_unwritten_elements_is_refused():
    func = program(
        "A: (8,) int32; B: (8,) int32",
        '    S = T.sblock_alloc_buffer((8,), "int32")\n'
        "    for i in range(7):\n"
        '        with T.sblock("S"):\n            v = T.axis.spatial(7, i)\n            S[v] = A[v]\n'
        "    for i in range(8):\n"
        '        with T.sblock("B"):\n            v = T.axis.spatial(8, i)\n            B[v] = S[v]\n',
    )
    found = refusal(func, {"A": np.arange(8, dtype="int32")})
    assert (found.code, "S[7]" in found.message, "'B'" in found.message) == ("uninitialized-read", True, True)


def test_buffer_of_a_repeated_block_has_no_value():
    b, s, i, v = shaped("B", 4), shaped("S", 1), Var("i"), Var("v")
    first = build.eq(v, 0)
    body = build.seq(
        [
            IfThenElse(first, BufferStore(s, c(5), (c(0),))),
            BufferStore(b, BufferLoad(s, (c(0),)), (v,)),
        ]
    )
    block = Block("again", (IterVar(v, Range(c(0), c(4))),), (), (), body, alloc_buffers=(s,))
    found = refusal(func_of(loops(i, 4, BlockRealize((i,), build.TRUE, block)), b), {})
    assert (found.code, "i = 1" in found.message) == ("uninitialized-read", True)


def test_an_update_without_its_init_reads_nothing():
    func = program(
        "A: (8,) int32; B: (1,) int32",
        "    for k in range(8):\n"
        '        with T.sblock("B"):\n'
        "            vk = T.axis.reduce(9, k + 1)\n"
        "            with T.init():\n                B[0] = 0\n"
        "            B[0] = B[0] + A[k]\n",
    )
    assert refusal(func, {"A": np.arange(8, dtype="int32")}).code == "uninitialized-read"


def test_a_divisor_of_zero_is_refused():
    func = program("A: (4,) int32; B: (4,) int32", "    for i in range(4):\n        B[i] = T.truncdiv(7, A[i])\n")
    assert refusal(func, {"A": np.array([1, 2, 0, 4], "int32")}).code == "division-by-zero"


@pytest.mark.parametrize(
    ("arrays", "part"),
    [
        ({"A": numbers(7)}, "shape (7,)"),
        ({"A": numbers(8, dtype="float64")}, "float64"),
        ({"A": numbers(8), "X": numbers(8)}, "'X'"),
    ],
)
def test_arguments_that_do_not_match_are_refused(arrays, part):
    found = refusal(program("A: (8,) float32; B: (8,) float32", BLOCK), arrays)
    assert found.code == "bad-argument" and part in str(found)


def test_an_external_call_is_unsupported():
    a, b, i = shaped("A", 4), shaped("B", 4), Var("i")
    call = Call("call_extern", (StringImm("mystery"), BufferLoad(a, (i,))), "int32")
    found = refusal(func_of(loops(i, 4, BufferStore(b, call, (i,))), a, b), {"A": numbers(4, dtype="int32")})
    assert found.code == "unsupported" and "call_extern" in found.message


# -- inputs


def test_inputs_of_a_seed_are_small_and_repeatable():
    func = parse(sources.matmul(8, 8, 8)).program
    once, again, other = random_inputs(func, 3), random_inputs(func, 3), random_inputs(func, 4)
    assert list(once) == ["A", "B"]
    assert all(np.array_equal(once[n], again[n]) for n in once)
    assert not np.array_equal(once["A"], other["A"])
    assert np.abs(once["A"]).max() <= 2 and once["A"].dtype == np.float32


def test_buffer_read_before_it_is_written_is_an_input():
    func = program("A: (4,) int32; B: (4,) int32", "    for i in range(4):\n        B[i] = B[i] + A[i]\n")
    assert list(random_inputs(func)) == ["A", "B"]
