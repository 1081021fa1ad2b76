"""Rows of the loop tree, their ids, and the legal targets of blocks."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from support.programs.random_programs import programs
from support.programs.sources import BOX_BLUR, MATMUL, MATMUL_RELU
from support.schedules.drop_targets import drop_targets

from tilewright.app.views.tree.rows import BufferChip, Row, row_ids, tree_rows
from tilewright.engine.ir import BlockRealize, Var, loops_and_blocks
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def schedule(text: str = MATMUL) -> Schedule:
    return Schedule(parse(text).program)


def rows_by_id(sch: Schedule) -> dict[str, Row]:
    return {row.id: row for row in tree_rows(sch.func)}


def staged() -> Schedule:
    """A matmul whose A is copied to local.vtcm at ko."""
    sch = schedule()
    sch.split("k", [None, 32], names=["ko", "ki"])
    copy = sch.cache_read("C", 0, "local.vtcm")
    sch.reorder("ko", "i", "j")
    sch.compute_at(copy, sch.get_loops("C")[0])
    return sch


@given(programs())
def test_each_loop_and_block_has_one_row_below_its_parent(func):
    rows = tree_rows(func)
    ids = row_ids(func)
    stmts = [s for s in loops_and_blocks(func.body) if s is not func.body]
    assert [ids[row.id] for row in rows] == [s.block.name if isinstance(s, BlockRealize) else s.loop_var for s in stmts]
    assert len({row.id for row in rows}) == len(rows)
    seen: dict[str, int] = {}
    for row in rows:
        assert row.depth == (seen[row.parent] + 1 if row.parent else 0)
        seen[row.id] = row.depth
    msgspec.json.encode(rows)


def test_the_second_loop_of_a_name_is_numbered():
    ids = row_ids(schedule(BOX_BLUR).func)
    assert {"y", "y~2", "y~3"} <= set(ids)
    first, second = ids["y"], ids["y~2"]
    assert isinstance(first, Var)
    assert isinstance(second, Var)
    assert first is not second
    assert first.name == second.name == "y"
    assert all(ids.of(handle) == row for row, handle in ids.items())


def test_a_reduction_is_marked_on_loop_and_block():
    rows = rows_by_id(schedule())
    assert [rows[n].reduces for n in ("i", "j", "k")] == [False, False, True]
    assert rows["k"].extent == "128"
    block = rows["C"]
    assert [it.type for it in block.iters] == ["spatial", "spatial", "reduce"]
    assert [b.name for b in block.reads] == ["A", "B"]
    assert block.writes == (BufferChip("C", "C", "global", "64\u202fKiB", 2),)
    assert block.detail == "reduces over vk"
    assert "C[vi, vj]" in block.tooltip


def test_a_row_shows_its_kind_and_annotation():
    sch = schedule()
    sch.parallel("i")
    sch.bind("j", "threadIdx.x")
    sch.annotate("k", "pragma_auto_unroll_max_step", 16)
    rows = rows_by_id(sch)
    assert (rows["i"].loop_kind, rows["i"].detail) == ("parallel", "parallel")
    assert rows["j"].detail == "threadIdx.x"
    assert rows["k"].badges[0].tip == "pragma_auto_unroll_max_step = 16"
    assert rows["k"].badges[0].text == "pragma_auto_unroll_max_…"


def test_a_pipeline_is_a_short_badge():
    sch = staged()
    sch.annotate("ko", "software_pipeline_stage", [0, 1])
    sch.annotate("ko", "software_pipeline_order", [0, 1])
    sch.annotate("ko", "software_pipeline_async_stages", [0])
    badges = rows_by_id(sch)["ko"].badges
    assert [badge.text for badge in badges] == ["pipeline 0 1", "order 0 1", "async 0"]
    assert badges[0].tip == "software_pipeline_stage = [0, 1]"


def test_the_row_of_a_copy_shows_staging_and_double_buffering():
    sch = staged()
    sch.double_buffer("A_local.vtcm")
    row = rows_by_id(sch)["A_local.vtcm"]
    assert row.detail == "copy"
    assert row.writes[0].scope == "local.vtcm"
    assert "\u00d72" in [badge.text for badge in row.badges]


def test_one_badge_shows_three_slots():
    sch = staged()
    sch.double_buffer("A_local.vtcm", slots=3)
    assert [badge.text for badge in rows_by_id(sch)["A_local.vtcm"].badges] == ["\u00d73"]


def test_live_sizes_replace_the_declared_ones():
    sch = staged()
    buffer = sch.get("A_local.vtcm").writes[0].buffer
    row = {r.id: r for r in tree_rows(sch.func, {buffer: 2048})}["A_local.vtcm"]
    assert row.writes[0].bytes == "2\u202fKiB"
    assert "2\u202fKiB live" in row.tooltip


def test_predicate_of_an_uneven_split_is_a_badge():
    sch = schedule()
    sch.split("i", [None, 48])
    badges = {badge.text: badge for badge in rows_by_id(sch)["C"].badges}
    assert "128" in badges["if"].tip


def test_every_loop_is_a_drop_target_or_has_a_reason():
    sch = schedule(MATMUL_RELU)
    before = sch.func
    found = drop_targets(sch)
    ids = row_ids(sch.func)
    loops = [row for row, handle in ids.items() if isinstance(handle, Var)]
    assert set(found) == {"matmul", "relu"}
    for entries in found.values():
        assert {entry.loop for entry in entries} == set(loops)
        assert all(entry.legal or (entry.reason and entry.code) for entry in entries)
    assert sch.func is before
    msgspec.json.encode(found)


def test_a_call_at_a_legal_target_is_accepted():
    sch = schedule(MATMUL_RELU)
    ids = row_ids(sch.func)
    legal = [(block, e) for block, entries in drop_targets(sch).items() for e in entries if e.legal]
    assert legal
    for block, entry in legal:
        getattr(sch.copy(), entry.primitive)(ids[block], ids[entry.loop])


def test_a_producer_dropped_among_overlapping_tiles_is_costly():
    sch = schedule(BOX_BLUR)
    consumer = sch.get_loops("y_blur")[0]
    entries = [e for e in drop_targets(sch, ["x_blur"])["x_blur"] if e.loop == row_ids(sch.func).of(consumer)]
    (entry,) = [e for e in entries if e.legal]
    assert entry.costly
    assert entry.reason.splitlines() == [
        "runs 2.91\u00d7 as often as before: 36\u202f864 iterations",
        "one iteration of y fills 3 \u00d7 64 \u00d7 3 of x_blur: 1.125\u202fKiB of 24.75\u202fKiB",
    ]


def test_a_consumer_at_its_producers_loop_shows_its_footprint():
    sch = schedule(MATMUL_RELU)
    outer = row_ids(sch.func).of(sch.get_loops("matmul")[0])
    (entry,) = [e for e in drop_targets(sch, ["relu"])["relu"] if e.loop == outer]
    assert entry.legal
    assert not entry.costly
    assert entry.note == "384\u202fB"
    assert entry.reason.splitlines() == [
        "runs as often as before: 12\u202f288 iterations",
        "one iteration of i reads 96 of C: 384\u202fB of 48\u202fKiB",
    ]


@pytest.mark.slow
@given(programs())
def test_legal_drop_targets_are_accepted_by_the_schedule(func):
    sch = Schedule(func)
    ids = row_ids(func)
    for block, entries in drop_targets(sch).items():
        for entry in entries:
            if entry.legal:
                getattr(sch.copy(), entry.primitive)(ids[block], ids[entry.loop])
    assert sch.func is func or tree_rows(sch.func) == tree_rows(func)


def test_cached_rows_do_not_leak_into_the_next() -> None:
    sch = Schedule(parse(MATMUL_RELU).program)
    known: dict = {}
    tree_rows(sch.func, known=known)
    before = dict(known)
    sch.split(sch.get_loops("matmul")[1], [None, 8], names=["jo", "ji"])
    assert tree_rows(sch.func, known=known) == tree_rows(sch.func)
    assert any(before.get(node) is entry for node, entry in known.items())
    assert tree_rows(sch.func, {sch.get("relu").reads[0].buffer: 64}, known=known) == tree_rows(
        sch.func, {sch.get("relu").reads[0].buffer: 64}
    )
