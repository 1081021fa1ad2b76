"""C code of scheduled programs: it compiles without a warning, runs, and equals `execute`, integers bit for bit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.profile import few, samples
from support.programs.random_programs import programs
from support.programs.sources import HEADER
from support.programs.wild_programs import wild_programs
from support.schedules.calls import apply, calls
from support.schedules.meaning import given_values, outputs
from support.schedules.naive import equal_arrays
from support.simulator.c_code import call, compiled, needs_cc, run_c

from tilewright.engine.execute import KNOWN_INTRINSICS, random_inputs, run
from tilewright.engine.export import c_function, to_c
from tilewright.engine.ir import (
    Add,
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Div,
    Evaluate,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    IRModule,
    LetStmt,
    Max,
    Min,
    Mod,
    Mul,
    PrimFunc,
    Select,
    Stmt,
    StringImm,
    Sub,
    TilewrightError,
    Var,
    build,
)
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

COUNT = 64
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
EXACT_ON_FLOATS = (Add, Sub, Mul, Div, Min, Max)

BLUR = (
    HEADER
    + """
@T.prim_func
def blur(a: T.handle, b: T.handle):
    H = T.int32()
    A = T.match_buffer(a, (H, 34), "uint8")
    B = T.match_buffer(b, (H, 32), "uint8")
    for y, x in T.grid(H, 32):
        with T.block("blur"):
            vy, vx = T.axis.remap("SS", [y, x])
            B[vy, vx] = T.Cast(
                "uint8",
                (T.Cast("uint16", A[vy, vx]) + T.Cast("uint16", A[vy, vx + 1]) + T.Cast("uint16", A[vy, vx + 2])) // T.uint16(3),
            )
