"""The size of programs with shared parts expanded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fuzzing.towers import inline_tower, let_tower
from support.programs.sources import MATMUL, MATMUL_RELU

from tilewright.app.document import evaluate, read_document
from tilewright.engine.ir import (
    MOST_CHARACTERS,
    MOST_NODES,
    Add,
    Expr,
    IntImm,
    Let,
    LetStmt,
    PrimFunc,
    ProgramSize,
    TilewrightError,
    Var,
    child_stmts,
    children,
    expanded_size,
    substitute,
    walk,
)
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse


def expressions() -> st.SearchStrategy[Expr]:
    """Expressions with shared parts and lets."""
    leaf = st.builds(Var, st.just("x"), st.just("int32")) | st.builds(IntImm, st.integers(0, 9))

    def bigger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        doubled = inner.map(lambda e: Add(e, e))
        bound = st.tuples(inner, inner).map(_let)
        return st.builds(Add, inner, inner) | doubled | bound

    return st.recursive(leaf, bigger, max_leaves=12)


def _let(parts: tuple[Expr, Expr]) -> Expr:
    var = Var("y", "int32")
    return Let(var, parts[0], Add(var, Add(parts[1], var)))


def expanded(expr: Expr) -> int:
    """The nodes of the tree with each variable of a let replaced by its value, beside the values of the lets."""
    if isinstance(expr, Let):
        return 1 + expanded(expr.value) + expanded(substitute(expr.body, {expr.var: expr.value}))
    return 1 + sum(expanded(child) for child in children(expr) if isinstance(child, Expr))


@given(expressions())
def test_the_size_is_that_of_the_expanded_tree(expr: Expr) -> None:
    assert expanded_size(expr, {})[0] == expanded(expr)


def test_unchanged_statements_keep_their_size() -> None:
    sch = Schedule(parse(MATMUL_RELU).program)
    before = ProgramSize(sch.func.body)
    sch.split(sch.get_loops(sch.get_child_blocks("root")[0])[0], [None, 4])
    after, fresh = ProgramSize(sch.func.body, before), ProgramSize(sch.func.body)
    assert after.nodes == fresh.nodes == sum(1 for _ in walk(sch.func.body))
    assert after.largest[0] <= fresh.largest[0]


def test_towers_above_the_size_limit_are_refused() -> None:
    for text, place in ((let_tower(32), "the program"), (inline_tower(4, 30), "a call")):
        notebook = evaluate(read_document(text))
        assert notebook.error is not None and notebook.error.code == "too-large", place
        assert f"at most {MOST_NODES:,} nodes" in str(notebook.error)
        assert notebook.error.refusal.place is not None


def test_a_low_tower_is_a_program() -> None:
    notebook = evaluate(read_document(let_tower(3)))
    assert notebook.error is None and isinstance(notebook.program, PrimFunc)
    assert any(isinstance(s, LetStmt) for s in walk(notebook.program.body))
    assert child_stmts(notebook.program.body)


def test_calls_that_double_a_name_keep_it_below_the_limit():
    sch = Schedule(parse(MATMUL).program)
    loop = sch.get_loops("C")[0]
    with pytest.raises(ScheduleError) as refused:
        for _ in range(64):
            loop = sch.fuse(*sch.split(loop, factors=[None, 4]))
    assert refused.value.code == "too-large" and "name" in refused.value.refusal.message
    assert len(loop.name) <= MOST_CHARACTERS


def test_a_text_with_a_long_name_is_refused():
    with pytest.raises(TilewrightError) as refused:
        parse(MATMUL.replace('T.sblock("C")', f'T.sblock("{"C" * 2000}")'))
    assert refused.value.code == "too-large"
