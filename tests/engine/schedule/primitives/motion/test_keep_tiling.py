"""compute_at and reverse_compute_at with keep_tiling: the block has its own tiles at the new place, for the region computed there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL_RELU
from support.schedules.calls import apply

from tilewright.engine.ir import Var, build
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script


def chain() -> Schedule:
    return Schedule(parse(ELEMENTWISE_CHAIN).program)


def own_loops(sch: Schedule, block: str, below: Var) -> list[tuple[str, int | None, str]]:
    """(name, extent, kind) of the loops of a block inside of `below`."""
    loops = sch.get_loops(block)
    found = [sch.get(v) for v in loops[loops.index(below) + 1 :]]
    return [(f.loop_var.name, build.int_value(f.extent), f.kind) for f in found]


def test_moved_producer_keeps_names_kinds_and_annotations():
    sch = chain()
    tiles = sch.tile(*sch.get_loops("B"), factors=[16, 8], names=["bio", "bjo", "bii", "bji"])
    sch.vectorize(tiles[3])
    sch.annotate(tiles[2], "note", 1)
    _, jo, _, _ = sch.tile(*sch.get_loops("C"), factors=[32, 24])
    sch.compute_at("B", jo, keep_tiling=True)
    assert own_loops(sch, "B", jo) == [
        ("bio", 2, "serial"),
        ("bjo", 3, "serial"),
        ("bii", 16, "serial"),
        ("bji", 8, "vectorized"),
    ]
    assert sch.get_loops("B")[2:] == tiles, "the handles live on"
    assert [key for key, _ in sch.get(tiles[2]).annotations] == ["note"]
    assert sch.verify().status == "tested"


def test_region_that_tiles_do_not_divide_is_guarded():
    sch = chain()
    sch.tile(*sch.get_loops("B"), factors=[16, 8], names=["bio", "bjo", "bii", "bji"])
    _, jo, _, _ = sch.tile(*sch.get_loops("C"), factors=[24, 20])
    sch.compute_at("B", jo, keep_tiling=True)
    assert [extent for _, extent, _ in own_loops(sch, "B", jo)] == [2, 3, 16, 8]
    assert "bio * 16 + bii < 24" in to_script(sch.mod)
    assert sch.verify().status == "tested"


def test_region_smaller_than_a_tile_runs_only_what_is_needed():
    sch = chain()
    sch.tile(*sch.get_loops("B"), factors=[16, 8], names=["bio", "bjo", "bii", "bji"])
    _, jo, _, _ = sch.tile(*sch.get_loops("C"), factors=[8, 4])
    sch.compute_at("B", jo, keep_tiling=True)
    assert own_loops(sch, "B", jo) == [("bii", 8, "serial"), ("bji", 4, "serial")]
    assert sch.verify().status == "tested"


def test_moved_tiled_reduction_keeps_its_loop_order():
    sch = Schedule(parse(MATMUL_RELU).program)
    sch.tile(*sch.get_loops("matmul"), factors=[8, 8, 16], names=["i0", "j0", "k0", "i1", "j1", "k1"])
    _, y, _, _ = sch.tile(*sch.get_loops("relu"), factors=[32, 32])
    sch.compute_at("matmul", y, keep_tiling=True)
    assert [name for name, _, _ in own_loops(sch, "matmul", y)] == ["i0", "j0", "k0", "i1", "j1", "k1"]
    assert sch.verify().status == "tested"


def test_consumer_moved_after_its_producer_keeps_its_tiles():
    sch = chain()
    sch.tile(*sch.get_loops("C"), factors=[4, 4], names=["cio", "cjo", "cii", "cji"])
    _, jo, _, _ = sch.tile(*sch.get_loops("B"), factors=[16, 16])
    sch.reverse_compute_at("C", jo, keep_tiling=True)
    assert own_loops(sch, "C", jo) == [(n, 4, "serial") for n in ("cio", "cjo", "cii", "cji")]
    assert sch.verify().status == "tested"


def test_an_untiled_block_keeps_its_loop_names():
    sch = chain()
    i, _ = sch.get_loops("C")
    j = sch.get_loops("B")[1]
    sch.compute_at("B", i, keep_tiling=True)
    assert sch.get_loops("B") == [i, j]


def test_loop_that_stays_around_others_is_copied_by_name():
    sch = chain()
    i, _ = sch.get_loops("B")
    sch.reverse_compute_at("C", i)
    x, _ = sch.get_loops("D")
    sch.compute_at("C", x, keep_tiling=True)
    assert own_loops(sch, "C", x) == [("ax0", 48, "serial")]
    sch.compute_at("B", x, keep_tiling=True)
    assert sch.verify().status == "tested"


REFUSALS = {
    "fused loops": lambda s: (s.fuse(*s.get_loops("B")), s.compute_at("B", s.get_loops("C")[0], keep_tiling=True)),
    "a thread that would run less": lambda s: (
        s.bind(s.get_loops("B")[0], "threadIdx.x"),
        s.compute_at("B", s.tile(*s.get_loops("C"), factors=[8, 8])[1], keep_tiling=True),
    ),
    "a thread axis twice": lambda s: (
        s.bind(s.get_loops("B")[1], "threadIdx.x"),
        s.bind(s.get_loops("C")[0], "threadIdx.x"),
        s.compute_at("B", s.get_loops("C")[0], keep_tiling=True),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_loops_that_cannot_move_with_a_block_are_refused(name):
    sch = chain()
    with pytest.raises(ScheduleError) as refused:
        REFUSALS[name](sch)
    assert refused.value.code == "tiling-not-kept"
    assert sch.verify().status == "tested"


@given(programs(), st.data())
def test_law_moved_tiles_keep_the_meaning(program, data):
    sch = Schedule(program)
    blocks = [name for name in sch.index.block_names if name != "root"]
    for block in blocks:
        for loop in sch.get_loops(block):
            if data.draw(st.booleans()):
                sch.split(loop, [None, data.draw(st.integers(1, 4))])
    for block in data.draw(st.permutations(blocks)):
        legal = [t for t in sch.legal_targets(block) if t.legal]
        if not legal:
            continue
        target = data.draw(st.sampled_from(legal))
        units = data.draw(st.booleans())
        arguments = {"block": block, "loop": target.loop, "keep_tiling": True, "preserve_unit_loops": units}
        try:
            apply(sch, (target.primitive, arguments))
        except ScheduleError as refused:
            assert refused.code == "tiling-not-kept"
        verdict = sch.verify()
        assert verdict.status == "tested", verdict.detail
