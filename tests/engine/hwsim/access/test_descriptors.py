"""DMA descriptors and the utilisation of matrix tiles: boxes of runs against the points of the copy, bursts, edges."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.sources import matmul
from support.simulator.machines import plain

from tilewright.engine.hwsim import DmaEngine, load_machine, simulate
from tilewright.engine.hwsim.access.descriptors import Descriptor
from tilewright.engine.hwsim.cost.model import Tiling
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def copy(shape: tuple[int, ...], tile: tuple[int, ...], order: tuple[int, ...]) -> str:
    """A copy of the corner of A that a tile reads, its axes stored in another order."""
    names = ", ".join(f"v{n}" for n in range(len(tile)))
    loops = ", ".join(f"i{n}" for n in range(len(tile)))
    return f'''
@T.prim_func
def main(A: T.Buffer({shape}, "float32"), B: T.Buffer({tuple(tile[n] for n in order)}, "float32")):
    L = T.alloc_buffer({tuple(tile[n] for n in order)}, "float32", scope="local")
    for {loops} in T.grid({", ".join(map(str, tile))}):
        with T.block("L"):
            {names} = T.axis.remap("{"S" * len(tile)}", [{loops}])
            L[{", ".join(f"v{n}" for n in order)}] = A[{names}]
    for {loops} in T.grid({", ".join(str(tile[n]) for n in order)}):
        with T.block("B"):
            {names} = T.axis.remap("{"S" * len(tile)}", [{loops}])
            B[{names}] = L[{names}]
'''


def descriptor_of(
    source: str, dimensions: int = 0, burst: int = 1, turning: int = 0, longest: int = 0
) -> tuple[Descriptor, int]:
    """The descriptor of the copy in, and its duration."""
    machine = plain().replace("pad.capacity_bytes", 1 << 20).replace("dma.dimensions", dimensions)
    machine = machine.replace("dma.transpose_bytes_per_cycle", turning).replace("dma.max_extent", longest)
    program, _ = replayed(parse(source).program, machine.replace("ddr.burst_bytes", burst))
    (cost,) = [v.cost for v in program.variants if program.templates[v.template].name == "L"]
    assert cost.descriptor is not None
    return cost.descriptor, cost.duration


@pytest.mark.parametrize(
    ("shape", "tile", "order", "box"),
    [
        ((64, 32), (64, 32), (0, 1), (64 * 32,)),  # all of it: one run
        ((64, 32), (16, 32), (0, 1), (16 * 32,)),  # whole rows: one run
        ((64, 32), (64, 8), (0, 1), (64, 8)),  # 64 rows of 8
        ((8, 64, 32), (8, 16, 4), (0, 1, 2), (8, 16, 4)),
        ((8, 64, 32), (8, 64, 4), (0, 1, 2), (8 * 64, 4)),  # planes follow each other: one loop
        ((8, 64, 32), (8, 16, 32), (0, 1, 2), (8, 16 * 32)),
        ((64, 32), (64, 32), (1, 0), (32, 64, 1)),  # transposed: no run longer than an element
    ],
)
def test_box_of_a_copied_tile_has_the_dimensions_it_needs(shape, tile, order, box):
    found, duration = descriptor_of(copy(shape, tile, order))
    assert found.shape == box and found.run_bytes == box[-1] * 4 and found.runs == prod(box[:-1])
    assert found.wanted_bytes == found.read_bytes == prod(tile) * 4
    assert duration == 10 + prod(tile)  # four bytes a cycle


@pytest.mark.parametrize(("dimensions", "descriptors"), [(0, 1), (1, 8 * 16), (2, 8), (3, 1)])
def test_dma_of_few_dimensions_takes_several_descriptors(dimensions: int, descriptors: int):
    found, duration = descriptor_of(copy((8, 64, 32), (8, 16, 4), (0, 1, 2)), dimensions)
    assert found.shape == (8, 16, 4) and found.descriptors == descriptors
    assert duration == 10 * descriptors + 8 * 16 * 4


@pytest.mark.parametrize(("columns", "moved"), [(32, 1.0), (16, 1.0), (8, 2.0), (4, 4.0), (12, 64 / 48)])
def test_short_runs_move_whole_bursts_of_64_bytes(columns: int, moved: float):
    found, duration = descriptor_of(copy((64, 64), (16, columns), (0, 1)), burst=64)
    assert found.read_bytes == moved * found.wanted_bytes and found.written_bytes == found.wanted_bytes
    assert duration == 10 + found.read_bytes // 4


shapes = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=4)


@given(shapes, st.integers(0, 3), st.sampled_from([1, 8, 16]), st.data())
def test_law_boxes_have_the_points_of_the_copy(sizes, dimensions: int, burst: int, data: st.DataObject):
    tile = tuple(n for n, _ in sizes)
    shape = tuple(n + more for n, more in sizes)
    order = tuple(data.draw(st.permutations(range(len(tile)))))
    found, duration = descriptor_of(copy(shape, tile, order), dimensions, burst)
    steps = {axis: prod(shape[axis + 1 :]) for axis in range(len(tile))}
    points = sorted(sum(p[a] * steps[a] for a in range(len(tile))) for p in product(*map(range, tile)))
    assert prod(found.shape) == len(points) and found.wanted_bytes == 4 * len(points)
    assert found.runs * found.run_bytes == found.wanted_bytes and found.run_bytes == found.shape[-1] * 4
    # A box whose dimensions cannot be joined: it has no more of them than there are axes, and none of them is 1 but a run.
    assert len(found.shape) <= len(tile) + 1 and all(n > 1 for n in found.shape[:-1])
    assert found.descriptors == (prod(found.shape[:-dimensions]) if dimensions else 1)
    assert found.read_bytes == found.runs * -(-found.run_bytes // burst) * burst >= found.wanted_bytes
    assert duration == 10 * found.descriptors + -(-found.read_bytes // 4)


@pytest.mark.parametrize(
    ("longest", "dimensions", "descriptors"),
    [
        (0, 0, 1),
        (16, 0, 1),
        (8, 0, 2),
        (5, 0, 2 * 4),
        (3, 0, 3 * 6 * 2),
        (5, 2, 8 * 4),
        (5, 1, 8 * 16),
        (1, 0, 8 * 16 * 4),
    ],
)
def test_short_dimensions_split_the_copy(longest: int, dimensions: int, descriptors: int):
    found, duration = descriptor_of(copy((8, 64, 32), (8, 16, 4), (0, 1, 2)), dimensions, longest=longest)
    assert found.shape == (8, 16, 4) and found.descriptors == descriptors
    assert duration == 10 * descriptors + 8 * 16 * 4


@pytest.mark.parametrize(("turning", "cycles"), [(0, 64 * 32 * 64 // 4), (8, 64 * 32), (4, 64 * 32), (1, 64 * 32 * 4)])
def test_transposer_moves_whole_runs_at_its_rate(turning: int, cycles: int):
    found, duration = descriptor_of(copy((64, 32), (64, 32), (1, 0)), 2, 64, turning)
    assert found.transposed == (turning > 0) and found.shape == ((32, 64) if turning else (32, 64, 1))
    assert duration == 10 * found.descriptors + cycles and found.descriptors == (1 if turning else 32)


@pytest.mark.parametrize(
    ("tile", "order", "run"),
    [((16, 8), (1, 0), 8), ((16, 32), (0, 1), 16 * 32), ((1, 8), (1, 0), 8), ((16, 1), (1, 0), 1)],
)
def test_transposer_is_unused_for_runs_equal_on_both_sides(tile, order, run: int):
    found, _ = descriptor_of(copy((64, 32), tile, order), turning=4)
    assert found.run_bytes == run * 4 and found.transposed == (min(tile) > 1 and order == (1, 0))


@given(shapes, st.integers(0, 3), st.sampled_from([1, 8, 16]), st.sampled_from([1, 3, 64]), st.data())
def test_law_a_transposer_moves_the_runs_of_the_source(
    sizes, dimensions: int, burst: int, turning: int, data: st.DataObject
):
    tile = tuple(n for n, _ in sizes)
    shape = tuple(n + more for n, more in sizes)
    order = tuple(data.draw(st.permutations(range(len(tile)))))
    text = copy(shape, tile, order)
    (alone, slow), (found, duration) = (
        descriptor_of(text, dimensions, burst),
        descriptor_of(text, dimensions, burst, turning),
    )
    steps = {axis: prod(shape[axis + 1 :]) for axis in range(len(tile))}
    points = sorted(sum(p[a] * steps[a] for a in range(len(tile))) for p in product(*map(range, tile)))
    starts = [n for n, p in enumerate(points) if n == 0 or p != points[n - 1] + 1]
    runs = [last - first for first, last in zip(starts, [*starts[1:], len(points)], strict=True)]
    # The target is contiguous, so its run is the whole tile.
    assert found.transposed == (max(runs) * 4 > alone.run_bytes)
    if not found.transposed:
        assert (found, duration) == (alone, slow)
        return
    assert (found.runs, found.run_bytes, found.wanted_bytes) == (len(runs), max(runs) * 4, alone.wanted_bytes)
    assert found.read_bytes == sum(-(-n * 4 // burst) * burst for n in runs) <= alone.read_bytes
    assert prod(found.shape) == len(points) and found.descriptors <= alone.descriptors
    assert duration == 10 * found.descriptors + max(-(-found.read_bytes // 4), -(-4 * len(points) // turning))


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "tiles"), [(8, 8, 8, 1), (9, 8, 8, 2), (8, 8, 17, 3), (9, 9, 9, 8), (20, 4, 1, 3)]
)
def test_edge_tiles_of_a_product_cost_as_much_as_whole_ones(rows, columns, depth, tiles):
    sch = Schedule(parse(matmul(rows, columns, depth)).program)
    for n in (0, 1):
        sch.cache_read("C", n, "local")
    sch.cache_write("C", 0, "local")
    machine = plain().replace("pad.capacity_bytes", 1 << 20)
    program, _ = replayed(sch.func, machine)
    (cost,) = [v.cost for v in program.variants if v.cost.tiling is not None]
    assert cost.tiling == Tiling(tiles, rows * columns * depth, tiles * 512)
    assert cost.duration == 5 + 20 * tiles


def test_last_tile_of_a_loop_has_the_utilisation_of_the_edge():
    sch = Schedule(parse(matmul(20, 8, 8)).program)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 8])
    for n in (0, 1):
        sch.compute_at(sch.cache_read("C", n, "local"), outer)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), outer)
    program, _ = replayed(sch.func, plain())
    found = [v.cost.tiling for v in program.variants if v.cost.tiling is not None]
    assert set(found) == {Tiling(1, 512, 512), Tiling(1, 256, 512)}


@pytest.mark.parametrize("preset", ["dual-bank-npu", "gemmini", "matrix-vector-npu"])
def test_more_dimensions_take_more_descriptors(preset: str):
    machine = load_machine(preset)
    assert {e.dimensions for e in machine.engines if isinstance(e, DmaEngine)} == {2}
    scope = next(m.scope for m in machine.memories if m.name in ("vtcm", "scratchpad", "local"))
    sch = Schedule(
        parse(
            copy((4, 8, 16), (4, 4, 4), (0, 1, 2)).replace('"local"', f'"{scope}"').replace("float32", "int8")
        ).program
    )
    program, _ = replayed(sch.func, machine)
    (cost,) = [v.cost for v in program.variants if program.templates[v.template].name == "L"]
    assert cost.descriptor is not None and cost.descriptor.shape == (4, 4, 4) and cost.descriptor.descriptors == 4
    assert simulate(sch.func, machine).cycles > cost.duration


def test_ports_are_requested_after_the_last_descriptor_is_set_up():
    machine = plain().replace("pad.capacity_bytes", 1 << 20).replace("dma.dimensions", 1)
    program, _ = replayed(parse(copy((64, 32), (16, 8), (0, 1))).program, machine)
    (variant,) = [v for v in program.variants if program.templates[v.template].name == "L"]
    assert variant.cost.descriptor is not None and variant.cost.descriptor.descriptors == 16
    assert variant.replay.setup == 16 * machine.engine("dma").setup_cycles
