"""Blocks whose operands are too large for the tiles of their group have tiles of their own inside of them."""

from __future__ import annotations

import pytest

from tilewright.engine.explore import EvaluationRequest, Evaluator, SketchChoice, derive_space
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

DECODE = """
@T.prim_func(s_tir=True)
def decode(
    Q: T.Buffer((2, 4, 128), "float16"), K: T.Buffer((2, 1024, 128), "float16"), V: T.Buffer((2, 1024, 128), "float16"),
    O: T.Buffer((2, 4, 128), "float32"),
):
    S = T.sblock_alloc_buffer((2, 4, 1024), "float32")
    E = T.sblock_alloc_buffer((2, 4, 1024), "float16")
    U = T.sblock_alloc_buffer((2, 4, 128), "float32")
    for g, h, j, k in T.grid(2, 4, 1024, 128):
        with T.sblock("S"):
            vg, vh, vj, vk = T.axis.remap("SSSR", [g, h, j, k])
            with T.init():
                S[vg, vh, vj] = T.float32(0)
            S[vg, vh, vj] = S[vg, vh, vj] + T.Cast("float32", Q[vg, vh, vk]) * T.Cast("float32", K[vg, vj, vk])
    for g, h, j in T.grid(2, 4, 1024):
        with T.sblock("E"):
            vg, vh, vj = T.axis.remap("SSS", [g, h, j])
            E[vg, vh, vj] = T.Cast("float16", T.exp(S[vg, vh, vj]))
    for g, h, d, j in T.grid(2, 4, 128, 1024):
        with T.sblock("U"):
            vg, vh, vd, vj = T.axis.remap("SSSR", [g, h, d, j])
            with T.init():
                U[vg, vh, vd] = T.float32(0)
            U[vg, vh, vd] = U[vg, vh, vd] + T.Cast("float32", E[vg, vh, vj]) * T.Cast("float32", V[vg, vj, vd])
    for g, h, d in T.grid(2, 4, 128):
        with T.sblock("O"):
            vg, vh, vd = T.axis.remap("SSS", [g, h, d])
            O[vg, vh, vd] = U[vg, vh, vd] * T.float32(0.5)
"""


@pytest.mark.slow
def test_large_operands_are_copied_in_tiles_inside_of_the_tiles_of_their_group() -> None:
    program, machine = parse(DECODE).program, load_machine("dual-bank-npu")
    assert isinstance(program, PrimFunc)
    plain, inside = (derive_space(program, machine, choice=SketchChoice(0, ((0,),), inner)) for inner in (False, True))
    assert "tiles of S inside: loop ax1" not in plain.decisions
    assert "tiles of S inside: loop ax1" in inside.decisions
    cycles = []
    for found in (plain, inside):
        outcome = Evaluator(found.space, machine, ("cycles",)).tried(EvaluationRequest(0, found.space.default))
        assert outcome.figures is not None
        cycles.append(outcome.figures.cycles)
    assert 10 * cycles[1] < cycles[0], "without them, only the program as it is fits"
    assert inside.space.schedule_at(inside.space.default).schedule.check().status == "proved"
