"""Random inputs have values that the program can use: indices within their axes, nonzero divisors."""

from __future__ import annotations

import pytest

from tilewright.engine.execute import random_inputs, verify
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

TEXT = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((40,), "float32"), I: T.Buffer((64,), "int32"), B: T.Buffer((64,), "float32")):
    J = T.sblock_alloc_buffer((64,), "int64")
    for i in range(64):
        with T.sblock("J"):
            vi = T.axis.spatial(64, i)
            J[vi] = T.Cast("int64", I[vi])
    for i in range(64):
        with T.sblock("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = {value}
"""

COUNTED = """@T.prim_func(s_tir=True)
def main(n: T.int32, A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32")):
    for i in range(40):
        with T.sblock("zero"):
            vi = T.axis.spatial(40, i)
            B[vi] = T.float32(0)
    for i in range(n):
        with T.sblock("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.float32(1)
"""


def program(value: str) -> PrimFunc:
    found = parse(TEXT.format(value=value)).program
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("A[I[vi]]", 0, 39),
        ("A[I[vi] * 4 + vi % 4]", 0, 9),
        ("A[J[vi]]", 0, 39),
        ("A[J[vi] + T.int64(30)]", 0, 9),
        ("T.Cast('float32', vi // I[vi])", 1, 8),
        ("T.Cast('float32', I[vi])", -8, 8),
    ],
)
def test_random_integers_cover_the_values_that_their_use_allows(value: str, low: int, high: int) -> None:
    func = program(value)
    drawn = random_inputs(func)["I"]
    assert low <= drawn.min() <= low + 2
    assert high - 2 <= drawn.max() <= high
    assert verify(func, func).status == "tested"


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("A[vi % 8 + n]", 0, 32),
        ("A[(vi * 2 + n) % 40]", 0, 39),
        ("T.Cast('float32', vi // n)", 1, 8),
        ("T.if_then_else(vi < n, A[vi], T.float32(0))", 1, 8),
    ],
)
def test_an_integer_parameter_has_a_value_that_its_use_allows(value: str, low: int, high: int) -> None:
    text = TEXT.replace("main(A", "main(n: T.int32, A").format(value=value)
    func = parse(text).program
    assert isinstance(func, PrimFunc)
    drawn = int(random_inputs(func)["n"])
    assert low <= drawn <= high
    verdict = verify(func, func)
    assert verdict.status == "tested" and f"n = {drawn}" in verdict.detail
    other = parse(
        text.replace("n]", "n - 1]")
        .replace("vi < n", "vi <= n")
        .replace("vi // n", "vi // (n + 1)")
        .replace("+ n)", "+ n + 1)")
    ).program
    assert isinstance(other, PrimFunc)
    assert verify(other, func).status == "failed"


def test_an_integer_parameter_counts_a_loop() -> None:
    func = parse(COUNTED).program
    assert isinstance(func, PrimFunc)
    assert random_inputs(func)["n"] >= 1
    assert verify(func, func).status == "tested"
