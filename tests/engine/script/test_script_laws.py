"""Laws of text in and out: what is printed reads back as the same program, and prints the same again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import calls
from support.programs import programs

from tilewright.engine.ir import (
    EQ,
    GE,
    LT,
    NE,
    Add,
    And,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    For,
    IntImm,
    IRModule,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimFunc,
    Select,
    Sub,
    Var,
    build,
    first_difference,
)
from tilewright.engine.lower import lower, plan
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, print_program, to_script

I, J = Var("i"), Var("j", "int64")
DATA = {
    "int32": Buffer("A", (IntImm(8),), "int32"),
    "int64": Buffer("B", (IntImm(8),), "int64"),
    "float32": Buffer("F", (IntImm(8),)),
}


def leaves(dtype: str) -> st.SearchStrategy[Expr]:
    if dtype == "float32":
        numbers = st.floats(width=32, allow_nan=False).map(lambda v: FloatImm(v))
        return st.one_of(numbers, st.just(BufferLoad(DATA[dtype], (I,))))
    if dtype == "bool":
        return st.sampled_from([build.TRUE, build.FALSE, LT(I, IntImm(3)), EQ(I, I)])
    values = st.integers(-20, 20).map(lambda v: IntImm(v, dtype))
    return st.one_of(values, st.just(I if dtype == "int32" else J), st.just(BufferLoad(DATA[dtype], (I,))))


def expressions(dtype: str, depth: int = 4) -> st.SearchStrategy[Expr]:
    """Any node, folded or not: a constant may stand where reading would have folded it away."""
    if depth == 0:
        return leaves(dtype)
    same, other = expressions(dtype, depth - 1), st.sampled_from(("int32", "int64", "float32"))
    pairs = st.tuples(same, same)
    condition = st.deferred(lambda: expressions("bool", depth - 1))
    if dtype == "bool":
        compared = other.flatmap(lambda d: st.tuples(expressions(d, depth - 1), expressions(d, depth - 1)))
        kinds = st.sampled_from([EQ, NE, LT, GE])
        logic = st.builds(lambda k, p: k(*p), st.sampled_from([And, Or]), pairs)
        return st.one_of(leaves(dtype), st.builds(lambda k, p: k(*p), kinds, compared), logic, same.map(Not))
    arithmetic: list[Any] = [Add, Sub, Mul, Div, Min, Max]
    if dtype != "float32":
        arithmetic += [FloorDiv, FloorMod, Mod]
    options = [
        leaves(dtype),
        st.builds(lambda k, p: k(*p), st.sampled_from(arithmetic), pairs),
        st.builds(lambda c, p: Select(c, *p), condition, pairs),
        st.builds(lambda c, p: Call("if_then_else", (c, *p), dtype), condition, pairs),
        other.flatmap(lambda d: expressions(d, depth - 1)).map(lambda e: Cast(dtype, e)),
    ]
    if dtype == "float32":
        options += [same.map(lambda e: Call("exp", (e,), dtype)), pairs.map(lambda p: Call("pow", p, dtype))]
    else:
        bits = st.sampled_from(["bitwise_or", "bitwise_xor", "bitwise_and", "shift_left", "shift_right"])
        both = pairs.filter(lambda p: not all(isinstance(e, IntImm) for e in p))
        options.append(st.builds(lambda op, p: Call(op, p, dtype), bits, both))
    return st.one_of(options)


def assert_reads_back(program: PrimFunc | IRModule, dialect: Any) -> None:
    text = to_script(program, dialect)
    again = parse(text).program
    difference = first_difference(again, program)
    assert difference is None, f"{difference}\n{text}"
    assert to_script(again, dialect) == text


DIALECTS = st.sampled_from(["current", "classic"])


@given(program=programs(), dialect=DIALECTS)
def test_law_a_program_reads_back(program: PrimFunc, dialect: str) -> None:
    assert_reads_back(program, dialect)


@given(data=st.data(), dtype=st.sampled_from(["int32", "int64", "float32"]))
def test_law_any_expression_reads_back(data: st.DataObject, dtype: str) -> None:
    value = data.draw(expressions(dtype))
    store = BufferStore(DATA[dtype], value, (I,))
    body = build.serial(I, 8, For(J, build.const(0, "int64"), build.const(8, "int64"), "serial", store))
    handles = {name: Var(f"h_{name}", "handle") for name in DATA}
    assert_reads_back(
        PrimFunc("f", tuple(handles.values()), tuple((h, DATA[n]) for n, h in handles.items()), body), "current"
    )


@given(program=programs(), data=st.data())
def test_law_scheduled_planned_and_lowered_programs_read_back(program: PrimFunc, data: st.DataObject) -> None:
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(0, 5))):
        try:
            calls.apply(sch, data.draw(calls.calls(sch)))
        except ScheduleError:
            continue
    dialect = data.draw(DIALECTS)
    assert_reads_back(sch.mod, dialect)
    assert_reads_back(plan(sch.func), dialect)
    assert_reads_back(lower(sch.func), dialect)


@given(program=programs())
def test_law_positions_lie_in_the_text(program: PrimFunc) -> None:
    printed = print_program(program)
    lines = printed.text.splitlines()
    for places in printed.positions.values():
        for p in places:
            assert (p.line, p.column) < (p.end_line, p.end_column)
            assert p.end_line <= len(lines) and p.end_column <= len(lines[p.end_line - 1]) + 1
            assert lines[p.line - 1][p.column - 1] != " "


def test_given_a_very_long_sum_then_printing_does_not_overflow() -> None:
    value: Expr = I
    for _ in range(100):
        value = Sub(value, I)
    store = BufferStore(DATA["int32"], value, (I,))
    handle = Var("h", "handle")
    assert_reads_back(PrimFunc("f", (handle,), ((handle, DATA["int32"]),), build.serial(I, 8, store)), "current")


@pytest.mark.parametrize("dialect", ["current", "classic"])
def test_given_no_functions_then_the_print_is_a_class_all_the_same(dialect: Any) -> None:
    assert "pass" in to_script(IRModule(()), dialect)
