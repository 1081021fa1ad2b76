"""Random inputs have values that the program can use: indices within their axes, nonzero divisors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.engine.data import DataValue, with_data
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


SPMV = """@T.prim_func(s_tir=True)
def rows(
    P: T.Buffer((65,), "int32"), J: T.Buffer((256,), "int32"), V: T.Buffer((256,), "float32"),
    X: T.Buffer((40,), "float32"), Y: T.Buffer((64,), "float32")
):
    for i in range(64):
        with T.sblock("row"):
            vi = T.axis.spatial(64, i)
            Y[vi] = T.float32(0)
            for j in range(P[vi + 1] - P[vi]):
                Y[vi] = Y[vi] + V[P[vi] + j] * X[J[P[vi] + j]]
"""

RAGGED = """@T.prim_func(s_tir=True)
def main(X: T.Buffer((32, 512), "float32"), L: T.Buffer((32,), "int32"), Y: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.sblock("row"):
            vi = T.axis.spatial(32, i)
            Y[vi] = T.float32(0)
            for j in range(L[vi]):
                Y[vi] = Y[vi] + X[vi, j]
"""

ASSUMING = """@T.prim_func(s_tir=True)
def main(X: T.Buffer((64,), "float32"), I: T.Buffer((64,), "int32"), Y: T.Buffer((200,), "float32")):
    for i in range(63):
        with T.sblock("facts"):
            vi = T.axis.spatial(63, i)
            T.evaluate(T.assume({fact}))
    for i in range(64):
        with T.sblock("scatter"):
            vi = T.axis.spatial(64, i)
            Y[I[vi]] = X[vi]
"""


def drawn(text: str, name: str, given: dict[str, DataValue] | None = None) -> list[int]:
    func = with_data(parse(text).program, given or {})
    assert isinstance(func, PrimFunc)
    assert verify(func, func).status == "tested"
    return random_inputs(func)[name].tolist()


def test_offsets_are_sorted_and_end_within_the_elements() -> None:
    offsets = drawn(SPMV, "P")
    assert offsets == sorted(offsets) and offsets[0] >= 0 and 200 < offsets[-1] <= 256
    assert len(set(offsets)) > 32, "rows of several lengths"


def test_lengths_stay_within_the_rows() -> None:
    lengths = drawn(RAGGED, "L")
    assert min(lengths) >= 1 and 32 < max(lengths) <= 64


@pytest.mark.parametrize(
    ("given", "check"),
    [
        ({"P": [4 * n for n in range(65)]}, lambda p: p == [4 * n for n in range(65)]),
        ({"j": 2.5}, lambda p: p == [5 * n // 2 for n in range(65)]),
        ({"P": "0..9"}, lambda p: p == sorted(p) and p[-1] <= 9),
    ],
)
def test_given_offsets(given: dict[str, DataValue], check: Callable[[list[int]], bool]) -> None:
    assert check(drawn(SPMV, "P", given))


@pytest.mark.parametrize(
    ("fact", "given"),
    [
        ("I[vi] < I[vi + 1]", {}),
        ("I[vi + 1] > I[vi]", {}),
        ("I[vi] <= I[vi + 1]", {"I": "sorted, distinct"}),
        ("T.bool(True)", {"I": "distinct, sorted, 10..80"}),
    ],
)
def test_declared_facts_hold(fact: str, given: dict[str, DataValue]) -> None:
    found = drawn(ASSUMING.format(fact=fact), "I", given)
    assert found == sorted(set(found)) and found[0] >= 0 and found[-1] < 200
    assert "10..80" not in str(given) or (found[0] >= 10 and found[-1] <= 80)


@pytest.mark.parametrize(
    ("fact", "low", "high"),
    [("I[vi] >= 20 and I[vi] < 30", 20, 29), ("20 <= I[vi] and I[vi] <= 30", 20, 30), ("I[vi] > 20", 21, 199)],
)
def test_declared_bounds_hold(fact: str, low: int, high: int) -> None:
    found = drawn(ASSUMING.format(fact=fact), "I")
    assert low <= min(found) <= low + 9 and high - 9 <= max(found) <= high


def test_too_few_distinct_values_are_refused() -> None:
    func = with_data(parse(ASSUMING.format(fact="T.bool(True)")).program, {"I": "distinct, 0..9"})
    assert isinstance(func, PrimFunc)
    verdict = verify(func, func)
    assert verdict.status == "unknown" and "distinct values for I" in verdict.detail
