"""Buffers of stencils with clamped borders are the small windows of a tile, not the whole image, and the schedules are right."""

from __future__ import annotations

import pytest
from support.profile import samples
from support.simulator.machines import roomy

from tilewright.engine.arith import least_of
from tilewright.engine.hwsim import simulate
from tilewright.engine.ir import Var, allocated_buffers, build
from tilewright.engine.lower import planned
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

STAGE = """        for i, j, ry, rx in T.grid({rows}, {rows}, {taps}, {taps}):
            with T.sblock("{name}"):
                vi, vj, vy, vx = T.axis.remap("SSRR", [i, j, ry, rx])
                with T.init():
                    {to}[vi, vj] = T.float32(0)
                {to}[vi, vj] = {to}[vi, vj] + {source}[{y}, {x}] * T.float32(0.0625)
"""


def stages(sizes: list[int], taps: int, index: str) -> Schedule:
    """Stages A, B, … from image X to the last, each on windows of `taps`² pixels at `index`, clamped to the image."""
    names = ["X", *"ABCDE"[: len(sizes) - 2], "Y"]
    lines = [
        "from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\n"
        f'def image(X: T.Buffer(({sizes[0]}, {sizes[0]}), "float32"), Y: T.Buffer(({sizes[-1]}, {sizes[-1]}), "float32")):\n'
        '    with T.sblock("root"):\n'
    ]
    lines += [
        f"        {n} = T.sblock_alloc_buffer(({s}, {s}))\n" for n, s in zip(names[1:-1], sizes[1:-1], strict=True)
    ]
    for source, to, size, rows in zip(names, names[1:], sizes, sizes[1:], strict=False):
        y, x = (f"T.min(T.max({index.format(i=i, r=r)}, 0), {size - 1})" for i, r in (("vi", "vy"), ("vj", "vx")))
        lines.append(STAGE.format(rows=rows, taps=taps, name=f"to{to}", to=to, source=source, y=y, x=x))
    return Schedule(parse("".join(lines)).program)


def tiled(sch: Schedule, tile: int) -> dict[str, tuple[int | None, ...]]:
    """Computes all stages, and a copy of the image on chip, for each tile of the last; returns the shapes of the buffers."""
    outer, inner = zip(*(sch.split(loop, factors=[None, tile]) for loop in sch.get_loops("toY")[:2]), strict=True)
    sch.reorder(*outer, *inner)
    blocks = [name for name in sch.index.block_names if name.startswith("to")]
    for name in reversed(blocks[:-1]):
        sch.compute_at(name, outer[1])
        sch.set_scope(name, 0, "local")
    sch.compute_at(sch.cache_read(blocks[0], 0, "local"), outer[1])
    func = planned(sch.func).piped.func
    return {b.name: tuple(build.int_value(s) for s in b.shape) for b in allocated_buffers(func.body)}


CASES = {
    "pyramid": ([256, 128, 64, 32], 4, "{i} * 2 + {r} - 1", 4, {"B": 10, "A": 22, "X_local": 46}),
    "chain": ([96, 96, 96, 96], 3, "{i} + {r} - 1", 8, {"B": 10, "A": 12, "X_local": 14}),
    "upsampled": ([32, 64, 128], 2, "({i} - 1) // 2 + {r}", 16, {"A": 10, "X_local": 6}),
    "resized": ([96, 48, 24], 2, "{i} * 2 + {r}", 4, {"A": 8, "X_local": 16}),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CASES)
def test_tile_keeps_only_its_clamped_windows(name: str) -> None:
    sizes, taps, index, tile, windows = CASES[name]
    found = tiled(stages(sizes, taps, index), tile)
    assert found == {buffer: (width, width) for buffer, width in windows.items()}


@pytest.mark.parametrize("name", samples(CASES, "resized"))
def test_tiles_with_clamped_borders_fit_and_compute_the_same(name: str) -> None:
    sizes, taps, index, tile, windows = CASES[name]
    small = stages([s // 4 for s in sizes], taps, index)
    tiled(small, 4)
    assert small.check().status in ("proved", "tested")
    sch = stages(sizes, taps, index)
    tiled(sch, tile)
    used = 4 * sum(width * width for width in windows.values())
    memory = simulate(sch.func, roomy().replace("pad.capacity_bytes", 1 << 16)).memory
    assert sum(m.allocated_bytes for row, m in memory.items() if row.startswith("local")) <= 2 * used + 1024
    assert not any(m.overflow_bytes for m in memory.values())


@pytest.mark.slow
def test_least_of_a_difference_of_clamps_has_no_clamps() -> None:
    x, y = Var("x", "int32"), Var("y", "int32")
    ends = build.sub(build.add(build.mul(build.minimum(x, 63), 2), 3), build.maximum(build.sub(y, 1), 0))
    assert len(least_of(ends)) == 4
    assert len(least_of(build.maximum(x, y))) == 1
    deep = x
    for _ in range(12):
        deep = build.minimum(build.add(deep, deep), y)
    assert len(least_of(deep)) <= 65
