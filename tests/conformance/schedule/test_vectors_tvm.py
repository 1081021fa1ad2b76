"""Vectors are read and scheduled as in TVM; TVM's tensor intrinsics are read, and placed where TVM places them."""

from __future__ import annotations

import importlib
import pkgutil
import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.programs.vectors import READ_ONLY, RUNS, STAGED, vector_text
from support.tvm.oracle import REFUSALS, assert_same_program, tvm, tvm_parse, tvm_schedule

from tilewright.engine.export import to_tvm_python
from tilewright.engine.ir import first_difference
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Intrinsics, Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm

TEXTS = {name: vector_text(*lines) for name, (lines, _) in RUNS.items()}
TEXTS |= {name: vector_text(*lines) for name, lines in READ_ONLY.items()}


@pytest.mark.parametrize("name", TEXTS)
def test_vectors_are_read_as_in_tvm(name: str):
    ours, theirs = parse(TEXTS[name]).program, tvm_parse(TEXTS[name])
    assert_same_program(to_script(ours), theirs)
    assert first_difference(ours, parse(theirs["main"].script()).program) is None


Call = Callable[[Any], object]
CALLS: dict[str, tuple[Call, bool, bool]] = {
    "a producer of its elements": (lambda s: s.compute_at(s.get_sblock("B"), s.get_loops(s.get_sblock("D"))[1]), True, True),
    "a consumer": (lambda s: s.reverse_compute_at(s.get_sblock("C"), s.get_loops(s.get_sblock("D"))[1]), True, True),
    "a copy": (lambda s: s.cache_read(s.get_sblock("D"), 0, "local"), True, True),
    "a copy of it": (lambda s: s.cache_write(s.get_sblock("D"), 0, "local"), True, True),
    "split": (lambda s: s.split(s.get_loops(s.get_sblock("D"))[1], [None, 3]), True, True),
    "fuse": (lambda s: s.fuse(*s.get_loops(s.get_sblock("D"))), True, True),
    "blockize": (lambda s: s.blockize(s.get_loops(s.get_sblock("D"))[1]), True, True),
    "iterators": (lambda s: s.transform_block_layout(s.get_sblock("D"), lambda i, j: (i * 4 + j,)), True, True),
    "rows": (lambda s: s.transform_layout(s.get_sblock("D"), ("read", 0), lambda i, j: (i // 4, i % 4, j)), True, True),
    "lanes in front": (lambda s: s.transform_layout(s.get_sblock("D"), ("read", 0), lambda i, j: (j, i)), False, False),
    "lanes mixed": (lambda s: s.transform_layout(s.get_sblock("D"), ("read", 0), lambda i, j: (i, j // 8, j % 8)), False, False),
    # TVM multiplies and adds scalars to vectors, and puts a vector in front of another as an index.
    "elements put into it": (lambda s: s.compute_inline(s.get_sblock("B")), False, True),
    "mixed where it writes": (lambda s: s.transform_layout(s.get_sblock("D"), ("write", 0), lambda i, j: (i, j // 8, j % 8)), False, True),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_on_vectors_agree_with_tvm(name: str):
    call, *expected = CALLS[name]
    ours, theirs = Schedule(parse(STAGED).program), tvm_schedule(STAGED)
    assert [accepts(ours, call, (ScheduleError,)), accepts(theirs, call, REFUSALS)] == expected
    if all(expected):
        assert_same_program(to_script(ours.mod), theirs.mod)


def accepts(schedule: Any, call: Call, refusals: tuple[type[BaseException], ...]) -> bool:
    try:
        call(schedule)
    except refusals:
        return False
    return True


INTRINSICS = pytest.mark.xdist_group("tensor_intrinsics")


@cache
def shipped_names() -> frozenset[str]:
    """The tensor intrinsics of TVM. Their import costs seconds: one worker does it, when a test needs them."""
    shipped = importlib.import_module("tvm.s_tir.tensor_intrin")
    modules = [importlib.import_module(f"{shipped.__name__}.{m.name}") for m in pkgutil.iter_modules(shipped.__path__)]
    words = {v for m in modules for v in vars(m).values() if isinstance(v, str)}
    return frozenset(w for w in words if len(w) < 100 and tvm.s_tir.TensorIntrin.get(w, True) is not None)


@pytest.mark.slow
@INTRINSICS
def test_each_intrinsic_of_tvm_exists_here():
    names, own = shipped_names(), Intrinsics()
    assert len(names) > 100
    for name in sorted(names):
        theirs = tvm.s_tir.TensorIntrin.get(name)
        registered = own.register(name, theirs.desc.script(), theirs.impl.script())
        assert first_difference(registered.desc, parse(to_script(registered.desc)).program) is None, name
        assert first_difference(registered.impl, parse(to_script(registered.impl)).program) is None, name


def dot_text(lanes: int, depth: int, types: tuple[str, str, str]) -> str:
    """Sums of `depth` products at a time in each of `lanes` sums; without lanes, one sum of a buffer near the units."""
    a, b, c = types
    if not lanes:
        near, far = 'scope="shared"', 'scope="local"'
        params = (
            f'A: T.Buffer((8, 16), "{a}", {near}), B: T.Buffer((8, 16), "{b}", {near}), C: T.Buffer((8,), "{c}", {far})'
        )
        header = f"for i, o, k in T.grid(8, {16 // depth}, {depth}):"
        axes = f"vi = T.axis.spatial(8, i)\n            vk = T.axis.reduce(16, o * {depth} + k)"
        there, first, second = "C[vi]", "A[vi, vk]", "B[vi, vk]"
    else:
        params = f'A: T.Buffer((8, 16), "{a}"), B: T.Buffer((2, {16 // depth}, {lanes}, {depth}), "{b}"), '
        params += f'C: T.Buffer((8, {2 * lanes}), "{c}")'
        header = f"for i, n, o, l, k in T.grid(8, 2, {16 // depth}, {lanes}, {depth}):"
        axes = 'vi, vn, vo, vl, vk = T.axis.remap("SSRSR", [i, n, o, l, k])'
        there, first, second = f"C[vi, vn * {lanes} + vl]", f"A[vi, vo * {depth} + vk]", "B[vn, vo, vl, vk]"
    return (
        f"from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef main({params}):\n    {header}\n"
        f'        with T.sblock("C"):\n            {axes}\n            with T.init():\n                {there} = T.{c}(0)\n'
        f'            {there} = {there} + T.Cast("{c}", {first}) * T.Cast("{c}", {second})\n'
    )


DOTS: dict[str, tuple[int, int, tuple[str, str, str]]] = {
    "dot_16x4_vnni": (16, 4, ("uint8", "int8", "int32")),
    "dot_16x4_avx512": (16, 4, ("uint8", "int8", "int32")),
    "dot_4x4_i8i8s32_sdot": (4, 4, ("int8", "int8", "int32")),
    "dot_4x4_i8i8s32_neon": (4, 4, ("int8", "int8", "int32")),
    "dot_32x4_u8u8i32_vrmpy": (32, 4, ("uint8", "uint8", "int32")),
    "dot_product_32x2_i16i16i32_vdmpy": (32, 2, ("int16", "int16", "int32")),
    "sdot4": (0, 4, ("int8", "int8", "int32")),
    "dp4a_u8s8s32": (0, 4, ("uint8", "int8", "int32")),
}


def tensorized(sch: Any, name: str) -> None:
    *_, outer, inner = [sch.get_loops(sch.get_sblock("C"))[i] for i in ((2, 3) if DOTS[name][0] else (1, 2))]
    sch.decompose_reduction(sch.get_sblock("C"), outer)
    sch.tensorize(inner, name)


@pytest.mark.slow
@INTRINSICS
@pytest.mark.parametrize("name", DOTS)
def test_sums_of_products_are_tensorized_as_in_tvm(name: str, tmp_path: Path):
    shipped_names()
    intrin, own = tvm.s_tir.TensorIntrin.get(name), Intrinsics()
    own.register(name, intrin.desc.script(), intrin.impl.script())
    text = dot_text(*DOTS[name])
    ours, theirs = Schedule(parse(text).program, intrinsics=own), tvm_schedule(text)
    tensorized(ours, name)
    tensorized(theirs, name)
    assert_same_program(to_script(ours.mod), theirs.mod)
    file = tmp_path / "exported.py"
    file.write_text(to_tvm_python(ours), encoding="utf-8")
    assert_same_program(to_script(ours.mod), runpy.run_path(str(file))["sch"].mod)
    assert ours.verify().detail.endswith("tested through its description")
    assert to_script(lower(ours.func))
