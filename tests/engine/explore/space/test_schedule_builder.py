"""Schedules with holes are built of calls: their text says the same as the calls, and refused calls leave no trace."""

from __future__ import annotations

import pytest
from support.programs.sources import MATMUL

from tilewright.engine.explore import space_of
from tilewright.engine.explore.space.schedule_builder import ScheduleBuilder
from tilewright.engine.ir import ParameterItem, PrimFunc, TilewrightError, Var, structural_equal
from tilewright.engine.script import parse, read_calls


def program() -> PrimFunc:
    found = parse(MATMUL).program
    assert isinstance(found, PrimFunc)
    return found


def tiled() -> tuple[ScheduleBuilder, list[Var]]:
    """A builder after tiles of the first two loops, in an order to choose; and its loops."""
    builder = ScheduleBuilder(program(), "sch", None)
    builder.call("get_block", "C", into=["C"])
    i, j, k = builder.name_loops("C")
    sizes = builder.choice("sizes", "sizes", [(8, 16), (16, 8)])
    tiles = [
        builder.split(v, (None, ParameterItem(sizes, n)), [f"{v.name}o", f"{v.name}i"]) for n, v in enumerate((i, j))
    ]
    (io, ii), (jo, ji) = tiles
    order = builder.choice("order", "order", [("io", "jo"), ("jo", "io")])
    builder.call("reorder", ParameterItem(order), ii, ji)
    return builder, [io, jo, ii, ji, k]


def test_the_text_has_variables_for_handles_and_choices() -> None:
    builder, (_, jo, *_) = tiled()
    (copy,) = builder.call("cache_read", "C", "A", "local", into=["A in"])
    builder.call("compute_at", copy, jo)
    assert builder.text.splitlines() == [
        'C = sch.get_block("C")',
        "i, j, k = sch.get_loops(C)",
        'sizes = tilewright.choose("sizes", [[8, 16], [16, 8]])',
        'io, ii = sch.split(i, factors=[None, sizes[0]], names=["io", "ii"])',
        'jo, ji = sch.split(j, factors=[None, sizes[1]], names=["jo", "ji"])',
        'order = tilewright.choose("order", [["io", "jo"], ["jo", "io"]])',
        "sch.reorder(*order, ii, ji)",
        'A_in = sch.cache_read(C, "A", "local")',
        "sch.compute_at(A_in, jo)",
    ]


def test_the_statements_say_what_the_text_says() -> None:
    builder, _ = tiled()
    made, read = (space_of(program(), calls) for calls in (builder.calls, read_calls(builder.text)))
    assert [(h.name, h.target, h.texts) for h in made.holes] == [(h.name, h.target, h.texts) for h in read.holes]
    for point in read.points():
        assert structural_equal(made.schedule_at(point).schedule.func, read.schedule_at(point).schedule.func)
    assert made.text_at((1, 1)) == read.text_at((1, 1))


def test_a_refused_call_leaves_nothing() -> None:
    builder, (io, *_) = tiled()
    text, schedule = builder.text, builder.schedule

    def calls() -> object:
        builder.call("unroll", io)
        return builder.call("compute_at", "C", builder.choice("at", "at", ["io", "jo"]))

    assert builder.attempt(calls) is None and not builder.accepts("compute_at", "C", io)
    assert builder.would("unroll", io)
    assert (builder.text, builder.schedule) == (text, schedule)
    with pytest.raises(TilewrightError):
        builder.call("compute_at", "C", io)


def test_a_choice_that_no_call_uses_is_no_hole() -> None:
    builder, _ = tiled()
    builder.choice("slots", "slots", [1, 2])
    assert "slots" not in builder.text and [p.name for p in builder.parameters] == ["sizes", "order"]


def test_equal_names_of_choices_are_told_apart() -> None:
    builder, (*_, ii, _ji, k) = tiled()
    for loop in (ii, k):
        factor = builder.choice("factor", "sizes", [1, 2])
        builder.split(loop, (None, factor), ["o", "i"])
    assert [p.name for p in builder.parameters] == ["sizes", "order", "sizes (factor)", "sizes (factor_1)"]
    assert builder.text.splitlines()[-1].startswith("o_1, i_2 = sch.split(k")
