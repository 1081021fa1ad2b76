"""Calls as text."""

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.adopt import call_of
from tilewright.engine.export import call_text, index_map_text, quoted, unique_name, value_text
from tilewright.engine.ir import AXIS_SEPARATOR, IndexMap, Var


def by_name(handle: Var | str) -> str:
    return handle.name if isinstance(handle, Var) else f"<{handle}>"


LOOP_I, LOOP_J = Var("i"), Var("j")


@pytest.mark.parametrize(
    ("method", "args", "kwargs", "text"),
    [
        ("split", (LOOP_I, [None, 16]), {}, "s.split(i, factors=[None, 16])"),
        ("split", (LOOP_I, (None, 16)), {"names": ("a", "b")}, 's.split(i, factors=[None, 16], names=["a", "b"])'),
        ("split", (LOOP_I, [4]), {"preserve_unit_iters": False}, "s.split(i, factors=[4], preserve_unit_iters=False)"),
        ("fuse", (LOOP_I, LOOP_J), {}, "s.fuse(i, j)"),
        ("reorder", (LOOP_J, LOOP_I), {}, "s.reorder(j, i)"),
        ("compute_at", ("B", LOOP_I), {}, "s.compute_at(<B>, i)"),
        ("compute_at", ("B", LOOP_I), {"index": 2, "preserve_unit_loops": False}, "s.compute_at(<B>, i, index=2)"),
        ("cache_read", ("B", 0, "B"), {}, 's.cache_read(<B>, 0, "B")'),
        ("cache_read", ("B", 0, "x", ["C"]), {}, 's.cache_read(<B>, 0, "x", consumer_blocks=[<C>])'),
        ("annotate", (LOOP_I, "k", ("a", 1)), {}, 's.annotate(i, "k", ["a", 1])'),
        (
            "transform_layout",
            ("B", ("write", 0), IndexMap.from_function(lambda m, k: [k // 64, AXIS_SEPARATOR, m, k % 64], 2)),
            {},
            's.transform_layout(<B>, ("write", 0), lambda m, k: [k // 64, AXIS_SEPARATOR, m, k % 64])',
        ),
    ],
)
def test_call_text(method: str, args: tuple[object, ...], kwargs: dict[str, object], text: str) -> None:
    assert call_text(call_of(method, args, kwargs), by_name, receiver="s", separator="AXIS_SEPARATOR") == text


def test_separators_can_be_dropped_and_axes_remain_distinct() -> None:
    m = Var("x")
    index_map = IndexMap.from_items([m, Var("x"), Var("lambda")], [m, AXIS_SEPARATOR, m])
    assert index_map_text(index_map, separator=None) == "lambda x, x_1, lambda_: [x, x]"


@given(st.text(), st.sets(st.sampled_from(["x", "x_1", "i", "_", "_1"])))
def test_unique_names_are_new_variables(name: str, used: set[str]) -> None:
    found = unique_name(name, used)
    assert found.isidentifier() and found.isascii() and not keyword.iskeyword(found)
    assert found not in used


@given(st.text())
def test_strings_read_back_as_themselves(text: str) -> None:
    import ast

    assert ast.literal_eval(quoted(text)) == text
    assert ast.literal_eval(value_text(text, by_name)) == text
