"""Moves of several placed blocks, and of blocks whose producers or consumers later steps have placed."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import pytest

from tilewright.app.document import Notebook, evaluate, read_document
from tilewright.app.document.editing.revisions.relocation import Relocation
from tilewright.engine.ir import TilewrightError, Var, structural_equal

MATMUL = """# %% workload
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32"), C: T.Buffer((256, 256), "float32")):
    for i, j, k in T.grid(256, 256, 256):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
AS = sch.cache_read(C, 0, "local.vtcm")
AL = sch.cache_read(C, 0, "local.reg")
BS = sch.cache_read(C, 1, "local.vtcm")
BL = sch.cache_read(C, 1, "local.reg")
i, j, k = sch.get_loops(C)
io, im, ii = sch.split(i, factors=[None, 4, 16], names=["io", "im", "ii"])
jo, jm, ji = sch.split(j, factors=[None, 4, 16], names=["jo", "jm", "ji"])
ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"])
sch.reorder(io, jo, ko, im, jm, ki, ii, ji)
sch.compute_at(AL, ki)
sch.compute_at(BL, ki)
sch.compute_at(AS, ko)
sch.compute_at(BS, ko)
sch.double_buffer(AS)
sch.double_buffer(BS)
"""

STAGES = "ABCDEF"


def chain(stages: str = STAGES) -> str:
    """Stages of a stencil of three rows, computed at the rows of the last one."""
    *inner, last = stages[1:]
    buffers = "\n".join(f'    {b} = T.sblock_alloc_buffer((256, 256), "float32")' for b in inner)
    blocks = "\n".join(
        f"""    for i{n}, j{n} in T.grid(256, 256):
        with T.sblock("{b}"):
            vi, vj = T.axis.remap("SS", [i{n}, j{n}])
            {b}[vi, vj] = {a}[T.max(vi - 1, 0), vj] + {a}[vi, vj] + {a}[T.min(vi + 1, 255), vj]"""
        for n, (a, b) in enumerate(pairwise(stages))
    )
    calls = "\n".join(f'sch.compute_at("{block}", io)' for block in reversed(inner))
    return f"""# %% workload
@T.prim_func(s_tir=True)
def chain(A: T.Buffer((256, 256), "float32"), {last}: T.Buffer((256, 256), "float32")):
{buffers}
{blocks}
# %% schedule
sch = tilewright.Schedule(chain)
i, j = sch.get_loops("{last}")
io, ii = sch.split(i, factors=[None, 32], names=["io", "ii"])
jo, ji = sch.split(j, factors=[None, 64], names=["jo", "ji"])
sch.reorder(io, jo, ii, ji)
{calls}
"""


@cache
def opened(text: str) -> Notebook:
    notebook = evaluate(read_document(text))
    assert notebook.error is None
    return notebook


def relocation(notebook: Notebook, *blocks: str) -> Relocation:
    return Relocation(notebook, len(notebook.states) - 1, blocks)


def loop_called(notebook: Notebook, name: str) -> Var:
    assert notebook.schedule is not None
    return notebook.schedule.copy().get_loop(name)


def moved(notebook: Notebook, blocks: tuple[str, ...], name: str, *, repair: bool = False) -> Notebook:
    after = relocation(notebook, *blocks).moved(loop_called(notebook, name), repair=repair).accepted()
    again = evaluate(read_document(after.document.text))
    assert again.schedule is not None and after.schedule is not None
    assert structural_equal(again.schedule.mod, after.schedule.mod)
    return after


def replaced(text: str, *lines: tuple[str, str]) -> str:
    for old, new in lines:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def test_each_line_of_several_placed_blocks_gets_the_loop() -> None:
    before = opened(MATMUL)
    after = moved(before, ("A_local.vtcm", "B_local.vtcm"), "jo")
    lines = [(f"compute_at({name}, ko)", f"compute_at({name}, jo)") for name in ("AS", "BS")]
    assert after.document.text == replaced(MATMUL, *lines)


def test_a_producer_that_a_later_step_placed_follows_its_block() -> None:
    after = moved(opened(MATMUL), ("A_local.vtcm_local.reg",), "jo")
    assert after.document.text == replaced(
        MATMUL, ("compute_at(AL, ki)", "compute_at(AL, jo)"), ("compute_at(AS, ko)", "compute_at(AS, jo)")
    )


HALVES = """# %% workload
@T.prim_func(s_tir=True)
def halves(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 8):
        with T.sblock("low"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] - A[vi, vj + 8]
    for k, l in T.grid(8, 8):
        with T.sblock("high"):
            vi, vj = T.axis.remap("SS", [k, l])
            B[vi, vj + 8] = A[vi, vj] + A[vi, vj + 8]
