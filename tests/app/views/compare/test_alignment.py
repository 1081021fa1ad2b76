"""Two aligned trees: equal, changed, moved and unmatched rows."""

from __future__ import annotations

import itertools
import random

import pytest
from support.sessions.pages import opened_example

from tilewright.app.state.comparison import side_state, step_side
from tilewright.app.views.compare.alignment import Pair, aligned, items_of, matched
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

MATMUL = """
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    D = T.sblock_alloc_buffer((64, 64))
    for i, j, k in T.grid(64, 64, 64):
        with T.sblock("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for x, y in T.grid(64, 64):
        with T.sblock("C"):
            vx, vy = T.axis.remap("SS", [x, y])
            C[vx, vy] = D[vx, vy] + T.float32(1)
"""


def schedule() -> Schedule:
    program = parse("from tvm.script import tirx as T\n" + MATMUL).program
    assert isinstance(program, PrimFunc)
    return Schedule(program)


def lines(a: Schedule, b: Schedule) -> list[Pair]:
    return list(aligned(items_of(a.func), items_of(b.func)))


def differences(pairs: list[Pair]) -> dict[str, tuple[str, str]]:
    """Name -> (status, description) of the lines that differ; for a moved row, at its new place."""
    different = [pair for pair in pairs if pair.status != "same"]
    rows = [(p, p.b or p.a) for p in sorted(different, key=lambda p: p.b is not None)]
    return {item.row.name: (p.status, "; ".join(p.words)) for p, item in rows if item is not None}


def test_equal_programs_have_equal_lines() -> None:
    sch = schedule()
    assert not differences(lines(sch, sch))
    assert len(lines(sch, sch)) == 7


def test_a_split_removes_one_loop_and_adds_two() -> None:
    a = schedule()
    b = a.copy()
    b.split(b.get_loops("D")[2], factors=[None, 16], names=["ko", "ki"])
    found = differences(lines(a, b))
    assert found == {"k": ("only_a", ""), "ko": ("only_b", ""), "ki": ("only_b", "")}


def test_a_reorder_moves_one_loop() -> None:
    a = schedule()
    b = a.copy()
    i, j, k = b.get_loops("D")
    b.reorder(k, i, j)
    assert differences(lines(a, b)) == {"k": ("moved", "was under j")}
    moved = [p for p in lines(a, b) if p.status == "moved"]
    assert [(p.a is None, p.b is None) for p in moved] == [(True, False), (False, True)]


def test_compute_at_moves_the_block_beside_its_consumer() -> None:
    a = schedule()
    b = a.copy()
    b.compute_at("D", b.get_loops("C")[0])
    found = differences(lines(a, b))
    assert found["D"][0] == "moved"
    assert "C" not in found and "x" not in found and "y" not in found


def test_reverse_compute_at_moves_the_consumer() -> None:
    a = schedule()
    b = a.copy()
    b.reverse_compute_at("C", b.get_loops("D")[0])
    status, words = differences(lines(a, b))["C"]
    assert status == "moved" and words.startswith("moved under") and "was under y" in words


def test_changes_of_scope_and_layout_are_named() -> None:
    a = schedule()
    b = a.copy()
    b.set_scope("D", 0, "local")
    b.transform_layout("D", ("write", 0), lambda i, j: [j, i // 8, i % 8])
    words = differences(lines(a, b))["D"][1]
    assert "D in global → local" in words and "D [64, 64] → [64, 8, 8]" in words
    b.vectorize(b.get_loops("C")[1])
    b.annotate("D", "pragma", 3)
    found = differences(lines(a, b))
    assert "serial → vectorized" in found["y"][1]
    assert "now pragma 3" in found["D"][1]


def test_loops_of_equal_programs_match_by_name() -> None:
    found = differences(lines(schedule(), schedule()))
    assert not found


def test_renamed_blocks_match_by_written_buffer() -> None:
    a = schedule()
    text = MATMUL.replace('T.sblock("D")', 'T.sblock("product")')
    program = parse("from tvm.script import tirx as T\n" + text).program
    assert isinstance(program, PrimFunc)
    assert differences(lines(a, Schedule(program))) == {"product": ("changed", "name D → product")}


@pytest.mark.sample(9)
@pytest.mark.parametrize("name", [example.name for example in load_examples()])
def test_each_row_is_aligned_once_and_in_order(name: str) -> None:
    """Laws: each side read downwards is its tree; a moved row has two lines or new neighbours; the reverse comparison is the mirror."""
    state = opened_example(name)
    assert state.shown is not None
    counts = [0, *random.Random(1).choices(range(len(state.shown.states)), k=4), len(state.shown.states) - 1]
    for first, second in itertools.pairwise(counts):
        moments = [side_state(state, step_side(count)).moment for count in (first, second)]
        left, right = (items_of(m.schedule.func) for m in moments if m is not None)
        pairs = aligned(left, right)
        alone = [p for p in pairs if p.a is None or p.b is None]
        assert [p.a.place for p in pairs if p.a is not None] == list(range(len(left)))
        assert [p.b.place for p in pairs if p.b is not None] == list(range(len(right)))
        partner = matched(left, right)
        assert len(set(partner.values())) == len(partner)
        for pair in alone:
            assert pair.status == ("moved" if _is_matched(pair, partner) else "only_a" if pair.b is None else "only_b")
        mirror = aligned(right, left)
        assert sum(p.status == "only_a" for p in pairs) == sum(p.status == "only_b" for p in mirror)


def _is_matched(pair: Pair, partner: dict[int, int]) -> bool:
    if pair.a is not None:
        return pair.a.place in partner
    return pair.b is not None and pair.b.place in partner.values()
