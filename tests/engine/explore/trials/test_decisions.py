"""What each decision of the best schedule is worth, and a search that ends at the bound of all schedules."""

from __future__ import annotations

import pytest

from tilewright.engine.explore import EvaluationRequest, Evaluator, Settings, Study, explore, worth_of_decisions
from tilewright.engine.explore.search import loop
from tilewright.engine.explore.space.model import space_of
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse, read_calls

NPU = load_machine("dual-bank-npu")

COPIED = """
@T.prim_func(s_tir=True)
def doubled(X: T.Buffer((64, 256), "float32"), Y: T.Buffer((64, 256), "float32")):
    for i, j in T.grid(64, 256):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] * T.float32(2)
"""

LINES = """
tile = choose("tile", [8, 16, 32])
i, j = sch.get_loops("Y")
i_o, i_i = sch.split(i, factors=[None, tile], names=["i_o", "i_i"])
X_in = sch.cache_read("Y", "X", "local.vtcm")
sch.compute_at(X_in, i_o)
slots = choose("slots", [2, 1])
sch.double_buffer(X_in, slots=slots)
Y_out = sch.cache_write("Y", 0, "local.vtcm")
sch.reverse_compute_at(Y_out, i_o)
"""


def searched() -> Study:
    program = parse(COPIED).program
    assert isinstance(program, PrimFunc)
    return explore(space_of(program, read_calls(LINES)), NPU, Settings())


def test_each_decision_is_changed_alone_and_costs_what_the_other_candidate_needs() -> None:
    study = searched()
    best = study.offers[0].trial
    assert best.outcome.figures is not None
    found = {one.hole: one for one in worth_of_decisions(study)}
    assert [*found] == ["tile", "slots"]
    for name, one in found.items():
        assert one.text == study.space.texts_at(best.point)[name]
        values = {**study.space.values_at(best.point), name: int(one.others[0].text)}
        other = Evaluator(study.space, NPU, ("cycles",)).tried(EvaluationRequest(0, study.space.point_of(values)))
        assert other.figures is not None and one.extra == other.figures.cycles - best.outcome.figures.cycles >= 0


def test_a_study_knows_what_every_schedule_needs() -> None:
    study = searched()
    assert study.best is not None and study.best.outcome.figures is not None
    assert 0 < study.floor <= study.best.outcome.figures.cycles
    assert len(study.trials) == 6


def test_a_search_for_cycles_ends_where_no_schedule_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "floor_of", lambda *_: 1 << 40)
    study = searched()
    assert study.ended and len(study.trials) == 1
    space = study.space
    assert len(explore(space, NPU, Settings(objectives=("energy",))).trials) == 6
