"""Static allocation: overlapping lifetimes share no address, and a memory holds the buffers that fit."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import samples
from support.programs.sources import matmul
from support.simulator.machines import plain
from support.simulator.phases import phased

from tilewright import report_text
from tilewright.engine.hwsim import Report, simulate
from tilewright.engine.hwsim.access.allocation import ANY, Chunk, ChunkSpot, allocate, largest_live
from tilewright.engine.hwsim.simulate import tasks_of
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


@st.composite
def chunks(draw: st.DrawFn, blocks: int) -> list[Chunk]:
    def chunk() -> Chunk:
        first = draw(st.integers(0, 8))
        block = draw(st.sampled_from([ANY, *range(blocks)]))
        return Chunk(draw(st.integers(1, 40)), first, first + draw(st.integers(0, 4)), block)

    return [chunk() for _ in range(draw(st.integers(0, 9)))]


def overlap(a: tuple[Chunk, ChunkSpot], b: tuple[Chunk, ChunkSpot]) -> bool:
    (one, here), (other, there) = a, b
    return (
        here.block == there.block
        and here.address < there.address + other.size_bytes
        and there.address < here.address + one.size_bytes
    )


@given(st.data(), st.integers(1, 3), st.integers(1, 120), st.sampled_from([1, 4, 16]))
def test_law_live_chunks_share_no_address(data: st.DataObject, blocks: int, room: int, row: int):
    wanted = data.draw(chunks(blocks))
    placed = list(zip(wanted, allocate(wanted, blocks, room, row), strict=True))
    assert all(not (a[0].meets(b[0]) and overlap(a, b)) for a, b in combinations(placed, 2))
    for chunk, spot in placed:
        assert chunk.block in (ANY, spot.block) and spot.address % row == 0
    for block in range(blocks):
        inside = [(c, s) for c, s in placed if s.block == block]
        live, leaf = largest_live(c for c, _ in inside)
        assert live == sum(c.size_bytes for c, _ in inside if c.first <= leaf <= c.last)
        assert live <= max((s.address + c.size_bytes for c, s in inside), default=0)


@given(st.data(), st.integers(1, 3))
def test_law_chunks_share_addresses_only_in_a_memory_too_small(data: st.DataObject, blocks: int):
    wanted = data.draw(chunks(blocks))
    placed = zip(wanted, allocate(wanted, blocks, sum(c.size_bytes for c in wanted) or 1, 1), strict=True)
    assert not any(overlap(a, b) for a, b in combinations(placed, 2))


def test_a_smaller_chunk_is_placed_in_a_gap() -> None:
    wanted = [Chunk(40, 0, 9), Chunk(30, 0, 3), Chunk(20, 0, 9), Chunk(30, 5, 9)]
    spots = allocate(wanted, 1, 90, 1)
    assert max(spot.address + chunk.size_bytes for chunk, spot in zip(wanted, spots, strict=True)) == 90


def doubled_operands(capacity_bytes: int) -> Report:
    """A matmul whose operand tiles of 5120 bytes have two slots each."""
    sch = Schedule(parse(matmul(32, 32, 80)).program)
    i, _, k = sch.get_loops("C")
    outer, _ = sch.split(k, factors=[2, None])
    sch.reorder(outer, i)
    for n in (0, 1):
        copy = sch.cache_read("C", n, "local")
        sch.compute_at(copy, outer)
        sch.double_buffer(copy)
    machine = plain().replace("pad.banks", 1).replace("pad.capacity_bytes", capacity_bytes)
    return simulate(sch.func, machine.replace("matrix.reads", ["pad", "ddr"]).replace("matrix.writes", ["ddr"]))


def test_slots_that_never_fill_at_once_reserve_their_memory() -> None:
    report = doubled_operands(10_240)
    assert report.memory["local"].peak_bytes == report.memory["local"].used_bytes == 20_480
    (finding,) = (f for f in report.findings if f.code == "capacity-overflow")
    assert "needs 20480 bytes, but has 10240" in finding.message
    assert not any(f.code == "capacity-overflow" for f in doubled_operands(20_480).findings)


GAP = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def gap(X: T.Buffer((96,), "float32"), Y: T.Buffer((96,), "float32")):
    with T.sblock("root"):
        a = T.sblock_alloc_buffer((32,), scope="local")
        b = T.sblock_alloc_buffer((96,), scope="local")
        c = T.sblock_alloc_buffer((64,), scope="local")
{stages}
"""


def test_reports_have_fragmented_bytes() -> None:
    stages = (("a", "X", 32), ("b", "a", 32), ("Y", "b", 32), ("c", "Y", 32), ("Y", "c", 32))
    lines = "".join(
        f"""        for i{n} in range({extent}):
            with T.sblock("s{n}"):
                v = T.axis.spatial({extent}, i{n})
                {target}[v] = {source}[v]
"""
        for n, (target, source, extent) in enumerate(stages)
    )
    machine = plain().replace("pad.banks", 1).replace("pad.capacity_bytes", 1024)
    report = simulate(parse(GAP.format(stages=lines)).program, machine)
    memory = report.memory["local"]
    assert memory.used_bytes == 2 * 32 * 4 and memory.fragmented_bytes == 32 * 4 and memory.free_bytes == 1024 - 96 * 4
    written = report.to_json()["memory"]["local"]
    assert (written["used_bytes"], written["fragmented_bytes"], written["free_bytes"]) == (256, 128, 640)
    line = next(x for x in report_text(report).splitlines() if x.startswith("local ") and x.endswith("%"))
    assert line.split() == ["local", "384", "256", "128", "640", "1,024", "38", "%"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", samples(range(30), *range(5)))
def test_law_a_tile_is_dead_before_its_address_is_reused(seed: int) -> None:
    func = phased(Random(seed))
    for capacity in (1024, 512, 256, 128):
        machine = plain().replace("pad.capacity_bytes", capacity)
        report, sharing = simulate(func, machine), tasks_of(func, machine).places.sharing
        starts, _, ends, cells = (column.tolist() for column in report.occupancy.tiles.columns())
        for a, b in combinations(range(len(cells)), 2):
            if cells[b] in sharing.get(cells[a], ()):
                assert ends[a] <= starts[b] or ends[b] <= starts[a]
        for row, memory in report.memory.items():
            reserved = max(report.occupancy.steps[row].allocated)
            assert memory.peak_live_bytes <= reserved <= memory.peak_bytes
            assert memory.used_bytes <= memory.peak_bytes


@pytest.mark.parametrize("seed", samples(range(30), *range(5)))
def test_law_shared_addresses_are_never_faster(seed: int) -> None:
    func, machine = phased(Random(seed)), plain()
    roomy = simulate(func, machine.replace("pad.capacity_bytes", 1 << 16))
    tight = machine.replace("pad.capacity_bytes", 256)
    every = simulate(func, tight, whole=10**9)
    assert every.cycles >= roomy.cycles
    assert simulate(func, tight, whole=0).to_json() == every.to_json()
