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
