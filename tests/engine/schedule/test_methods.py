"""Each primitive is a method of schedules, with its signature, types and docstring."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest
from support.programs.sources import MATMUL

from tilewright.engine.ir import IndexMap, Var, first_difference
from tilewright.engine.schedule import PRIMITIVES, Schedule
from tilewright.engine.schedule.context import Result
from tilewright.engine.script import parse


@pytest.mark.parametrize("name", PRIMITIVES)
def test_methods_have_the_signatures_of_primitives(name: str) -> None:
    method, function = getattr(Schedule, name), PRIMITIVES[name].apply
    this, *parameters = inspect.signature(method).parameters.values()
    context, *expected = inspect.signature(function).parameters.values()
    assert (this.name, context.name) == ("self", "ctx") and parameters == expected
    assert inspect.getdoc(method) == inspect.getdoc(function) and method.__name__ == name
    types, of_function = get_type_hints(method), get_type_hints(function)
    assert Result[types.pop("return")] == of_function.pop("return")
    assert types == {key: value for key, value in of_function.items() if key != "ctx"}


def test_methods_of_a_schedule_are_bound() -> None:
    sch = Schedule(parse(MATMUL).program)
    assert "self" not in inspect.signature(sch.split).parameters
    i, j, _ = Schedule.get_loops(sch, "C")
    assert isinstance(Schedule.fuse(sch, i, j), Var) and sch.trace.steps[-1].method == "fuse"


def test_wrong_arguments_name_the_call_and_change_nothing() -> None:
    sch = Schedule(parse(MATMUL).program)
    before = sch.mod
    with pytest.raises(TypeError, match=r"split\(\) missing a required argument: 'factors'"):
        sch.split("i")  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"fuse\(\) got an unexpected keyword argument 'names'"):
        sch.fuse(names=["a"])  # pyright: ignore[reportCallIssue]
    assert sch.mod is before and not sch.trace.steps


def test_trace_has_every_argument_in_canonical_form() -> None:
    sch = Schedule(parse(MATMUL).program)
    sch.transform_layout("C", "A", lambda i, j: [j, i])
    step = sch.trace.steps[-1]
    names = [name for name, _ in step.arguments]
    assert names == ["block", "buffer", "index_map", "pad_value", "assume_injective_transform"]
    assert isinstance(step.argument("index_map"), IndexMap) and step.argument("pad_value") is None


def test_composite_primitive_is_traced_with_its_own_arguments() -> None:
    sch = Schedule(parse(MATMUL).program)
    sch.set_layout("C", "A", [1, 0])
    assert [name for name, _ in sch.trace.steps[-1].arguments] == ["block", "buffer", "order_or_strides"]
    assert first_difference(sch.replayed().mod, sch.mod) is None
