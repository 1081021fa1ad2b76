"""Bounds before pipelines: programs for which the bound of the loop without its pipeline would be too high."""

from __future__ import annotations

import pytest

from tilewright.engine.hwsim import UnpipedBound, load_machine
from tilewright.engine.hwsim.access.placement import place
from tilewright.engine.hwsim.tasks.nest import read_nest
from tilewright.engine.ir import Var
from tilewright.engine.lower import planned
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

NPU = load_machine("dual-bank-npu")

ROWS = """
from tilewright.script import tirx as T

@T.prim_func(s_tir=True)
def rows(A: T.Buffer(({rounds}, {steps}, 1000), "float32"), Y: T.Buffer(({rounds}, {steps}), "float32")):
    tile = T.sblock_alloc_buffer(({rounds}, {steps}, 1000), scope="local.vtcm")
    total = T.sblock_alloc_buffer(({rounds}, {steps}), scope="local.vtcm")
    shares = T.sblock_alloc_buffer(({rounds}, {steps}, 1000), scope="local.vtcm")
    for k in range({rounds}):
        for i in range({steps}):
            for j in range(1000):
                with T.sblock("tile"):
                    vk, vi, vj = T.axis.remap("SSS", [k, i, j])
                    tile[vk, vi, vj] = A[vk, vi, vj]
            for j in range(1000):
                with T.sblock("total"):
                    vk, vi, vj = T.axis.remap("SSR", [k, i, j])
                    with T.init():
                        total[vk, vi] = T.float32(0)
                    total[vk, vi] = total[vk, vi] + tile[vk, vi, vj]
            for j in range(1000):
                with T.sblock("shares"):
                    vk, vi, vj = T.axis.remap("SSS", [k, i, j])
                    shares[vk, vi, vj] = total[vk, vi] * T.float32(0.5)
            for j in range(1000):
                with T.sblock("Y"):
                    vk, vi, vj = T.axis.remap("SSR", [k, i, j])
                    with T.init():
                        Y[vk, vi] = T.float32(0)
                    Y[vk, vi] = Y[vk, vi] + shares[vk, vi, vj]
"""


def bound_and_need(rounds: int, steps: int, stages: list[int]) -> tuple[UnpipedBound, Var, int]:
    """The bound of the program of rows, its pipelined loop, and the bytes of VTCM that live at the same time with the pipeline."""
    sch = Schedule(parse(ROWS.format(rounds=rounds, steps=steps)).program)
    sch.double_buffer("tile")
    bound = UnpipedBound(planned(sch.func), NPU)
    loop = sch.get_loops("tile")[1]
    sch.pipeline(loop, stages=stages)
    piped = planned(sch.func).piped
    places = place(NPU, read_nest(piped.func, set(piped.buffers.values())))
    return bound, loop, sum(use.live_bytes for row, use in places.use.items() if row.startswith("local.vtcm"))


@pytest.mark.parametrize("stages", [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]])
@pytest.mark.parametrize(("rounds", "steps"), [(1, 2), (1, 3), (1, 4), (3, 1), (3, 2), (3, 3)])
def test_law_live_bytes_are_at_most_those_of_the_pipeline(rounds: int, steps: int, stages: list[int]) -> None:
    bound, loop, needed = bound_and_need(rounds, steps, stages)
    assert 0 < bound.live_bytes({loop: stages})["local.vtcm"] <= needed


def test_buffer_of_one_iteration_lives_until_its_last_access() -> None:
    bound, loop, needed = bound_and_need(1, 2, [0, 0, 1, 1])
    assert bound.live_bytes({loop: [0, 0, 1, 1]})["local.vtcm"] == 2 * 4000 + 4
    assert bound.live_bytes({loop: [0, 0, 0, 0]})["local.vtcm"] == 2 * 4000 + 4 + 4000 > needed


def test_slots_of_outer_loops_extend_no_lifetime() -> None:
    bound, loop, needed = bound_and_need(3, 1, [0, 0, 0, 0])
    assert bound.live_bytes({loop: [0, 0, 0, 0]})["local.vtcm"] == 2 * 4000 + 4
    assert bound.live_bytes({})["local.vtcm"] == 2 * 4000 + 4 + 4000 > needed


def test_fewer_iterations_than_falling_stages_have_no_bound() -> None:
    bound, loop, _ = bound_and_need(1, 2, [0, 1, 2, 2])
    assert bound.live_bytes({loop: [0, 1, 2, 2]}) != {}
    assert bound.live_bytes({loop: [0, 2, 1, 2]}) == {}


def test_a_program_with_pipelines_has_no_bound() -> None:
    sch = Schedule(parse(ROWS.format(rounds=4, steps=4)).program)
    outer, inner, _ = sch.get_loops("tile")
    assert UnpipedBound(planned(sch.func), NPU).live_bytes({outer: [0]}) != {}
    sch.pipeline(inner, stages=[0, 1, 1, 1])
    piped = UnpipedBound(planned(sch.func), NPU)
    assert (piped.live_bytes({outer: [0]}), piped.at({outer: [0]}).cycles) == ({}, 0)
