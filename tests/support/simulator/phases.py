"""Random programs whose buffers can share addresses, because their lifetimes differ."""

from __future__ import annotations

import itertools
from random import Random

from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse


def phased(rng: Random, scope: str = "local") -> PrimFunc:
    """A chain of one to five phases over 48 elements of int32: each loads tiles, computes on them and stores the results.

    Tiles have 1 to 48 elements and one or two slots.
    """
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
    for n, (source, target) in enumerate(itertools.pairwise(names)):
        lines += [
            "    for i in range(48):",
            f'        with T.block("B{n}"):',
            '            v = T.axis.remap("S", [i])',
            f"            {target}[v] = {source}[47 - v] * {n + 2}",
        ]
    return "\n".join(lines)


def staged(rng: Random, scope: str, sizes: tuple[int, ...] = (16, 64, 80, 256)) -> str:
    """TVMScript of up to ten stages, one after the other; the buffers are of int32 in `scope`. No stage can run in place."""
    count = rng.randint(2, 10)
    extents = [rng.choice(sizes) for _ in range(count)]
    lines = ["@T.prim_func", f'def main(A: T.Buffer((64,), "int32"), Y: T.Buffer(({extents[-1]},), "int32")):']
    lines += [f'    X{n} = T.alloc_buffer(({extents[n]},), "int32", scope="{scope}")' for n in range(count - 1)]
    unread = set(range(count - 1))
    for n, extent in enumerate(extents):
        read = sorted(unread) if n == count - 1 else rng.sample(range(n), min(n, rng.choice((1, 1, 2))))
        unread -= set(read)
        terms = [f"X{m}[({extents[m]} - 1) - v % {extents[m]}]" for m in read] or ["A[v % 64]"]
        lines += [
            f"    for i in range({extent}):",
            f'        with T.block("B{n}"):',
            '            v = T.axis.remap("S", [i])',
            f"            {'Y' if n == count - 1 else f'X{n}'}[v] = {' + '.join(terms)}",
        ]
    return "\n".join(lines)
