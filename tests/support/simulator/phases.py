"""Random programs of several phases: each loads tiles, computes on them and stores the results, so that tiles of different phases can share
addresses."""

from __future__ import annotations

from random import Random

from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse


def phased(rng: Random, scope: str = "local") -> PrimFunc:
    """A chain of one to five elementwise phases over 48 elements of int32; tiles of 1 to 48 elements with one or two slots."""
    phases = rng.randint(1, 5)
    sch = Schedule(parse(_chain(phases)).program)
    for block in [f"B{n}" for n in range(phases)]:
        (i,) = sch.get_loops(block)
        outer, _ = sch.split(i, factors=[None, rng.choice((1, 5, 8, 12, 16, 48))])
        load, store = sch.cache_read(block, 0, scope), sch.cache_write(block, 0, scope)
        for copy, move in ((load, sch.compute_at), (store, sch.reverse_compute_at)):
            if rng.random() < 0.9:
                move(copy, outer)
            if rng.random() < 0.4:
                try:
                    sch.double_buffer(copy)
                except ScheduleError:
                    continue
    return sch.func


def _chain(phases: int) -> str:
    lines = ["@T.prim_func", 'def chain(X0: T.Buffer((48,), "int32"), Y: T.Buffer((48,), "int32")):']
    names = ["X0", *(f"X{n}" for n in range(1, phases)), "Y"]
    lines += [f'    {name} = T.alloc_buffer((48,), "int32")' for name in names[1:-1]]
    for n, (source, target) in enumerate(zip(names[:-1], names[1:], strict=True)):
        lines += [
            "    for i in range(48):",
            f'        with T.block("B{n}"):',
            '            v = T.axis.remap("S", [i])',
            f"            {target}[v] = {source}[47 - v] * {n + 2}",
        ]
    return "\n".join(lines)
