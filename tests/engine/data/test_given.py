"""Data that is given for a program: the parameters that decide trip counts, and what a value says about them."""

from __future__ import annotations

import pytest

from tilewright.engine.data import DataError, data_use, with_data
from tilewright.engine.ir import Contents, IRModule, PrimFunc
from tilewright.engine.script import parse

HEAD = "from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\n"

CSR = HEAD + (
    """\
def rows(P: T.Buffer((65,), "int32"), V: T.Buffer((256,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("row"):
            vi = T.axis.spatial(64, i)
            Y[vi] = T.float32(0)
            for j in range(P[vi + 1] - P[vi]):
                Y[vi] = Y[vi] + V[P[vi] + j]
"""
)

PAGED = HEAD + (
    """\
def paged(P: T.Buffer((5,), "int32"), L: T.Buffer((4,), "int32"), Y: T.Buffer((4, 256), "float32")):
    for b in range(4):
        with T.sblock("attn"):
            vb = T.axis.spatial(4, b)
            n = T.sblock_alloc_buffer((1,), "int32")
            n[0] = (P[vb + 1] - P[vb] - 1) * 16 + L[vb]
            for t in range(n[0]):
                Y[vb, t] = T.float32(0)
"""
)

FLAT = HEAD + (
    """\
def flat(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]
"""
)


def func_of(text: str) -> PrimFunc:
    found = parse(text).program
    assert isinstance(found, PrimFunc)
    return found


def test_offsets_and_what_counts_a_loop() -> None:
    use = data_use(func_of(CSR))
    (loop,) = use.loops
    assert loop.name == "j" and loop.counts_with is not None and loop.counts_with.name == "P"
    assert [b.name for b in use.offsets] == ["P"]


def test_a_trip_count_through_another_buffer() -> None:
    use = data_use(func_of(PAGED))
    (loop,) = use.loops
    assert [b.name for b in loop.parameters] == ["P", "L"] and loop.counts_with is None
    assert [b.name for b in use.offsets] == ["P"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"j": 4}, Contents("P", line=(0, 4, 1))),
        ({"P": 2.5}, Contents("P", line=(0, 5, 2))),
        ({"P": list(range(65))}, Contents("P", tuple(range(65)))),
        ({"P": "sorted, 0..256"}, Contents("P", facts=("sorted",), low=0, high=256)),
        ({"P": "distinct"}, Contents("P", facts=("distinct",))),
    ],
)
def test_contents_of_a_value(given: dict[str, object], expected: Contents) -> None:
    func = with_data(func_of(CSR), given)  # type: ignore[arg-type]
    assert isinstance(func, PrimFunc)
    (found,) = func.data
    assert (found.buffer, found.values, found.line, found.facts, found.low, found.high) == (
        expected.buffer, expected.values, expected.line, expected.facts, expected.low, expected.high,
    )  # fmt: skip
    assert found.about
    again = with_data(func, {})
    assert isinstance(again, PrimFunc) and again.data == ()


@pytest.mark.parametrize(
    ("text", "given", "code"),
    [
        (CSR, {"nnz": 4}, "unknown-data"),
        (CSR, {"V": 4}, "unknown-data"),
        (FLAT, {"A": 4}, "unknown-data"),
        (PAGED, {"t": 4}, "unknown-data"),
        (CSR, {"j": -1}, "bad-data"),
        (CSR, {"j": "many"}, "bad-data"),
        (CSR, {"P": [1, 2]}, "bad-data"),
        (CSR, {"P": [2**40] * 65}, "bad-data"),
        (CSR, {"P": [1.5] * 65}, "bad-data"),
        (CSR, {"P": []}, "bad-data"),
        (CSR, {"P": "9..2"}, "bad-data"),
        (CSR, {"P": float("nan")}, "bad-data"),
        (CSR, {"P": [0] * ((1 << 20) + 1)}, "bad-data"),
    ],
)
def test_values_that_are_refused(text: str, given: dict[str, object], code: str) -> None:
    with pytest.raises(DataError) as caught:
        with_data(func_of(text), given)  # type: ignore[arg-type]
    assert caught.value.code == code


def test_data_of_a_module_belongs_to_the_functions_with_the_name() -> None:
    csr, flat = func_of(CSR), func_of(FLAT)
    module = with_data(IRModule((csr, flat)), {"j": 4})
    assert isinstance(module, IRModule)
    assert [len(func.data) for func in module.functions] == [1, 0] and module.functions[1] is flat
    with pytest.raises(DataError):
        with_data(module, {"nnz": 4})
