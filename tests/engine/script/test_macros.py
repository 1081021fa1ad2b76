"""Macros of TVMScript, whose statements a call stands for."""

from __future__ import annotations

import pytest

from tilewright.engine.ir import structural_equal
from tilewright.engine.script import ParseError, parse

HEAD = "from tvm.script import tirx as T\n\n"
PROGRAM = """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            {call}
"""
WRITTEN = "B[vi] = A[vi] + T.float32(2)"
MACROS = {
    "with arguments": ("@T.macro\ndef m(X, Y, j, by):\n    Y[j] = X[j] + by\n", "m(A, B, vi, T.float32(2))"),
    "inline": ("@T.inline\ndef m(X, Y, j):\n    Y[j] = X[j] + T.float32(2)\n", "m(A, B, j=vi)"),
    "of the names at its definition": (
        "by = 2\n@T.macro\ndef m(X, Y, j):\n    Y[j] = X[j] + T.float32(by)\nby = 2\n",
        "m(A, B, vi)",
    ),
    "of the names at its call": ("@T.macro(hygienic=False)\ndef m(j):\n    B[j] = A[j] + T.float32(2)\n", "m(vi)"),
    "that calls another": (
        "@T.macro\ndef inner(X, j, value):\n    X[j] = value\n@T.macro\ndef m(X, Y, j):\n    inner(Y, j, X[j] + T.float32(2))\n",
        "m(A, B, vi)",
    ),
    "with a default": ("@T.macro\ndef m(X, Y, j, by=2.0):\n    Y[j] = X[j] + T.float32(by)\n", "m(A, B, vi)"),
}


@pytest.mark.parametrize("name", MACROS)
def test_call_of_a_macro_is_its_statements(name: str) -> None:
    macro, call = MACROS[name]
    found = parse(f"{HEAD}{macro}\n{PROGRAM.format(call=call)}").program
    assert structural_equal(found, parse(HEAD + PROGRAM.format(call=WRITTEN)).program)


WRONG = {
    "allocating": (
        "@T.macro\ndef m(X, j, Y):\n    t = T.alloc_buffer((1,), 'float32')\n    t[0] = X[j]\n    Y[j] = t[0]\n",
        "m(A, vi, B)",
        "unsupported",
    ),
    "missing": ("@T.macro\ndef m(X, j):\n    X[j] = T.float32(0)\n", "m(A)", "wrong-arguments"),
    "endless": ("@T.macro(hygienic=False)\ndef m(j):\n    m(j)\n", "m(vi)", "too-deep"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_are_refused(name: str) -> None:
    macro, call, code = WRONG[name]
    with pytest.raises(ParseError) as caught:
        parse(f"{HEAD}{macro}\n{PROGRAM.format(call=call)}")
    assert caught.value.refusal.code == code
