"""Menus of the tree: every primitive is offered, defaults are accepted calls, values of a form are parsed."""

from __future__ import annotations

import pytest
from support.programs.sources import MATMUL, MATMUL_RELU

from tilewright.app.actions.call_arguments import call_arguments, read_index_map
from tilewright.app.views.menus import BLOCK_ITEMS, LOOP_ITEMS, row_menus
from tilewright.engine.ir import IndexMap, TilewrightError, Var
from tilewright.engine.schedule import PRIMITIVES, Schedule
from tilewright.engine.script import parse

BY_DRAGGING = {"compute_at", "reverse_compute_at", "reorder"}


def schedule(text: str = MATMUL_RELU) -> Schedule:
    return Schedule(parse(text).program)


def entry(sch: Schedule, row: str, method: str) -> dict:
    return next(e for e in row_menus(sch.func)[row] if e.method == method)


def test_every_primitive_has_a_place_in_the_tree():
    assert {item.method for item in (*LOOP_ITEMS, *BLOCK_ITEMS)} | BY_DRAGGING == set(PRIMITIVES)


@pytest.mark.parametrize("items", [LOOP_ITEMS, BLOCK_ITEMS], ids=["loops", "blocks"])
def test_menu_keys_are_single_and_not_those_of_the_tree(items):
    keys = [item.key for item in items]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 1 for key in keys)
    assert not set(keys) & set("cr.? ")


def sent(fields: list[dict]) -> dict:
    """The values that an unchanged form sends."""
    readers = {
        "ints": lambda text: [None if t.strip() == "None" else int(t) for t in text.split(",")],
        "names": lambda text: [t.strip() for t in text.split(",")],
        "literal": int,
        "words": lambda text: [t.strip() for t in text.split(",")],
        "text": lambda text: text or "note",
    }
    values: dict = {}
    for f in fields:
        if f.default == "" and f.optional:
            continue
        value = readers.get(f.type, lambda value: value)(f.default)
        values |= dict(zip(f.spread, value, strict=True)) if f.spread else {f.name: value}
    return values


def everything_offered() -> list[tuple[str, str]]:
    return [(row, e.method) for row, entries in row_menus(schedule().func).items() for e in entries if not e.disabled]


MAY_BE_REFUSED = {
    "vectorize",
    "parallel",
    "bind",
    "compute_inline",
    "reverse_compute_inline",
    "set_scope",
    "double_buffer",
    "pipeline",
    "merge",
    "fuse_reduction_epilogue",
    "rolling_buffer",
    "tensorize",
    "loop_partition",
}
"""Refused for reasons that a menu does not check: reductions, opaque producers, no loop to overlap."""


@pytest.mark.sample(99)
@pytest.mark.parametrize(("row", "method"), everything_offered())
def test_an_offered_call_with_its_defaults_is_accepted(row, method):
    sch = schedule()
    args, kwargs = call_arguments(sch.func, method, row, sent(entry(sch, row, method).fields))
    try:
        getattr(sch, method)(*args, **kwargs)
    except TilewrightError as error:
        assert method in MAY_BE_REFUSED, error
        assert error.refusal.code
    else:
        assert sch.verify().status == "tested"


def test_new_loop_names_of_a_split_are_not_rows():
    sch = schedule(MATMUL)
    args, kwargs = call_arguments(sch.func, "split", "i", {"factors": [None, 16], "names": ["k", "ii"]})
    assert isinstance(args[0], Var)
    assert kwargs == {"factors": [None, 16], "names": ["k", "ii"]}


def test_fuse_gets_its_loops_as_arguments():
    sch = schedule(MATMUL)
    (field,) = entry(sch, "i", "fuse").fields
    assert [choice.value for choice in field.choices] == [["i", "j"], ["i", "j", "k"]]
    args, kwargs = call_arguments(sch.func, "fuse", "i", {"loops": ["i", "j"]})
    assert [loop.name for loop in args] == ["i", "j"]
    assert kwargs == {}


def test_fuse_of_an_innermost_loop_is_refused_with_a_reason():
    assert entry(schedule(MATMUL), "k", "fuse").disabled


def test_set_scope_of_an_output_is_refused_with_a_reason():
    assert entry(schedule(MATMUL), "C", "set_scope").disabled
    assert not entry(schedule(), "matmul", "set_scope").disabled


def test_text_of_an_index_map_has_its_separator():
    found = read_index_map("lambda i, j: [i % 2, AXIS_SEPARATOR, j, i // 2]")
    assert isinstance(found, IndexMap)
    assert found.separators == (1,)
    assert len(found.indices) == 3


@pytest.mark.parametrize(
    "text",
    ["", "1", "lambda i: [i]) or open('x'", "__import__('os')", "lambda i: [i], 3", "lambda i: [i]\nsch.undo()"],
)
def test_other_text_is_refused_as_an_index_map(text):
    with pytest.raises(TilewrightError):
        read_index_map(text)


def test_a_form_of_a_deleted_row_is_refused():
    with pytest.raises(TilewrightError) as refused:
        call_arguments(schedule(MATMUL).func, "unroll", "zz", {})
    assert refused.value.code == "unknown-row"


def test_the_slots_of_a_staged_copy_are_a_number_field():
    sch = schedule(MATMUL)
    sch.compute_at(sch.cache_read("C", 0, "local"), "k")
    few, more = (e for e in row_menus(sch.func)["A_local"] if e.method == "double_buffer" and not e.disabled)
    assert few.fields == []
    (slots,) = more.fields
    assert (slots.name, slots.type, slots.default) == ("slots", "int", 3)
    args, kwargs = call_arguments(sch.func, "double_buffer", "A_local", sent(more.fields))
    sch.double_buffer(*args, **kwargs)
    assert sch.trace.steps[-1].argument("slots") == 3
