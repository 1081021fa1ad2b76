"""Loops that seem to allow lockstep, one for each obstacle: `run` agrees with the naive interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.sources import HEADER
from support.schedules.naive import UnwrittenError, run_naive

from tilewright.engine.execute import ExecuteError, run
from tilewright.engine.ir import (
    Allocate,
    Buffer,
    BufferLoad,
    BufferStore,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Stmt,
    Var,
    build,
)
from tilewright.engine.script import parse

BODIES = {
    "writes of inner loops overlap": "for i, j in T.grid(8, 4):\n    B[2 * i + j] = B[2 * i + j] * 2 + A[i * 4 + j]",
    "a step hidden in a division": "for i in range(7):\n    B[i + (6 - i) // 3] = B[i + (6 - i) // 3] * 2 + A[i]",
    "an index that the loop rewrites": "for i in range(3):\n    P[i + P[0]] = i + 2",
    "read and written in other steps": "for i in range(12):\n    B[2 * i + 2] = B[i + 1]",
    "read where an outer loop shifts": "for o, i in T.grid(3, 20):\n    B[i + o] = B[i] + 1",
    "divided, and shifted by an inner loop": "for f, j in T.grid(8, 3):\n"
    "    B[(f // 2 + j) * 2 + f % 2] = B[(f // 2 + j) * 2 + f % 2] * 2 + A[f * 3 + j]",
    "two axes, one of them shifted within": "for f, j in T.grid(8, 3):\n"
    "    C[f // 2 + j, f % 2] = C[f // 2 + j, f % 2] * 2 + A[f * 3 + j]",
    "a reset in the middle": "for k in range(8):\n    if k == 3:\n        B[0] = 0\n    B[0] = B[0] + A[k]",
    "a reset every other time": "for k in range(8):\n    if k % 2 == 0:\n        B[0] = 0\n    B[0] = B[0] + A[k]",
    "a reset at the end": "for k in range(8):\n    if 7 - k == 0:\n        B[0] = 0\n    B[0] = B[0] + A[k]",
    "a sum that reads itself": "for k in range(8):\n    B[0] = B[0] + B[0] * A[k]",
    "a sum read on the way": "for k in range(8):\n    B[0] = B[0] + A[k]\n    B[k + 1] = B[0]",
    "a sum from two places": "for k in range(8):\n    B[0] = B[0] + A[k]\n    B[0] = B[0] * A[k + 1]",
    "a difference from the left": "for k in range(8):\n    B[0] = A[k] - B[0]",
    "bounds that follow the loop": "for i in range(6):\n    for j in range(i + 1):\n        B[i] = B[i] + A[i * 5 + j]",
    "a scatter onto one element": "for i in range(8):\n    B[P[i]] = B[P[i]] * 2 + A[i]",
    "scatter of the last": "for i in range(8):\n    B[P[i]] = A[i]",
    "bounds from data": "for i, k in T.grid(4, 5):\n    for j in range(P[i]):\n"
    "        B[i * 5 + k] = B[i * 5 + k] * 2 + A[j]",
    "bounds from data that the loop rewrites": "for k in range(6):\n    for j in range(P[3]):\n"
    "        B[k] = B[k] + A[j]\n    P[3] = k",
    "backwards": "for i in range(8):\n    B[7 - i] = B[8 - i] + A[i]",
}


def inputs(dtype: str) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    arrays = {
        "A": generator.integers(1, 9, 40),
        "B": generator.integers(1, 9, 40),
        "C": generator.integers(1, 9, (6, 2)),
    }
    found = {name: array.astype(dtype) for name, array in arrays.items()}
    return {**found, "P": np.array([0, 1, 1, 3, 0, 5, 3, 2], "int32")}


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("name", sorted(BODIES))
def test_dependent_iterations_keep_their_order(name: str, dtype: str):
    signature = f'A: T.Buffer((40,), "{dtype}"), B: T.Buffer((40,), "{dtype}"), C: T.Buffer((6, 2), "{dtype}"), P: T.Buffer((8,), "int32")'
    body = BODIES[name].replace("\n", "\n    ")
    func = parse(f"{HEADER}@T.prim_func(s_tir=True)\ndef main({signature}):\n    {body}\n").program
    assert isinstance(func, PrimFunc)
    arrays = inputs(dtype)
    ours, theirs = run(func, arrays), run_naive(func, arrays)
    for key, array in theirs.items():
        np.testing.assert_array_equal(ours[key], array, err_msg=key)


A, B, P, S = (
    Buffer(name, (build.const(extent, "int32"),), "int32") for name, extent in (("A", 8), ("B", 8), ("P", 8), ("S", 1))
)
ZERO = build.const(0, "int32")


def func_of(body: Stmt) -> PrimFunc:
    buffers = (A, B, P)
    handles = tuple(Var(f"p_{b.name}", "handle") for b in buffers)
    return PrimFunc("main", handles, tuple(zip(handles, buffers, strict=True)), body)


def arrays() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {name: generator.integers(0, 8, 8).astype("int32") for name in "ABP"}


def test_buffer_per_iteration_is_read_under_a_condition():
    i = Var("i")
    use = IfThenElse(build.ge(i, 3), BufferStore(B, BufferLoad(S, (ZERO,)), (i,)))
    func = func_of(build.serial(i, 8, Allocate((S,), build.seq([BufferStore(S, BufferLoad(A, (i,)), (ZERO,)), use]))))
    assert run(func, arrays())["B"].tolist() == run_naive(func, arrays())["B"].tolist()


def test_a_reallocated_buffer_has_no_old_value():
    i = Var("i")
    fill = IfThenElse(build.eq(i, 0), BufferStore(S, build.const(5, "int32"), (ZERO,)))
    total = build.add(build.mul(BufferLoad(B, (ZERO,)), 2), BufferLoad(S, (ZERO,)))  # keeps the loop in order
    func = func_of(build.serial(i, 4, Allocate((S,), build.seq([fill, BufferStore(B, total, (ZERO,))]))))
    with pytest.raises(UnwrittenError):
        run_naive(func, arrays())
    with pytest.raises(ExecuteError, match="uninitialized-read"):
        run(func, arrays())


def test_let_of_memory_that_the_loop_writes_is_per_iteration():
    i, x = Var("i"), Var("x")
    store = BufferStore(P, build.floormod(build.add(x, 1), 8), (build.floormod(build.add(i, 1), 8),))
    func = func_of(
        build.serial(i, 8, LetStmt(x, BufferLoad(P, (i,)), build.seq([BufferStore(B, build.mul(i, 3), (x,)), store])))
    )
    ours, theirs = run(func, arrays()), run_naive(func, arrays())
    assert all(ours[name].tolist() == theirs[name].tolist() for name in theirs)


def test_let_of_memory_under_a_condition_is_per_iteration():
    i, x = Var("i"), Var("x")
    store = IfThenElse(build.ge(i, 3), BufferStore(B, build.add(x, i), (i,)))
    func = func_of(build.serial(i, 8, LetStmt(x, BufferLoad(A, (i,)), store)))
    assert run(func, arrays())["B"].tolist() == run_naive(func, arrays())["B"].tolist()


@pytest.mark.sample(2)
@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("count", [5, 700])
def test_maximum_of_nan_and_signed_zeros_counts_each_comparison(op: str, count: int):
    text = (
        f'{HEADER}@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((6, {count}), "float32"), B: T.Buffer(({count},), "float32")):\n'
        f"    for k, i in T.grid(6, {count}):\n        B[i] = T.{op}(B[i], A[k, i])\n"
    )
    func = parse(text).program
    assert isinstance(func, PrimFunc)
    special = np.random.default_rng(0).choice(np.array([np.nan, 0.0, -0.0, 1.0, -1.0], "float32"), (6, count))
    given = {"A": special, "B": np.zeros(count, "float32")}
    ours, theirs = run(func, given)["B"], run_naive(func, given)["B"]
    assert ours.tobytes() == theirs.tobytes() or (
        np.array_equal(ours, theirs, equal_nan=True) and np.array_equal(np.signbit(ours), np.signbit(theirs))
    )
