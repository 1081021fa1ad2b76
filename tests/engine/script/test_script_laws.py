"""Laws of parsing and printing: printed text reads back as the same program, and prints the same again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.schedules import calls

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
from tilewright.engine.lower import LowerError, lower, plan
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, print_program, to_script

ROW, COLUMN = Var("i"), Var("j", "int64")
DATA = {
    "int32": Buffer("A", (IntImm(8),), "int32"),
    "int64": Buffer("B", (IntImm(8),), "int64"),
    "float32": Buffer("F", (IntImm(8),)),
}


def leaves(dtype: str) -> st.SearchStrategy[Expr]:
    if dtype == "float32":
        numbers = st.floats(width=32, allow_nan=False).map(FloatImm)
        return st.one_of(numbers, st.just(BufferLoad(DATA[dtype], (ROW,))))
    if dtype == "bool":
        return st.sampled_from([build.TRUE, build.FALSE, LT(ROW, IntImm(3)), EQ(ROW, ROW)])
    values = st.integers(-20, 20).map(lambda v: IntImm(v, dtype))
    return st.one_of(values, st.just(ROW if dtype == "int32" else COLUMN), st.just(BufferLoad(DATA[dtype], (ROW,))))


FLOATS = ("add", "select", "choice", "cast", "exp", "pow")
INTEGERS = ("add", "select", "choice", "cast", "bits")
ARITHMETIC = (Add, Sub, Mul, Div, Min, Max)
BITS = ("bitwise_or", "bitwise_xor", "bitwise_and", "shift_left", "shift_right")


@st.composite
def expressions(draw: st.DrawFn, dtype: str, depth: int = 4) -> Expr:
    """Any node, folded or not: reading may have folded some of the constants away."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(leaves(dtype))
    if dtype == "bool":
        return draw(conditions(depth))
    a, b = draw(expressions(dtype, depth - 1)), draw(expressions(dtype, depth - 1))
    match draw(st.sampled_from(FLOATS if dtype == "float32" else INTEGERS)):
        case "add":
            more = () if dtype == "float32" else (FloorDiv, FloorMod, Mod)
            return draw(st.sampled_from((*ARITHMETIC, *more)))(a, b)
        case "select":
            return Select(draw(conditions(depth)), a, b)
        case "choice":
            return Call("if_then_else", (draw(conditions(depth)), a, b), dtype)
        case "cast":
            return Cast(dtype, draw(expressions(draw(st.sampled_from(("int32", "int64", "float32"))), depth - 1)))
        case "bits" if not (isinstance(a, IntImm) and isinstance(b, IntImm)):
            return Call(draw(st.sampled_from(BITS)), (a, b), dtype)
        case "pow":
            return Call("pow", (a, b), dtype)
        case _:
            return Call("exp", (a,), dtype) if dtype == "float32" else Add(a, a)


@st.composite
def conditions(draw: st.DrawFn, depth: int) -> Expr:
    """A boolean expression."""
    if draw(st.booleans()):
        of = draw(st.sampled_from(("int32", "int64", "float32")))
        kind = draw(st.sampled_from((EQ, NE, LT, GE)))
        return kind(draw(expressions(of, depth - 1)), draw(expressions(of, depth - 1)))
    a, b = draw(expressions("bool", depth - 1)), draw(expressions("bool", depth - 1))
    return draw(st.sampled_from((And(a, b), Or(a, b), Not(a))))


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
    store = BufferStore(DATA[dtype], value, (ROW,))
    body = build.serial(ROW, 8, For(COLUMN, build.const(0, "int64"), build.const(8, "int64"), "serial", store))
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
    for lowered in plan, lower:
        try:
            flat = lowered(sch.func)
        except LowerError:  # a program that cannot be lowered is refused; it has no text then
            continue
        assert_reads_back(flat, dialect)


@given(program=programs())
def test_law_positions_lie_in_the_text(program: PrimFunc) -> None:
    printed = print_program(program)
    lines = printed.text.splitlines()
    for places in printed.positions.values():
        for p in places:
            assert (p.line, p.column) < (p.end_line, p.end_column)
            assert p.end_line <= len(lines) and p.end_column <= len(lines[p.end_line - 1]) + 1
            assert lines[p.line - 1][p.column - 1] != " "


def test_printing_a_very_long_sum_does_not_overflow() -> None:
    value: Expr = ROW
    for _ in range(100):
        value = Sub(value, ROW)
    store = BufferStore(DATA["int32"], value, (ROW,))
    handle = Var("h", "handle")
    assert_reads_back(PrimFunc("f", (handle,), ((handle, DATA["int32"]),), build.serial(ROW, 8, store)), "current")


@pytest.mark.parametrize("dialect", ["current", "classic"])
def test_module_without_functions_prints_a_class(dialect: Any) -> None:
    assert "pass" in to_script(IRModule(()), dialect)
