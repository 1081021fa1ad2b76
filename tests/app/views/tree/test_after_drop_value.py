"""The tree after a drop, as differences to the displayed rows."""

from __future__ import annotations

from tilewright.app.document import load_document
from tilewright.app.document.evaluate import evaluate
from tilewright.app.views.shell.gallery import FOLDER
from tilewright.app.views.tree.after_drop import tree_after
from tilewright.engine.schedule import Schedule


def opened() -> Schedule:
    schedule = evaluate(load_document(FOLDER / "vtcm_double_buffer.py")).schedule
    assert schedule is not None
    return schedule


def test_a_moved_block_shows_its_new_and_old_loops() -> None:
    before = opened()
    schedule = before.copy()
    block = "A_local.vtcm"
    loop = next(var for var in (f.loop_var for f in schedule.index.loops) if var.name == "mi")
    schedule.compute_at(block, loop)
    found = tree_after(before.func, schedule.func, [block], "mi", "compute_at")
    (group,) = found.groups
    assert group.above == "mi"
    assert [(r.kind, r.name, r.extent, r.depth, r.new) for r in group.rows] == [
        ("loop", "ax0", "64", 4, True),
        ("block", block, "", 5, False),
    ]
    assert found.leaving == ["ax0", "ax1", block]
    assert group.rows[1].colour is not None


def test_a_reorder_shows_the_loops_in_their_new_order() -> None:
    before = opened()
    schedule = before.copy()
    loops = {f.loop_var.name: f.loop_var for f in schedule.index.loops}
    schedule.reorder(loops["ni"], loops["mi"])
    found = tree_after(before.func, schedule.func, ["mi"], "ni", "reorder")
    names = [row.name for group in found.groups for row in group.rows]
    assert names[:2] == ["ni", "mi"]
    assert not any(row.new for group in found.groups for row in group.rows)
    assert {"mi", "ni"} <= set(found.leaving)


def test_equal_programs_show_no_change() -> None:
    func = opened().func
    found = tree_after(func, func, [], "", "")
    assert not found.groups and not found.leaving