"""
)


def of_elements(dtype: str, result: str, value: Callable[[Expr, Expr], Expr], name: str = "op") -> PrimFunc:
    """`C[i] = value(A[i], B[i])`."""
    shape = (build.const(COUNT, "int32"),)
    a, b, c = Buffer("A", shape, dtype), Buffer("B", shape, dtype), Buffer("C", shape, result)
    i = Var("i")
    body = build.serial(i, COUNT, BufferStore(c, value(BufferLoad(a, (i,)), BufferLoad(b, (i,))), (i,)))
    return function(name, (a, b, c), body)


def function(name: str, buffers: tuple[Buffer, ...], body: Stmt) -> PrimFunc:
    handles = tuple(Var(b.name.lower(), "handle") for b in buffers)
    return PrimFunc(name, handles, tuple(zip(handles, buffers, strict=True)), realized(body))


SANITIZED = ("-O2", "-fsanitize=undefined", "-fno-sanitize-recover=undefined")


def realized(body: Stmt) -> Stmt:
    return BlockRealize((), build.TRUE, Block("root", (), (), (), body))


def values_of(dtype: str) -> dict[str, np.ndarray]:
    """Integers with the extremes among them and no zero below; floats around one."""
    generator = np.random.default_rng(7)
    if dtype in FLOATS:
        return {n: generator.uniform(0.3, 3, COUNT).astype(dtype) for n in ("A", "B")}
    limits = np.iinfo(dtype)
    found = {n: generator.integers(limits.min, limits.max, COUNT, dtype=dtype, endpoint=True) for n in ("A", "B")}
    found["A"][:4] = [limits.min, limits.max, limits.min, 0]
    found["B"][:4] = [limits.max, limits.min, limits.max, 1]
    if limits.min < 0:
        found["B"][2] = -1
    found["B"][4:24] = generator.integers(1, 9, 20)
    found["B"][found["B"] == 0] = 3
    return found


@needs_cc
@pytest.mark.parametrize("options", samples([("-O0",), SANITIZED], ("-O0",)))
def test_integer_arithmetic_is_equal_bit_for_bit(tmp_path: Path, options: tuple[str, ...]):
    kinds = (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max)
    funcs = [(d, of_elements(d, d, k, f"{k.__name__.lower()}_of_{d}")) for d in INTEGERS for k in kinds]
    funcs += [
        (a, of_elements(a, b, lambda x, y, b=b: Cast(b, Add(x, y)), f"{a}_to_{b}")) for a in INTEGERS for b in INTEGERS
    ]
    exported = [c_function(f) for _, f in funcs]
    library = compiled([to_c(IRModule(tuple(f for _, f in funcs)))], tmp_path, options=options)
    for (dtype, func), c in zip(funcs, exported, strict=True):
        arrays = values_of(dtype)
        np.testing.assert_array_equal(call(library, c, arrays)["C"], run(func, arrays)["C"], func.name)


@needs_cc
def test_compiled_float_arithmetic_is_equal_and_half_floats_round(tmp_path: Path):
    kinds = (*EXACT_ON_FLOATS, Mod, FloorDiv, FloorMod)
    funcs = [(d, of_elements(d, d, k, f"{k.__name__.lower()}_of_{d}")) for d in FLOATS for k in kinds]
    funcs += [(d, of_elements(d, d, lambda x, y: Add(Mul(x, y), Mul(Sub(x, y), x)), f"several_of_{d}")) for d in FLOATS]
    exported = [c_function(f) for _, f in funcs]
    library = compiled([to_c(IRModule(tuple(f for _, f in funcs)))], tmp_path)
    for (dtype, func), c in zip(funcs, exported, strict=True):
        arrays = values_of(dtype)
        np.testing.assert_array_equal(call(library, c, arrays)["C"], run(func, arrays)["C"], func.name)


TWO_OPERANDS = (
    *("pow", "power", "atan2", "hypot", "fmod", "copysign", "nextafter", "max", "min"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"),
)
NO_VALUE = ("assume", "tvm_storage_sync", "storage_sync", "ptx_commit_group", "ptx_wait_group")


def _intrinsic(op: str, dtype: str) -> PrimFunc:
    def value(x: Expr, y: Expr) -> Expr:
        if dtype in FLOATS and op in ("asin", "acos", "atanh"):
            x = Mul(x, build.const(0.25, dtype))
        if dtype in FLOATS and op == "acosh":
            x = Add(x, build.const(1, dtype))
        result = "bool" if op in ("isnan", "isinf", "isfinite") else dtype
        if op == "if_then_else":
            return Call(op, (build.lt(x, y), x, Mul(x, y)), dtype)
        if op == "likely":
            return Select(Call(op, (build.lt(x, y),), "bool"), x, y)
        called = Call(op, (x, y) if op in TWO_OPERANDS else (x,), result)
        return Cast(dtype, called) if result == "bool" else called

    return of_elements(dtype, dtype, value, f"call_{op}_{dtype}")


@pytest.mark.sample(3)
@needs_cc
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", *FLOATS])
def test_compiled_intrinsics_equal_execute(tmp_path: Path, dtype: str):
    arrays = values_of(dtype)
    if dtype not in FLOATS:
        arrays["B"] = np.clip(arrays["B"], 1, 40).astype(dtype)
    funcs, exported = [], []
    for op in (o for o in KNOWN_INTRINSICS if o not in NO_VALUE):
        func = _intrinsic(op, dtype)
        try:
            expected = run(func, arrays)["C"]
        except (TilewrightError, TypeError, ValueError):
            continue  # NumPy lacks this function for integers or for floats
        if dtype not in FLOATS and expected.dtype != np.dtype(dtype):
            continue
        try:
            exported.append(c_function(func))
        except TilewrightError as error:
            # NumPy computes functions of real numbers on integers in floats.
            assert error.code == "no-c" and (dtype not in FLOATS or op == "popcount"), op
            continue
        funcs.append((op, func, expected))
    assert len(funcs) >= (28 if dtype in FLOATS else 10), [op for op, _, _ in funcs]
    library = compiled([to_c(IRModule(tuple(f for _, f, _ in funcs)))], tmp_path)
    for (op, _, expected), c in zip(funcs, exported, strict=True):
        found = call(library, c, arrays)["C"]
        if dtype in FLOATS:
            np.testing.assert_allclose(found, expected, rtol=8 * float(np.finfo(dtype).eps), err_msg=op)
        else:
            np.testing.assert_array_equal(found, expected, op)


@needs_cc
@settings(few(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_law_a_compiled_schedule_gives_the_results_of_run(tmp_path: Path, data: st.DataObject):
    func = data.draw(st.one_of(programs(), wild_programs().map(lambda text: parse(text).program)))
    sch = Schedule(func)
    for _ in range(data.draw(st.integers(0, 5))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    arrays = given_values(sch.func)
    expected = outputs(sch.func, arrays)
    if expected is None:
        return
    for accesses in ("free", "exact"):
        exported = c_function(sch.func, accesses=accesses)
        # A new file name: a loaded library is not read again.
        library = compiled([exported.text], tmp_path, f"case_{len(list(tmp_path.iterdir()))}", ("-O2",))
        found = call(library, exported, arrays)
        for name, values in expected.items():
            assert equal_arrays(found[name], values), (name, exported.text)


@needs_cc
def test_symbolic_sizes_are_parameters(tmp_path: Path):
    sch = Schedule(parse(BLUR).program)
    sch.split(sch.get_loops("blur")[1], [None, 8], names=["xo", "xi"])
    exported = c_function(sch.func)
    assert "int32_t H" in exported.text and "for (int32_t xi = 0; xi < 8; ++xi)" in exported.text
    image = np.random.default_rng(0).integers(0, 256, (13, 34), dtype=np.uint8)
    found = run_c(sch.func, {"A": image, "B": np.zeros((13, 32), np.uint8)}, tmp_path)
    np.testing.assert_array_equal(found["B"], run(sch.func, {"A": image})["B"])


@needs_cc
def test_strides_and_vectors_keep_their_addresses(tmp_path: Path):
    source = (
        HEADER
        + """