# %% schedule
sch = tilewright.Schedule(halves)
"""


def test_a_repair_merges_the_nests_of_a_block_that_may_not_move() -> None:
    before = opened(HALVES)
    found = relocation(before, "high").repair(loop_called(before, "j"))
    assert found.is_whole and [call.method for call in found.calls] == ["merge"]
    after = moved(before, ("high",), "j", repair=True)
    assert "merge(" in after.document.text and "compute_at" not in after.document.text
    assert after.schedule is not None
    assert after.schedule.get_loops("high") == after.schedule.get_loops("low")


@pytest.mark.slow
def test_a_repair_moves_the_consumers_that_would_stay_outside() -> None:
    before = opened(chain("ABCD"))
    move, loop = relocation(before, "B"), loop_called(before, "jo")
    with pytest.raises(TilewrightError) as refused:
        move.moved(loop)
    assert refused.value.code == "not-all-consumers"
    found = move.repair(loop)
    assert found.blocks == ("C",) and not found.calls
    after = moved(before, ("B",), "jo", repair=True)
    assert re.findall(r'compute_at\("(\w)", (\w+)\)', after.document.text) == [(b, "jo") for b in "CB"]


@pytest.mark.slow
def test_steps_keep_their_order_behind_the_line_that_creates_the_loop() -> None:
    before = opened(chain() + 'jo0, jo1 = sch.split(jo, factors=[2, None], names=["jo0", "jo1"])\n')
    after = moved(before, ("B", "C", "D", "E"), "jo0")
    texts = [step.text for step in after.steps]
    assert texts[-5].startswith("jo0, jo1 = sch.split")
    assert texts[-4:] == [f'sch.compute_at("{block}", jo0)' for block in "EDCB"]


@pytest.mark.slow
def test_an_unplaced_block_among_placed_ones_gets_a_call_at_the_end() -> None:
    text = chain().replace('sch.compute_at("B", io)\n', "")
    after = moved(opened(text), ("B", "C", "D", "E"), "jo")
    calls = re.findall(r'compute_at\("(\w)", (\w+)\)', after.document.text)
    assert calls == [(block, "jo") for block in "EDCB"]


def test_a_line_that_needs_a_moved_step_moves_behind_it() -> None:
    text = MATMUL.replace("sch.double_buffer(AS)\n", "") + "k0, k1 = sch.split(ko, factors=[2, None])\n"
    text = text.replace("sch.compute_at(BS, ko)\n", "sch.compute_at(BS, ko)\nsch.double_buffer(AS)\n")
    before = opened(text)
    after = moved(before, ("A_local.vtcm",), before.names["k0"].name)
    texts = [step.text for step in after.steps]
    split = texts.index("k0, k1 = sch.split(ko, factors=[2, None])")
    assert texts[split + 1 :] == ["sch.compute_at(AS, k0)", "sch.double_buffer(AS)"]
    assert "sch.double_buffer(BS)" in texts[:split]


@pytest.mark.parametrize("text", [MATMUL, pytest.param(chain("ABCD"), marks=pytest.mark.slow)], ids=["matmul", "chain"])
def test_law_every_drag_of_a_placed_block_works_or_is_explained(text: str) -> None:
    """For each placed block and loop: the move is made, or refused with a reason; a repair that is offered works."""
    before = opened(text)
    assert before.schedule is not None
    moves = 0
    for block in before.schedule.index.block_names[1:]:
        move = relocation(before, block)
        if not move.placed:
            continue
        for loop in (f.loop_var for f in before.schedule.index.loops):
            try:
                move.calls(loop)
            except TilewrightError as error:
                assert error.refusal.message
                if move.repair(loop):
                    moves += move.moved(loop, repair=True).notebook.error is None
            else:
                moves += move.moved(loop).notebook.error is None
    assert moves > 8
