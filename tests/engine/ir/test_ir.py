"""Nodes are values: identity is the handle, structural equality is a function, unchanged nodes are the same object."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.random_programs import programs

from tilewright.engine.arith import simplify
from tilewright.engine.ir import (
    AXIS_SEPARATOR,
    EQ,
    Add,
    BlockRealize,
    Buffer,
    BufferStore,
    For,
    IndexMap,
    IntImm,
    PrimFunc,
    Var,
    build,
    first_difference,
    free_vars,
    fresh_vars,
    replace_nodes,
    rewrite,
    structural_equal,
    substitute,
    walk,
    walk_stmts,
)
from tilewright.engine.script import parse


def test_nodes_with_equal_fields_are_distinct():
    assert IntImm(1) != IntImm(1)
    assert structural_equal(IntImm(1), IntImm(1))


@given(programs())
def test_rewriting_nothing_returns_the_same_object(func):
    assert rewrite(func, lambda node: node) is func
    assert substitute(func, {Var("unused"): IntImm(0)}) is func
    assert replace_nodes(func, {IntImm(7): IntImm(8)}) is func


@given(programs())
def test_copy_with_fresh_variables_is_equal_and_disjoint(func):
    copy, renamed = fresh_vars(func)
    assert structural_equal(copy, func)
    old = {n.loop_var for n in walk(func) if isinstance(n, For)}
    assert old <= renamed.keys()
    assert not old & {n.loop_var for n in walk(copy) if isinstance(n, For)}


def test_copied_views_have_fresh_sizes_of_their_own_only():
    func = parse("""@T.prim_func(s_tir=True)
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n,), "int32")
    with T.sblock("outer"):
        T.reads(A[0:n])
        T.writes(C[0:n])
        all = T.match_buffer(C[0:n], (n,), "int32", offset_factor=1)
        with T.sblock("inner"):
            T.reads(A[0:n])
            T.writes(all[0:n])
            same = T.match_buffer(all[0:n], (n,), "int32", elem_offset=all.elem_offset)
            for i in range(n):
                same[i] = A[i]
""").program
    blocks = {s.block.name: s for s in walk_stmts(func.body) if isinstance(s, BlockRealize)}
    size, offset = func.buffers[0].shape[0], blocks["outer"].block.match_buffers[0].buffer.elem_offset
    copy, renamed = fresh_vars(blocks["outer"])
    assert structural_equal(copy, blocks["outer"])
    assert size not in renamed
    assert renamed[offset] is copy.block.match_buffers[0].buffer.elem_offset
    assert offset not in {n.elem_offset for n in walk(copy) if isinstance(n, Buffer)}
    assert offset not in fresh_vars(blocks["inner"])[1]


@given(programs())
def test_only_the_handles_of_a_program_are_free(func):
    assert free_vars(func.body) == set()


def test_difference_of_constants_has_its_path():
    i = Var("i")
    found = first_difference(build.add(i, 3), build.add(i, 4))
    assert found is not None
    assert (found.path, found.left, found.right) == ("b.value", 3, 4)


def test_loops_with_other_names_are_equal():
    def loop(name):
        buffer, var, handle = Buffer("A", (IntImm(4),)), Var(name), Var("a", "handle")
        store = BufferStore(buffer, build.const(0, "float32"), (var,))
        return PrimFunc("f", (handle,), ((handle, buffer),), build.serial(var, 4, store))

    assert structural_equal(loop("i"), loop("j"))


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (build.add(2, 3), 5),
        (build.sub(2, 3), -1),
        (build.mul(4, 0), 0),
        (build.floordiv(-7, 2), -4),
        (build.floormod(-7, 2), 1),
        (build.div(-7, 2), -3),
        (build.truncmod(-7, 2), -1),
        (build.minimum(3, 2), 2),
        (build.compare(EQ, 2, 2), 1),
    ],
)
def test_constants_are_folded(made, value):
    assert isinstance(made, IntImm)
    assert made.value == value


def test_a_zero_or_one_returns_the_operand_itself():
    i = Var("i")
    assert build.add(i, 0) is i
    assert build.mul(1, i) is i
    assert build.floordiv(i, 1) is i


def test_an_overflow_is_not_folded():
    big = build.const(2**31 - 1, "int32")
    assert isinstance(build.add(big, 1), Add)


def test_the_wider_of_mixed_widths_wins():
    assert build.add(Var("i", "int32"), Var("j", "int64")).dtype == "int64"
    assert build.mul(Var("i", "int32"), build.const(1.5, "float32")).dtype == "float32"


@given(st.integers(0, 500), st.integers(0, 500))
def test_index_map_computes_what_its_lambda_does(m, k):
    layout = IndexMap.from_function(lambda m, k: [k // 64 % 2, AXIS_SEPARATOR, m, k // 128, k % 64], 2)
    assert layout.separators == (1,)
    got = layout.apply([IntImm(m), IntImm(k)])
    assert [build.int_value(simplify(e)) for e in got] == [k // 64 % 2, m, k // 128, k % 64]


def test_lambda_with_a_wrong_number_of_axes_is_a_type_error():
    with pytest.raises(TypeError, match="has 1 axes, but the buffer has 2"):
        IndexMap.from_function(lambda i: [i], 2)
    assert len(IndexMap.from_function(lambda *i: list(i), 3).params) == 3
