"""Schedule code as data."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright.static
from tilewright.engine.ir import AXIS_SEPARATOR, IndexMap
from tilewright.engine.script import CallStep, ParseError, Ref, expr_text, read_calls


def one(text: str) -> CallStep:
    (step,) = read_calls(text)
    return step


def test_split_has_targets_receiver_method_and_arguments() -> None:
    step = one('ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"], preserve_unit_iters=True)')
    assert step.targets == ("ko", "ki") and step.unpacks
    assert (step.receiver, step.method, step.index) == ("sch", "split", None)
    assert step.args == (Ref("k"),)
    assert step.kwargs == {"factors": [None, 32], "names": ["ko", "ki"], "preserve_unit_iters": True}


def test_tuple_target_unpacks_and_a_name_does_not() -> None:
    assert not one("loops = sch.get_loops(C)").unpacks
    assert one("(x,) = sch.get_loops(C)").unpacks
    assert one("[x] = sch.get_loops(C)").unpacks


def test_a_bare_call_has_no_targets() -> None:
    assert one("sch.reorder(i, j)").targets == ()


def test_index_of_a_step_or_a_reference() -> None:
    step = one("j = sch.get_loops(b)[1]")
    assert (step.targets, step.index, step.args) == (("j",), 1, (Ref("b"),))
    assert one("sch.parallel(loops[0])").args == (Ref("loops", 0),)
    assert one("sch.reorder(loops[-1], loops[2])").args == (Ref("loops", -1), Ref("loops", 2))


def test_lists_stay_lists_and_tuples_tuples() -> None:
    step = one('sch.f(1, -2, 2.5, "x", True, None, [1, (2, 3)], ("write", 0), 4 * 16, [])')
    assert step.args == (1, -2, 2.5, "x", True, None, [1, (2, 3)], ("write", 0), 64, [])
    assert isinstance(step.args[4], bool)


@pytest.mark.parametrize(
    "separator",
    [
        "AXIS_SEPARATOR",
        "tilewright.AXIS_SEPARATOR",
        "IndexMap.AXIS_SEPARATOR",
        "te.AXIS_SEPARATOR",
        "T.AXIS_SEPARATOR",
        "tvm.te.AXIS_SEPARATOR",
    ],
)
def test_a_lambda_is_an_index_map(separator: str) -> None:
    step = one(f'sch.transform_layout(AL, ("write", 0), lambda m, k: [k // 64 % 2, {separator}, m, k // 128, k % 64])')
    index_map = step.args[2]
    assert isinstance(index_map, IndexMap)
    assert [p.name for p in index_map.params] == ["m", "k"]
    assert [expr_text(i) for i in index_map.indices] == ["k // 64 % 2", "m", "k // 128", "k % 64"]
    assert index_map.separators == (1,)


@pytest.mark.parametrize(
    "text",
    [
        "lambda i: i // 2",
        "lambda i: (i // 2, i % 2)",
        "lambda i, j: [j, i]",
        "lambda i: [T.floordiv(i, 2), T.min(i, 3)]",
    ],
)
def test_any_form_of_lambda_is_an_index_map(text: str) -> None:
    assert isinstance(one(f"sch.transform_layout(b, ('write', 0), index_map={text})").kwargs["index_map"], IndexMap)


def test_a_bare_separator_is_a_value() -> None:
    assert one("sch.f(AXIS_SEPARATOR)").args == (AXIS_SEPARATOR,)


def test_harmless_lines_without_calls_are_skipped() -> None:
    text = '# a comment\nimport tilewright\nfrom tvm.script import tirx as T\n"""words"""\npass\n\nsch.parallel(i)  # there\n'
    assert one(text).text == "sch.parallel(i)"


def test_places_count_from_the_first_line_of_the_file() -> None:
    first, second = read_calls("a = sch.f(\n    x,\n)\n\n  \nsch.g(a)\n", "note.py", 40)
    assert (first.place.line, first.place.column, first.place.end_line, first.place.end_column) == (40, 1, 42, 2)
    assert (second.place.line, second.place.file) == (45, "note.py")
    assert first.text == "a = sch.f(\n    x,\n)"


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("3", "unsupported", 1),
        ("x = y + 1", "unsupported", 5),
        ("x += 1", "unsupported", 1),
        ("x: int = sch.f()", "unsupported", 1),
        ("x = y = sch.f()", "unsupported", 1),
        ("x.y = sch.f()", "unsupported", 1),
        ("x[0] = sch.f()", "unsupported", 1),
        ("a, *b = sch.f()", "unsupported", 1),
        ("a, a = sch.f()", "wrong-arguments", 1),
        ("() = sch.f()", "unsupported", 1),
        ("import os", "unsupported", 1),
        ("from os import path", "unsupported", 1),
        ("for i in range(3):\n    sch.f(i)", "unsupported", 1),
        ("if x:\n    sch.f()", "unsupported", 1),
        ("def f():\n    pass", "unsupported", 1),
        ("sch.f(sch.g())", "unsupported", 7),
        ("sch.f()(3)", "unsupported", 1),
        ("sch.f().g()", "unsupported", 1),
        ("sch.f(*loops[0])", "unsupported", 7),
        ("sch.f(**kw)", "unsupported", 9),
        ("sch.f(x.y)", "unsupported", 7),
        ("sch.f({1: 2})", "unsupported", 8),
        ("sch.f([x for x in y])", "unsupported", 7),
        ("sch.f(f'{x}')", "unsupported", 7),
        ("sch.f(x + 1)", "unsupported", 7),
        ("sch.f(9 ** 9 ** 9)", "out-of-range", 7),
        ("sch.f(1 // 0)", "out-of-range", 7),
        ("sch.f(b'x')", "unsupported", 7),
        ("sch.f(2j)", "unsupported", 7),
        ("sch.f(99999999999999999999999)", "out-of-range", 7),
        ("sch.f(x[y])", "wrong-type", 9),
        ("sch.f()['x']", "wrong-type", 9),
        ("sch.f(lambda: 1)", "wrong-arguments", 7),
        ("sch.f(lambda *i: i)", "wrong-arguments", 7),
        ("sch.f(lambda i, i=3: i)", "wrong-arguments", 7),
        ("sch.f(lambda i: [])", "wrong-arguments", 17),
        ("sch.f(lambda i: i / 2)", "wrong-type", 17),
        ("sch.f(lambda i: i < 2)", "wrong-type", 17),
        ("sch.f(lambda i: q)", "unknown-name", 17),
        ("sch.f(lambda i: open('x'))", "unsupported", 17),
        ("sch.f(", "syntax", 6),
        ("sch.f(" + ", ".join(["1"] * 300) + ")", "too-large", 1),
    ],
)  # fmt: skip
def test_code_outside_of_the_subset_is_refused_at_its_place(text: str, code: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        read_calls(text, "note.py", 7)
    place = caught.value.refusal.place
    assert caught.value.code == code, str(caught.value)
    assert place is not None and (place.file, place.line, place.column) == ("note.py", 7, column), str(caught.value)


@pytest.mark.parametrize(
    "path", sorted((Path(tilewright.static.__file__).parent / "examples").glob("*.py")), ids=lambda p: p.stem
)
def test_schedule_of_an_example_notebook_is_read(path: Path) -> None:
    cells = path.read_text().split("# %% ")
    steps = [s for cell in cells if cell.startswith("schedule") for s in read_calls("#" + cell)]
    fewest = 1 if "tilelang" in path.read_text() else 5
    assert steps[0].method == "Schedule" and len(steps) >= fewest
