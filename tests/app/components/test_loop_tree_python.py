"""The Python half of the loop tree: values packed for the browser, and validation of the messages from it."""

from __future__ import annotations

import json
import re

import msgspec
from support.programs.sources import MATMUL

from tilewright.app.components.esm import STATIC
from tilewright.app.components.loop_tree import LoopTree
from tilewright.app.views.tree.rows import row_menus, tree_rows
from tilewright.engine.script import parse

FUNC = parse(MATMUL).program


def test_the_components_use_no_network():
    address = re.compile(r"https?://(?!www\.w3\.org/)\w|@import|url\((?!['\"]?data:)")
    for path in [*(STATIC / "built").rglob("*.js"), *STATIC.rglob("*.css")]:
        assert not address.search(path.read_text(encoding="utf-8")), path.name


def test_equal_menu_entries_are_packed_once():
    menus = row_menus(FUNC)
    packed = json.loads(LoopTree(rows=tree_rows(FUNC), menus=menus).packed_menus)
    assert {row: [packed["entries"][n] for n in numbers] for row, numbers in packed["rows"].items()} == json.loads(
        msgspec.json.encode(menus)
    )
    assert len(packed["entries"]) < sum(map(len, menus.values()))


def test_only_new_rows_are_packed():
    tree = LoopTree(rows=tree_rows(FUNC), menus=row_menus(FUNC))
    changed: list[str] = []
    tree.param.watch(
        lambda *events: changed.extend(e.name for e in events), ["packed_rows", "packed_menus", "packed_targets"]
    )
    tree.rows = tree.rows[:1]
    assert changed == ["packed_rows"]
    assert json.loads(tree.packed_rows) == json.loads(msgspec.json.encode(tree.rows))


def test_callbacks_receive_a_message_unchanged():
    tree = LoopTree(rows=tree_rows(FUNC))
    got: list[object] = []
    tree.on_message(got.append)
    for message in ({"kind": "select", "id": "C"}, "nonsense"):
        tree.receive(message)
    assert got == [{"kind": "select", "id": "C"}, "nonsense"]


def test_only_new_marks_are_packed():
    tree = LoopTree(rows=tree_rows(FUNC))
    changed: list[str] = []
    tree.param.watch(lambda *events: changed.extend(e.name for e in events), ["packed_rows", "packed_marks"])
    marks = {"C": {"severity": "warning", "messages": [{"severity": "warning", "text": "short runs"}]}}
    tree.marks = marks
    assert changed == ["packed_marks"]
    assert json.loads(tree.packed_marks) == marks
    tree.marks = dict(marks)
    assert changed == ["packed_marks"], "equal marks do not travel"


def test_only_the_text_of_packed_values_is_sent():
    shared = set(LoopTree.shared_parameters())
    assert not {"rows", "targets", "menus", "marks", "costs"} & shared
    assert {"packed_rows", "packed_marks", "selected"} <= shared