@T.prim_func
def move(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8, 16), "int32")
    B = T.match_buffer(b, (8, 16), "int32")
    for i, j in T.grid(8, 4):
        with T.block("move"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj * 4:vj * 4 + 4])
            T.writes(B[vi, vj * 4:vj * 4 + 4])
            B[vi, T.ramp(vj * 4, 1, 4)] = A[vi, T.ramp(vj * 4, 1, 4)] + T.broadcast(3, 4)
    for i in T.serial(8):
        with T.block("turn"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi, 0:4])
            T.writes(B[vi, 1:5])
            B[vi, T.ramp(1, 1, 4)] = B[vi, T.ramp(0, 1, 4)] * T.broadcast(2, 4)
"""
    )
    func = parse(source).program
    arrays = random_inputs(func)
    np.testing.assert_array_equal(run_c(func, arrays, tmp_path)["B"], run(func, arrays)["B"])


def test_c_text_has_the_loops_blocks_and_names():
    sch = Schedule(of_elements("float32", "float32", Mul, "main"))
    named = Schedule(parse(BLUR).program)
    y, x = named.get_loops("blur")
    _, xi = named.split(x, [None, 8], names=["double", "x_o"])
    named.parallel(y)
    named.unroll(xi)
    text = to_c(named.func)
    assert "for (int32_t y = 0; y < H; ++y) {  /* parallel */" in text
    assert "for (int32_t double_ = 0; double_ < 4; ++double_) {" in text
    assert "for (int32_t x_o = 0; x_o < 8; ++x_o) {  /* unrolled */" in text and "/* blur */" in text
    assert "void main_(const float *restrict A, const float *restrict B, float *restrict C) {" in to_c(sch.func)


@needs_cc
def test_a_modules_functions_are_all_in_the_file(tmp_path: Path):
    funcs = (parse(BLUR).program, of_elements("int8", "int8", Min, "exp"))
    library = compiled([to_c(IRModule(funcs))], tmp_path)
    assert library.blur and library.exp_


@needs_cc
def test_a_failing_assertion_returns_its_status(tmp_path: Path):
    source = (
        HEADER
        + """
@T.prim_func
def checked(a: T.handle):
    A = T.match_buffer(a, (4,), "int32")
    with T.block("root"):
        T.reads()
        T.writes()
        for i in T.serial(4):
            assert A[i] < 7, "too /* large */"
            A[i] = A[i] + 1
"""
    )
    func = parse(source).program
    exported = c_function(func)
    library = compiled([exported.text], tmp_path)
    assert exported.can_fail
    for values, status in (([1, 2, 3, 4], 0), ([1, 2, 9, 4], 2)):
        array = np.array(values, np.int32)
        assert library.checked(array.ctypes.data_as(ctypes.c_void_p)) == status


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (
            Evaluate(Call("call_extern", (StringImm("f"), BufferData(Buffer("A", (IntImm(4),)))), "int32")),
            "call_extern",
        ),
        (
            LetStmt(
                Var("v", "float32x4"),
                build.broadcast(build.const(1.0, "float32"), "float32x4"),
                Evaluate(Call("f", (), "int32")),
            ),
            "f",
        ),
    ],
)
def test_what_c_cannot_express_is_refused_by_name(body: Stmt, what: str):
    with pytest.raises(TilewrightError) as caught:
        to_c(PrimFunc("f", (), (), body))
    assert caught.value.code == "no-c" and what in caught.value.refusal.message


def test_a_dtype_that_c_lacks_is_refused():
    with pytest.raises(TilewrightError) as caught:
        to_c(of_elements("bfloat16", "bfloat16", Mul))
    assert caught.value.code == "no-c" and "bfloat16" in caught.value.refusal.message


@needs_cc
def test_exact_accesses_are_volatile_and_in_order():
    func = of_elements("int32", "int32", Add)
    text = to_c(func, accesses="exact", storage="arguments")
    order = [text.index(t) for t in ("A_value = A[i]", "B_value = B[i]", "C[i] = add_i32(A_value, B_value)")]
    assert order == sorted(order) and text.count("volatile") == 3
    exported = c_function(func, accesses="exact")
    lines = exported.text.splitlines()
    assert [lines[n - 1].strip().partition(" = ")[2][:2] for n in exported.line_of[""]] == ["A[", "B[", "ad"]
