"""The Python half of the loop tree: what is packed for the browser, and what of its messages is believed."""

from __future__ import annotations

import json
import re

from support.sources import MATMUL

from tilewright.app.components.esm import STATIC
from tilewright.app.components.loop_tree import LoopTree
from tilewright.app.views.tree.rows import row_menus, tree_rows
from tilewright.engine.script import parse

FUNC = parse(MATMUL).program


def test_given_the_components_files_then_none_asks_the_network():
    for path in [*(STATIC / "built").rglob("*.js"), *STATIC.rglob("*.css")]:
        assert not re.search(r"https?://(?!www\.w3\.org/)\w|@import|url\(", path.read_text(encoding="utf-8")), path.name


def test_given_menus_when_packed_then_equal_entries_travel_once_and_all_arrive():
    menus = row_menus(FUNC)
    packed = json.loads(LoopTree(rows=tree_rows(FUNC), menus=menus).packed_menus)
    assert {row: [packed["entries"][n] for n in numbers] for row, numbers in packed["rows"].items()} == menus
    assert len(packed["entries"]) < sum(map(len, menus.values()))


def test_given_new_rows_then_only_they_are_packed_again():
    tree = LoopTree(rows=tree_rows(FUNC), menus=row_menus(FUNC))
    changed: list[str] = []
    tree.param.watch(
        lambda *events: changed.extend(e.name for e in events), ["packed_rows", "packed_menus", "packed_targets"]
    )
    tree.rows = tree.rows[:1]
    assert changed == ["packed_rows"]
    assert json.loads(tree.packed_rows) == tree.rows


def test_given_a_message_then_the_callbacks_get_it_and_a_selection_is_kept():
    tree = LoopTree(rows=tree_rows(FUNC))
    got: list[dict] = []
    tree.on_intent(got.append)
    tree._handle_msg({"kind": "select", "id": "C"})
    tree._handle_msg({"kind": "move", "block": "C", "loop": "i", "primitive": "compute_at"})
    tree._handle_msg("nonsense")
    assert [m["kind"] for m in got] == ["select", "move"]
    assert tree.selected == "C"


def test_given_a_drop_that_is_not_possible_then_the_calls_before_it_are_asked_for_and_told():
    wish = {"kind": "wish", "block": "C", "loop": "i", "primitive": "compute_at"}
    tree = LoopTree(rows=tree_rows(FUNC), find_repair=lambda asked: [f"sch.{asked['primitive']}(…)"])
    told: list[dict] = []
    tree._send_msg = told.append
    tree._handle_msg(wish)
    assert told == [{"kind": "repair", "wish": wish, "calls": ["sch.compute_at(…)"]}]


def test_given_a_question_then_only_rows_that_are_there_are_looked_up():
    asked: list[object] = []
    tree = LoopTree(
        rows=tree_rows(FUNC),
        find_targets=lambda rows: asked.append(rows) or [],
        find_menu=lambda row: asked.append(row) or [],
    )
    tree.on_intent(lambda _: asked.append("intent"))
    for rows in (["C"], ["C", "i"], ["zz"], ["C", "zz"], []):
        tree._handle_msg({"kind": "targets", "rows": rows})
    for rows in (3, None, {"a": 1}):
        tree._handle_msg({"kind": "targets", "rows": rows})
    for row in ("i", "zz", ["C"], None):
        tree._handle_msg({"kind": "menu", "row": row})
    assert asked == [["C"], ["C", "i"], "i"]


def test_given_loops_with_the_same_answer_then_it_travels_once():
    entry = {"legal": False, "primitive": "compute_at", "reason": "not here"}
    entries = [{**entry, "loop": loop} for loop in ("i", "j")] + [{**entry, "legal": True, "loop": "k"}]
    tree = LoopTree(rows=tree_rows(FUNC), find_targets=lambda _: entries)
    told: list[dict] = []
    tree._send_msg = told.append
    tree._handle_msg({"kind": "targets", "rows": ["C"]})
    assert [(e["legal"], e["loops"]) for e in told[0]["entries"]] == [(False, ["i", "j"]), (True, ["k"])]


def test_given_marks_then_only_they_are_packed():
    tree = LoopTree(rows=tree_rows(FUNC))
    changed: list[str] = []
    tree.param.watch(lambda *events: changed.extend(e.name for e in events), ["packed_rows", "packed_marks"])
    marks = {"C": {"severity": "warning", "messages": [{"severity": "warning", "text": "short runs"}]}}
    tree.marks = marks
    assert changed == ["packed_marks"]
    assert json.loads(tree.packed_marks) == marks
    tree.marks = dict(marks)
    assert changed == ["packed_marks"], "equal marks do not travel"
