"""The operators of TVM's library as programs: each side reads the other's print, they run, and every offered move keeps the result."""

from __future__ import annotations

import pytest
from support.profile import IS_DEEP, samples
from support.tvm.operators import OPERATORS
from support.tvm.text import tvm_read

import tilewright
from tilewright.engine.execute import verify
from tilewright.engine.lower import lower

tvm = pytest.importorskip("tvm")
te, topi = tvm.te, tvm.topi
nn = topi.nn
pytestmark = pytest.mark.tvm

MOST_MOVES = 12 if IS_DEEP else 2
"""Moves that are run for one program; all of them are analysed."""


@pytest.mark.parametrize("name", samples(OPERATORS, "softmax", "conv2d_strided", "concatenate"))
def test_an_operator_of_tvm_is_read_run_and_moved(name: str) -> None:
    text = tvm.ir.IRModule({"main": te.create_prim_func(OPERATORS[name]())}).script()
    program = tilewright.parse(text)
    tvm.ir.assert_structural_equal(tvm_read(tilewright.to_script(program)), tvm_read(text))

    sch = tilewright.Schedule(program)
    assert sch.verify().status == "tested", sch.verify().detail
    assert verify(lower(sch.func), sch.func).status == "tested"
    assert tilewright.simulate(sch, "dual-bank-npu").cycles > 0
    for moved in moves(sch)[:MOST_MOVES]:
        assert moved.verify().status == "tested", f"{moved!r}: {moved.verify().detail}\n{tilewright.to_script(moved)}"


def moves(sch: tilewright.Schedule) -> list[tilewright.Schedule]:
    """The schedule after each offered move and each accepted inlining."""
    found: list[tilewright.Schedule] = []
    for block in sch.index.block_names[1:]:
        for target in sch.legal_targets(block):
            if target.legal:
                found.append(sch.copy())
                getattr(found[-1], target.primitive)(block, target.loop)
        for inline in ("compute_inline", "reverse_compute_inline"):
            trial = sch.copy()
            try:
                getattr(trial, inline)(block)
            except tilewright.ScheduleError:
                continue
            found.insert(0, trial)
    return found
