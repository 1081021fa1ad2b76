"""Properties that do not affect a program's computation are kept: offsets, alignment, strides, scopes, attributes. TVM decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.profile import IS_DEEP
from support.tvm.cache_kernels import cache_kernels

from tilewright import ParseError, parse, to_script

tvm = pytest.importorskip("tvm")
tvm_ffi = pytest.importorskip("tvm_ffi")
pytestmark = pytest.mark.tvm

PROGRAM = """
@T.prim_func(s_tir=True)
def main({parameters}, B: T.Buffer((16,), "float32")):
    {above}
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            {inside}
            B[vi] = A[vi] + T.float32(1)
"""
OFFSETS = (
    "elem_offset=0",
    "elem_offset=T.int64(0)",
    "elem_offset=8",
    "elem_offset=T.int64(8)",
    "elem_offset=off",
    "elem_offset=off, offset_factor=4",
    "offset_factor=1",
    "offset_factor=4",
    "elem_offset=T.int32(0), offset_factor=8",
    "byte_offset=16",
)
OPTIONS = (
    "strides=(s,)",
    "align=16",
    "align=1",
    'scope="shared"',
    'layout="default"',
    "layout=None",
    "strides=(s,), elem_offset=off",
    "",
)
ATTRIBUTES = (
    "1",
    "-3",
    "True",
    "1.5",
    "'x'",
    "None",
    "[1, 'a', None]",
    "{'k': [1]}",
    "T.int64(1)",
    "T.float32(1.5)",
    "T.float64(1.5)",
    "1099511627776",
    "T.int64(1099511627776)",
    "T.uint8(3)",
    "[[]]",
)
HANDLES = ('T.handle("float32")', 'T.handle("float32", "shared")', "T.handle", "T.int64", "T.float16", "T.bool")


def programs() -> Iterator[str]:
    """Yield a program for each property that a buffer, a function, a block or a parameter can have."""
    for size in ("16", "T.int64(16)"):
        for option in (*OFFSETS, *OPTIONS):
            for dtype in ("int32", "int64"):
                variables = [f"{v} = T.{dtype}()" for v, use in (("off", "=off"), ("s", "(s,)")) if use in option]
                matched = f'T.match_buffer(a, ({size},), "float32"{", " * bool(option)}{option})'
                yield _program("a: T.handle", [*variables, f"A = {matched}"])
                region = matched.replace("(a,", "(C[vi:vi + 1],").replace("(16)", "(1)").replace("(16,", "(1,")
                inside = [*variables, f"V = {region}", "T.evaluate(V[0])"]
                yield (
                    _program('C: T.Buffer((16,), "float32")', ["A = C"], inside)
                    .replace("A = C", "pass")
                    .replace("A[vi]", "C[vi]")
                )
    for value in ATTRIBUTES:
        yield _program('A: T.Buffer((16,), "float32")', [f'T.func_attr({{"a": {value}}})'])
        yield _program('A: T.Buffer((16,), "float32")', ["pass"], [f'T.sblock_attr({{"a": {value}}})'])
    for handle in HANDLES:
        yield _program(f'A: T.Buffer((16,), "float32"), p: {handle}', ["pass"])


def _program(parameters: str, above: list[str], inside: list[str] | None = None) -> str:
    return PROGRAM.format(
        parameters=parameters, above="\n    ".join(above), inside="\n            ".join(inside or ["pass"])
    )


def same(left: Any, right: Any) -> bool:
    """Whether two functions are equal but for their names."""
    pair = [f["main"] if isinstance(f, tvm.IRModule) else f for f in (left, right)]
    left, right = [f.with_attr("global_symbol", "main") for f in pair]
    return tvm_ffi.structural_equal(left, right, map_free_vars=True)


def test_property_is_kept_or_the_text_is_refused() -> None:
    kept = 0
    for text in programs() if IS_DEEP else [*programs()][::5]:
        try:
            theirs = tvm.script.from_source(text)
        except Exception:
            continue  # not a program of TVM
        try:
            printed = to_script(parse(text))
        except ParseError:
            continue
        assert same(theirs, tvm.script.from_source(printed)), f"{text}\n{printed}"
        kept += 1
    assert kept >= (100 if IS_DEEP else 20)


@pytest.mark.slow
def test_text_of_a_paged_cache_kernel_keeps_its_program() -> None:
    """TVM no longer prints the type of an implicit offset, so its reading of its own text is the reference."""
    kept = refused = 0
    for _, build in cache_kernels():
        try:
            kernel = build()
        except ValueError:
            continue  # the tile does not fit the target
        text = getattr(kernel, "mod", kernel).script()
        try:
            printed = to_script(parse(text))
        except ParseError as error:
            assert error.refusal.found == "T.Buffer", error
            refused += 1
            continue
        assert same(tvm.script.from_source(text), tvm.script.from_source(printed)), printed
        kept += 1
    assert kept > 10 * refused
