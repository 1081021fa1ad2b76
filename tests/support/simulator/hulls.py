"""Chains of stages whose tiles are bounding boxes for a fused and split loop: conditions exclude most of their iterations."""

from __future__ import annotations

from random import Random

from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

CHAIN = """
@T.prim_func(s_tir=True)
def chain(data: T.Buffer(({rows}, {columns}), "float32"), last: T.Buffer(({rows}, {columns}), "float32")):
    first = T.sblock_alloc_buffer(({rows}, {columns}), "float32")
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            first[vi, vj] = data[vi, vj] + T.float32(1)
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("last"):
            vi, vj = T.axis.remap("SS", [i, j])
            last[vi, vj] = first[vi, vj] * T.float32(2)
"""


def fused_chain(rng: Random, rows: int = 12, columns: int = 40) -> PrimFunc:
    """A chain whose last stage is fused and split by factors that divide nothing; the first one is computed at a loop of it, and perhaps
    fused, split and reordered too."""
    sch = Schedule(parse(CHAIN.format(rows=rng.randint(2, rows), columns=rng.randint(3, columns))).program)
    fused = sch.fuse(*sch.get_loops("last"))
    outer, _ = sch.split(fused, [None, rng.randint(2, 40)])
    if rng.random() < 0.3:
        outer, _ = sch.split(outer, [None, rng.randint(2, 5)])
    if rng.random() < 0.8:
        sch.compute_at("first", outer)
    inside = sch.get_loops("first")[-2:]
    try:
        if rng.random() < 0.7:
            (own,) = [sch.fuse(*inside)]
            sch.split(own, [None, rng.randint(2, 33)])
        else:
            for loop in inside:
                sch.split(loop, [None, rng.randint(2, 7)])
        if rng.random() < 0.3:
            sch.reorder(*reversed(sch.get_loops("first")[-2:]))
    except ScheduleError:
        pass
    return sch.func
