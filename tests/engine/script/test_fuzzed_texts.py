"""Minimised texts from a fuzzer: each once ended in a Python error and is now refused at its place."""

from __future__ import annotations

import warnings

import pytest

from tilewright.engine.script import ParseError, find_tree, parse
from tilewright.engine.script.reading.statements.bodies import StatementReader

PROGRAM = """\
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads({region})
            B[vi] = {value}
"""


@pytest.mark.parametrize(
    ("region", "value", "code", "column"),
    [
        ("A[0:8:0]", "A[vi]", "out-of-range", 23),
        ("A[0:8:-1]", "A[vi]", "out-of-range", 23),
        ("A[vi]", "T.Add(T.int8x4(1), T.int8x2(1))", "wrong-type", 21),
        ("A[vi]", "T.int32(1e999)", "out-of-range", 21),
        ("A[vi]", "A[vi // 0]", "out-of-range", 23),
    ],
)
def test_a_missing_value_is_refused_at_its_place(region: str, value: str, code: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(PROGRAM.format(region=region, value=value), "p.py")
    refusal = caught.value.refusal
    assert (refusal.code, refusal.place.column if refusal.place else 0) == (code, column)
    assert refusal.place is not None and refusal.place.line == (6 if region != "A[vi]" else 7)


def test_flat_text_with_a_leading_init_is_refused() -> None:
    with pytest.raises(ParseError, match="the text has no program"):
        parse('([],"")\nwith T.init():\n[]()\n(())')


def test_pythons_warnings_about_odd_literals_are_suppressed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_tree("x = 1if y else 2") is not None and find_tree("x = (") is None
        with pytest.raises(ParseError):
            parse("def f():\nx = 1if 2 else 3\nwith T.init():\n1()")


def test_missing_check_is_an_internal_error_at_its_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a missing check")

    monkeypatch.setattr(StatementReader, "_store", fail)
    with pytest.raises(ParseError, match="a missing check") as caught:
        parse(PROGRAM.format(region="A[vi]", value="A[vi]"))
    refusal = caught.value.refusal
    assert refusal.code == "internal-error" and isinstance(caught.value.__cause__, KeyError)
    assert refusal.place is not None and refusal.place.line == 7 and refusal.found == "B[vi] = A[vi]"
