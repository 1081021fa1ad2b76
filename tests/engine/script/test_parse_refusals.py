"""Unreadable text is a ParseError with its place; so is hostile text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.programs.sources import CURRENT

from tilewright.engine.script import ParseError, parse, read_calls

HEADER = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"
HEADER += 'def f(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "int32")):\n'
FIRST = HEADER.count("\n") + 1


def refused(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse(text, "f.py")
    assert caught.value.refusal.place is not None
    assert caught.value.refusal.place.file == "f.py"
    return caught.value


@pytest.mark.parametrize(
    ("body", "code", "column", "found"),
    [
        ("A[0, 0] = Q[0]", "unknown-name", 11, "Q"),
        ("for i in range(4):\n    A[i, 0] = a[i, 0]", "unknown-name", 15, "a"),
        ("A[0] = 1.0", "wrong-arguments", 1, "A[0]"),
        ("A[0, 1.5] = 1.0", "wrong-type", 6, "1.5"),
        ("A[0, 0:2] = 1.0", "wrong-type", 13, "1.0"),
        ("A[0, T.Ramp(0, -1, 2)] = A[0, 0:2]", "unsupported", 6, "T.Ramp(0, -1, 2)"),
        ("A[0, T.Ramp(0, 1, 2) % 3] = A[0, 0:2]", "wrong-type", 6, "T.Ramp(0, 1, 2) % 3"),
        ("A[0, 0:2] = A[0, 0:4]", "wrong-type", 13, "A[0, 0:4]"),
        ("A[0:2, 0] = 1.0", "unsupported", 3, "0:2"),
        ("A[0, 0:2] = A[0:2, 0]", "unsupported", 13, "A[0:2, 0]"),
        ("T.evaluate(T.Broadcast(1, 1))", "wrong-type", 27, "1"),
        ("T.evaluate(T.Broadcast(T.int32x4(1), 2))", "unsupported", 24, "T.int32x4(1)"),
        ("A[0, 0] = B[0, 0] / 2", "wrong-type", 11, "B[0, 0] / 2"),
        ("A[0, 0] = A[0, 0] // 2", "wrong-type", 11, "A[0, 0] // 2"),
        ("A[0, 0] = B[0, 0] // 0", "out-of-range", 11, "B[0, 0] // 0"),
        ("A[0, 0] = A[0, 0] ** 2", "unsupported", 11, "A[0, 0] ** 2"),
        ("A[0, 0] = T.expp(A[0, 0])", "unsupported", 11, "T.expp"),
        ("A[0, 0] = exp(A[0, 0])", "unsupported", 11, "exp"),
        ("A[0, 0] = A[0, 0] if B[0, 0] else 1", "unsupported", 11, None),
        ("A[0, 0] = T.Cast(\"float33\", B[0, 0])", "unsupported", 18, '"float33"'),
        ("A[0, 0] = T.int8(300)", "out-of-range", 11, "T.int8(300)"),
        ("A[0, 0] = 99999999999999999999999", "out-of-range", 11, None),
        ("A[0, 0] = A", "wrong-type", 11, "A"),
        ("A[0, 0] = __import__('os').system('true')", "unsupported", 11, None),
        ("import os", "unsupported", 1, "import os"),
        ("for i in [1, 2]:\n    pass", "unsupported", 10, "[1, 2]"),
        ("for i, j in T.grid(4):\n    pass", "wrong-arguments", 5, "i, j"),
        ("for i in T.serial(0, 4, 2, 1):\n    pass", "wrong-arguments", 10, None),
        ("for i in T.thread_binding(4):\n    pass", "wrong-arguments", 10, None),
        ("vi = T.axis.spatial(4, 0)", "unsupported", 1, None),
        ("T.reads(A[0, 0])", "unsupported", 1, None),
        ('with T.sblock("x"):\n    vi = T.axis.remap("S", [3])\n    A[0, 0] = 1.0', "wrong-arguments", 29, "3"),
        ('with T.sblock("x"):\n    for i in range(4):\n        T.where(i < 3)', "unsupported", 9, None),
        ('with T.sblock([128, T.reduce_axis(0, 4)], "x") as [i]:\n    A[0, 0] = 1.0', "wrong-arguments", 6, None),
        ('with T.sblock([16], "x") as [i]:\n    T.bind(j, 0)\n    A[0, 0] = 1.0', "unknown-name", 12, "j"),
        ('with T.sblock([16, 8], "x") as [i, j]:\n    T.bind(i, 0)\n    A[i, j] = 1.0', "wrong-arguments", 6, None),
        ('for k in range(16):\n    with T.sblock([16, 8], "x") as [i, j]:\n        A[i, j] = 1.0', "wrong-arguments", 10, None),
        ("with open('x'):\n    pass", "unsupported", 6, None),
        ('S = T.sblock_alloc_buffer((4, 4), "int8", axis_separators=[2])', "out-of-range", 59, "[2]"),
        ('S = T.sblock_alloc_buffer((4,), data=A)', "unsupported", 38, "A"),
        ("x: T.let = 1\nx: T.let = 2", "unsupported", 1, "x"),
        ("T.evaluate(lambda x: x)", "wrong-type", 12, "lambda x: x"),
    ],
)  # fmt: skip
def test_text_outside_of_the_subset_is_refused_at_its_place(
    body: str, code: str, column: int, found: str | None
) -> None:
    lines = [f"    {line}" for line in body.splitlines()]
    error = refused(HEADER + "\n".join(lines) + "\n")
    place = error.refusal.place
    assert place is not None
    assert error.code == code, str(error)
    assert FIRST <= place.line < FIRST + len(lines)
    assert place.column == column + 4, str(error)
    assert found is None or error.refusal.found == found
    assert error.refusal.expected or error.refusal.fix or "zero" in error.refusal.message, "says what would be right"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "not-a-program", 1),
        ("x = 1\n", "not-a-program", 1),
        ("def f(A):\n    pass\n", "not-a-program", 1),
        ("@T.prim_func\ndef f(A):\n    pass\n", "wrong-arguments", 2),
        ("@T.prim_func\ndef f(A: T.Buffer):\n    pass\n", "wrong-arguments", 2),
        ("@T.prim_func\ndef f(n: T.int32, n: T.int32):\n    pass\n", "not-a-program", 2),
        ("@T.prim_func\ndef f(*a: T.int32):\n    pass\n", "unsupported", 2),
        ("@T.prim_func(private=3)\ndef f():\n    pass\n", "unsupported", 1),
        ("@I.ir_module\nclass M:\n    pass\n", "not-a-program", 2),
        ("class M:\n    pass\n", "not-a-program", 1),
        ("@T.prim_func\ndef f():\n    pass\n" * 2, "not-a-program", 5),
        ("@T.prim_func\ndef f():\nfor i in range(3):\n    pass\n", "syntax", 3),
        ("@T.prim_func\ndef f():\n    A[ = 1\n", "syntax", 3),
        ("print('hello')\n", "not-a-program", 1),
        ("x = open('/etc/passwd')\n", "not-a-program", 1),
        ("from tvm.script import relax as R\n@R.function\ndef f(x):\n    return x\n", "not-a-program", 3),
    ],
)
def test_text_that_is_no_program_is_refused_at_its_place(text: str, code: str, line: int) -> None:
    error = refused(text)
    assert error.code == code, str(error)
    assert error.refusal.place is not None and error.refusal.place.line == line, str(error)


def test_misspelt_name_gets_the_nearest_one() -> None:
    assert refused(HEADER + "    A[0, 0] = T.sqtr(1.0)\n").refusal.fix[0] == "T.sqrt"
    error = refused(CURRENT["matmul"].replace("B[vk, vj]\n", "B[vkk, vj]\n"))
    assert "vk" in error.refusal.fix


def test_stores_without_indentation_have_a_fix() -> None:
    """Blocks show their position (tests/engine/adopt/test_pasted.py); bare stores do not."""
    error = refused(
        "\n".join(line.strip() for line in f"{HEADER}for i in range(4):\nA[i, 0] = 1.0\nA[0, 1] = 2.0".splitlines())
    )
    assert error.code == "syntax" and "indent" in error.refusal.fix[0]


def test_columns_after_umlauts_count_characters() -> None:
    error = refused(HEADER + '    A[0, 0] = T.call_extern("float32", "äöü€😀") + Q\n')
    place = error.refusal.place
    assert place is not None and error.refusal.found == "Q"
    assert place.column == len('    A[0, 0] = T.call_extern("float32", "äöü€😀") + Q')


def deep(opening: str, closing: str, depth: int) -> str:
    return HEADER + f"    A[0, 0] = {opening * depth}1.0{closing * depth}\n"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("#" * 10_000_000, {"too-large"}),
        (deep("(", ")", 9_000), {"too-deep", "syntax"}),
        (deep("-", "", 10_000), {"too-deep", "syntax"}),
        (deep("T.exp(", ")", 130), {"too-deep"}),
        (deep("1.0 + ", "", 10_000), {"too-deep"}),
        (deep("not ", "", 10_000), {"too-deep", "syntax"}),
        (deep("A[0, ", "]", 3_000), {"too-deep", "syntax"}),
        (deep("lambda: ", "", 5_000), {"too-deep", "syntax"}),
        (HEADER + "".join(f"{' ' * (4 + n)}for i{n} in range(2):\n" for n in range(10_000)), {"too-deep", "syntax", "too-large"}),
        (HEADER + "".join(f"{' ' * (4 + n)}if True:\n" for n in range(130)) + " " * 134 + "pass\n", {"too-deep", "syntax"}),
        (HEADER + "    A[0, 0] = " + "9" * 9_000 + "\n", {"syntax", "out-of-range"}),
        (HEADER + "    A[0, 0] = 9 ** 9 ** 9 ** 9\n", {"out-of-range"}),
        (HEADER + "    A[0, 0] = 1 << 1 << 60 << 60\n", {"out-of-range"}),
        ("\0", {"syntax"}),
        ("\ud800", {"syntax"}),
        ("\f\x1c\u2028@", {"syntax"}),
    ],
    ids=lambda value: value.strip()[-20:] if isinstance(value, str) else "",
)  # fmt: skip
def test_hostile_text_is_refused(text: str, codes: set[str]) -> None:
    assert refused(text).code in codes


# fmt: off
WORDS = (
    "@T.prim_func\n", "def f(A: T.Buffer((4,))):\n", "    ", "for i in ", "range(4)", ":\n", "A[i]", " = ", "T.exp(", ")", "[", "]", "vi",
    ",", "0", 'T.axis.remap("S", [i])', 'with T.sblock("x")', "T.init()", "1.5", "-", "lambda x: ", "T.grid(4, 4)", "**", "*", "if ",
    "T.match_buffer(A, (4,))", "else:\n", "@I.ir_module\nclass M:\n", "\n", "\n    ", "\n        ",
)
# fmt: on
PIECES = st.sampled_from(WORDS)


@given(text=st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60))
@example("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = A[*A]\n")
@example("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = T.Let(1, where={**A})\n")
@example("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = T.handle(3)\n")
def test_law_any_text_is_read_or_refused(text: str) -> None:
    for read in (parse, read_calls):
        try:
            read(text)
        except ParseError as error:
            assert error.refusal.place is not None
            assert str(error)


SAMPLES = "\n".join(CURRENT.values()).splitlines()


@given(name=st.sampled_from(sorted(CURRENT)), data=st.data())
def test_law_a_damaged_program_is_read_or_refused(name: str, data: st.DataObject) -> None:
    lines = CURRENT[name].splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    kind = data.draw(st.sampled_from(["drop", "swap", "cut", "insert"]))
    if kind == "drop":
        del lines[at]
    elif kind == "swap":
        lines[at] = data.draw(st.sampled_from(SAMPLES))
    elif kind == "cut":
        lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
    else:
        place = data.draw(st.integers(0, len(lines[at])))
        lines[at] = lines[at][:place] + data.draw(PIECES) + lines[at][place:]
    try:
        parse("\n".join(lines))
    except ParseError as error:
        assert error.refusal.place is not None
