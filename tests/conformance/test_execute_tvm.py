"""`run` computes what TVM's own code computes on this machine's CPU: sample programs, schedules of them, and each operator."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from support.programs import sources
from support.programs.sources import HEADER
from support.tvm.oracle import tvm, tvm_parse
from support.tvm.recorded import agreed

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

pytestmark = [
    pytest.mark.tvm,
    pytest.mark.skipif(not tvm.runtime.enabled("llvm"), reason="this build of TVM cannot make code for the CPU"),
]


def run_tvm(text: str, func: PrimFunc, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """TVM's result for every parameter."""
    (function,) = tvm_parse(text).functions.values()
    mod = tvm.ir.IRModule({"main": function.with_attr("global_symbol", "main")})
    arrays = {b.name: inputs.get(b.name, np.zeros(tuple(e.value for e in b.shape), b.dtype)) for b in func.buffers}
    tensors = {name: tvm.runtime.tensor(array) for name, array in arrays.items()}
    tvm.compile(mod, target="llvm")["main"](*tensors.values())
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def assert_same(text: str, inputs: dict[str, np.ndarray] | None = None, exact: bool = True) -> None:
    program = parse(text).program
    func = program if isinstance(program, PrimFunc) else program.functions[0]
    inputs = random_inputs(func) if inputs is None else inputs
    ours = run(func, inputs)
    results = sha256(b"".join(ours[name].tobytes() for name in sorted(ours))).hexdigest()
    agreed(f"{text}\n{results}", lambda: require_same(ours, run_tvm(text, func, inputs), exact))


def require_same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], exact: bool) -> None:
    for name, array in theirs.items():
        if exact or array.dtype.kind != "f":
            np.testing.assert_array_equal(ours[name], array, err_msg=name)
        else:
            eps = float(np.finfo(array.dtype).eps)
            np.testing.assert_allclose(ours[name], array, rtol=16 * eps, atol=4 * eps, err_msg=name)


@pytest.mark.parametrize("name", sorted(sources.CURRENT))
def test_given_a_sample_program_when_run_then_tvm_computes_the_same(name):
    text = sources.CURRENT[name]
    assert_same(text, exact="T.exp" not in text)  # TVM's exp is an approximation of its own


def staged(sch: Schedule) -> None:
    i, j, k = sch.get_loops("C")
    (i0, i1), (j0, j1), (k0, k1) = (sch.split(loop, [None, factor]) for loop, factor in ((i, 16), (j, 9), (k, 7)))
    sch.reorder(i0, j0, k0, i1, j1, k1)
    for number in (0, 1):
        sch.compute_at(sch.cache_read("C", number, "shared"), k0)


def fused(sch: Schedule) -> None:
    i, j, _ = sch.get_loops("C")
    outer, _ = sch.split(sch.fuse(i, j), [None, 50])
    sch.parallel(outer)


def decomposed(sch: Schedule) -> None:
    i, j, k = sch.get_loops("C")
    k0, _ = sch.split(k, [None, 8])
    sch.reorder(k0, i, j)
    sch.decompose_reduction("C", k0)


@pytest.mark.parametrize("calls", [staged, fused, decomposed])
def test_given_a_scheduled_matmul_when_run_then_tvm_computes_the_same(calls: Any):
    sch = Schedule(parse(sources.matmul(40, 30, 20)).program)
    calls(sch)
    assert_same(to_script(sch.func))


def elementwise(dtype: str, size: int, values: list[str], second: str | None = None) -> str:
    """One output `C0, C1, …` for each expression in A[i] and B[i]."""
    out = second or dtype
    params = "".join(f', C{n}: T.Buffer(({size},), "{out}")' for n in range(len(values)))
    lines = "".join(f"        C{n}[i] = {value}\n" for n, value in enumerate(values))
    return (
        HEADER
        + f'@T.prim_func(s_tir=True)\ndef main(A: T.Buffer(({size},), "{dtype}"), B: T.Buffer(({size},), "{dtype}"){params}):\n'
        f"    for i in range({size}):\n{lines}"
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint32"])
def test_given_integer_operators_when_run_then_tvm_computes_the_same(dtype: str):
    values = ["A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "T.min(A[i], B[i])", "T.max(A[i], B[i])"]
    values += ["T.truncdiv(A[i], B[i])", "T.truncmod(A[i], B[i])", "T.floordiv(A[i], B[i])", "T.floormod(A[i], B[i])"]
    values += ["T.bitwise_and(A[i], B[i])", "T.bitwise_or(A[i], B[i])", "T.bitwise_xor(A[i], B[i])"]
    generator = np.random.default_rng(0)
    edges = np.iinfo(dtype)
    low = max(edges.min + 1, -(2**31) + 1)
    a = generator.integers(low, min(edges.max, 2**31 - 1), 64, endpoint=True).astype(dtype)
    b = np.where(generator.integers(0, 2, 64) > 0, generator.integers(max(low, -9), 9, 64), edges.max).astype(dtype)
    b = np.where(b == 0, 3, b).astype(dtype)
    assert_same(elementwise(dtype, 64, values), {"A": a, "B": b})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_given_float_operators_when_run_then_tvm_computes_the_same(dtype: str):
    values = ["A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "A[i] / B[i]", "T.min(A[i], B[i])", "T.max(A[i], B[i])"]
    values += [f"T.{name}(A[i])" for name in ("exp", "tanh", "sigmoid", "fabs", "floor", "ceil", "trunc", "round")]
    values += [f"T.{name}(T.fabs(A[i]))" for name in ("sqrt", "log", "rsqrt")]
    values += [f"T.Select(A[i] < B[i], A[i], T.{dtype}(7))", "T.pow(T.fabs(A[i]), B[i])", "T.sin(A[i])", "T.cos(A[i])"]
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(64).astype(dtype) * 3 for _ in range(2))
    a[:4] = [0.5, 1.5, -2.5, -0.5]
    assert_same(elementwise(dtype, 64, values), {"A": a, "B": b}, exact=False)


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int32"), ("int32", "int8"), ("int32", "float32"), ("int8", "uint8"), ("float32", "float16")],
)
def test_given_a_cast_when_run_then_tvm_computes_the_same(source: str, target: str):
    generator = np.random.default_rng(0)
    a = (generator.standard_normal(64) * 1000).astype(source)
    assert_same(elementwise(source, 64, [f'T.Cast("{target}", A[i])'], target), {"A": a, "B": a})
