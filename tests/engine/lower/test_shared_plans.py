"""Plans shared by schedules with other scopes equal fresh plans."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright
from tilewright.engine.ir import structural_equal
from tilewright.engine.lower import planned
from tilewright.engine.schedule import Schedule

SOFTMAX = Path(__file__).parents[2] / "hand" / "rows" / "softmax.py"


def tiled() -> Schedule:
    """A softmax of rows whose intermediate buffers are computed tile by tile."""
    sch = Schedule(tilewright.load(SOFTMAX).program)
    i, _ = sch.get_loops("Y")
    io, _ = sch.split(i, factors=[None, 16], names=["io", "ii"])
    for block in ("total", "power", "largest"):
        sch.compute_at(block, io)
        sch.set_scope(block, 0, "local.vtcm")
    copy = sch.cache_read("largest", 0, "local.vtcm", consumer_blocks=["largest", "power"])
    sch.compute_at(copy, io)
    return sch


def require_fresh_plan(sch: Schedule) -> None:
    fresh = planned(sch.func)
    assert structural_equal(sch.plan.func, fresh.func)
    assert {old.name: small.scope for old, small in sch.plan.buffers.items()} == {
        old.name: small.scope for old, small in fresh.buffers.items()
    }
    assert structural_equal(sch.plan.piped.func, fresh.piped.func)
    assert sorted(b.name for b in sch.plan.piped.buffers.values()) == sorted(
        b.name for b in fresh.piped.buffers.values()
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("stages", [[0, 1, 1, 1, 1], [0, 1, 2, 2, 3], [0, 0, 0, 0, 0]])
def test_scopes_of_one_kind_reuse_the_plan(stages: list[int]) -> None:
    first = tiled()
    other = first.copy()
    other.set_scope("power", 0, "local.acc")
    other.set_scope("total", 0, "local.acc")
    assert other.plan.source is not None
    for sch in (first, other):
        require_fresh_plan(sch)
        sch.pipeline(sch.get_loop("io"), stages=stages)
        require_fresh_plan(sch)
    assert {b.scope for b in other.plan.piped.buffers.values()} >= ({"local.acc"} if 2 in stages else set())


def test_buffer_that_leaves_global_memory_is_planned_again() -> None:
    sch = tiled()
    sch.set_scope("power", 0, "global")
    _ = sch.plan
    sch.set_scope("power", 0, "local.acc")
    assert sch.plan.source is None
    require_fresh_plan(sch)
