"""The views as widgets, without a browser: gestures in one view change the schedule and all linked views."""

from __future__ import annotations

import base64
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.sessions.notebooks import MATMUL_NOTEBOOK

import tilewright
from tilewright.app.document import evaluate, read_document
from tilewright.app.jupyter import LayoutPicker, LoopTree, ScheduleNotebook, Timeline
from tilewright.engine.schedule import Schedule

EXAMPLE = Path(tilewright.__file__).parents[1] / "static" / "examples" / "place_the_copies.py"
MOVE = {"kind": "move", "block": "A_local.vtcm", "loop": "ko", "primitive": "compute_at"}


@pytest.fixture
def schedule() -> Schedule:
    found = tilewright.load(EXAMPLE).schedule
    assert found is not None
    return found.copy()


def by_hand(view: Any, message: dict[str, Any]) -> None:
    """A message as the browser sends it to the widget."""
    view.widget.component.receive(message)


def ids(view: LoopTree) -> list[str]:
    return [row["id"] for row in json.loads(view.widget.packed_rows)]


def cycles(view: Timeline) -> int:
    return json.loads(view.widget.payload)["cycles"]


def calls(schedule: Schedule) -> list[str]:
    return [step.method for step in schedule.trace.steps if step.changes]


@pytest.mark.slow
def test_a_drag_adds_the_call_and_updates_the_tree(schedule: Schedule) -> None:
    tree = LoopTree(schedule)
    before, count = ids(tree), len(calls(schedule))
    by_hand(tree, MOVE)
    assert calls(schedule)[count:] == ["compute_at"]
    assert ids(tree) != before and ids(tree).index("A_local.vtcm") > ids(tree).index("ko")


def test_undo_restores_the_schedule(schedule: Schedule) -> None:
    tree, before = LoopTree(schedule), schedule.mod
    by_hand(tree, MOVE)
    by_hand(tree, {"kind": "undo"})
    assert schedule.mod is before
    by_hand(tree, {"kind": "redo"})
    assert calls(schedule)[-1] == "compute_at"


def test_calls_made_before_the_view_can_be_undone_and_redone(schedule: Schedule) -> None:
    tree, earlier = LoopTree(schedule), calls(schedule)
    for left in reversed(range(len(earlier))):
        by_hand(tree, {"kind": "undo"})
        assert calls(schedule) == earlier[:left]
    by_hand(tree, {"kind": "undo"})
    for back in range(len(earlier)):
        by_hand(tree, {"kind": "redo"})
        assert calls(schedule) == earlier[: back + 1]


def test_a_refused_drop_shows_the_reason_and_changes_nothing(schedule: Schedule) -> None:
    tree, before = LoopTree(schedule), schedule.mod
    messages: list[Any] = []
    tree.widget.component.on_sent(messages.append)
    by_hand(tree, {**MOVE, "block": "C", "loop": "ax0"})
    assert schedule.mod is before
    assert [message["kind"] for message in messages] == ["notice"]


@pytest.mark.slow
def test_a_linked_timeline_follows_a_moved_block(schedule: Schedule) -> None:
    tree = LoopTree(schedule)
    timeline = Timeline(schedule=tree.param.schedule, machine=tree.param.machine)
    before = cycles(timeline)
    changes: list[Schedule] = []
    tree.param.watch(lambda event: changes.append(event.new), "schedule")
    by_hand(tree, MOVE)
    assert cycles(timeline) != before
    assert cycles(timeline) == tilewright.simulate(schedule, "dual-bank-npu").cycles
    assert changes == [schedule]
    assert tree.widget.group == timeline.widget.group, "one playhead"


@pytest.mark.slow
def test_linked_views_use_the_given_machine(schedule: Schedule) -> None:
    tree = LoopTree(schedule, machine="dual-bank-npu")
    timeline = Timeline(schedule=tree.param.schedule, machine=tree.param.machine)
    slow = tilewright.machine("dual-bank-npu").replace("memories.ddr.read_bytes_per_cycle", 8)
    tree.machine = slow
    assert cycles(timeline) == tilewright.simulate(schedule, slow).cycles
    by_hand(tree, MOVE)
    assert cycles(timeline) == tilewright.simulate(schedule, slow).cycles


@pytest.mark.slow
def test_views_follow_calls_from_a_later_cell(schedule: Schedule) -> None:
    tree = LoopTree(schedule)
    timeline = Timeline(schedule=tree.param.schedule)
    before = cycles(timeline)
    schedule.compute_at("A_local.vtcm", schedule.get_loop("ko"))
    tree._catch_up()
    assert ids(tree).index("A_local.vtcm") > ids(tree).index("ko") and cycles(timeline) != before
    by_hand(tree, {"kind": "undo"})
    assert calls(schedule)[-1] != "compute_at", "the hand undoes what the cell did"


def test_a_selected_row_is_synchronized_in_both_directions(schedule: Schedule) -> None:
    tree = LoopTree(schedule)
    by_hand(tree, {"kind": "select", "id": "ko"})
    assert tree.selected == "ko"
    tree.selected = "no"
    assert tree.widget.selected == "no"


def test_a_report_shows_its_timeline() -> None:
    report = tilewright.simulate(tilewright.load(EXAMPLE))
    assert cycles(Timeline(report)) == report.cycles


def test_a_program_without_calls_gets_a_schedule() -> None:
    tree = LoopTree(evaluate(read_document(MATMUL_NOTEBOOK)).program)
    assert isinstance(tree.schedule, Schedule)
    by_hand(tree, {"kind": "reorder", "loops": ["j", "i"]})
    assert calls(tree.schedule) == ["reorder"]


def test_a_notebook_view_uses_its_machine_and_keeps_its_schedule() -> None:
    notebook = tilewright.load(EXAMPLE)
    tree = LoopTree(notebook)
    by_hand(tree, MOVE)
    assert tree.machine == notebook.machine
    assert notebook.schedule is not None and len(calls(tree.schedule)) == len(calls(notebook.schedule)) + 1


def test_an_unsupported_object_is_refused() -> None:
    with pytest.raises(TypeError, match="a schedule, a notebook or a program is expected, not int"):
        LoopTree(3)


def test_a_layout_picker_switches_to_another_buffer(schedule: Schedule) -> None:
    tree = LoopTree(schedule)
    picker = LayoutPicker(schedule=tree.param.schedule, buffer=tree.param.buffer)
    assert json.loads(picker.widget.payload)["picker"]["name"].startswith(("A_local", "B_local", "C_local"))
    by_hand(tree, {"kind": "select", "id": "A_local.vtcm", "buffer": "A"})
    assert json.loads(picker.widget.payload)["picker"]["name"] == "A" == picker.shown


@pytest.mark.slow
def test_a_picked_layout_reaches_the_schedule_and_linked_views(schedule: Schedule) -> None:
    tree = LoopTree(schedule)
    picker = LayoutPicker(tree.param.schedule, "A_local.vtcm")
    changes: list[Schedule] = []
    tree.param.watch(lambda event: changes.append(event.new), "schedule")
    card = next(c for c in json.loads(picker.widget.payload)["picker"]["cards"] if c["call"])
    by_hand(picker, {"kind": "call", **{key: card["call"][key] for key in ("method", "target", "arguments")}})
    assert calls(schedule)[-1] == card["call"]["method"] and changes == [schedule]
    by_hand(tree, {"kind": "undo"})
    assert picker._session.state.shown.schedule.states[-1] is schedule.states[-1], "the link holds"


def test_the_bundle_of_a_view_has_text_picture_and_live_view(schedule: Schedule) -> None:
    for view, label in (
        (LoopTree(schedule), "Loop tree of matmul"),
        (Timeline(schedule), "Timeline of matmul"),
        (LayoutPicker(schedule), "Layout of"),
    ):
        bundle = view._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
        assert "Schedule of 'matmul'" in bundle["text/plain"]
        assert "<script" not in bundle["text/html"] and f'alt="{label}' in bundle["text/html"]
        svg = base64.b64decode(re.search('base64,([^"]+)"', bundle["text/html"])[1]).decode()  # type: ignore[index]
        assert svg.startswith("<svg") and "http" not in svg.replace("http://www.w3.org/2000/svg", "")
        assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == view.widget.model_id


def test_picture_includes_calls_of_the_same_cell(schedule: Schedule) -> None:
    tree = LoopTree(schedule)
    schedule.unroll(schedule.get_loop("ki"))
    svg = base64.b64decode(re.search('base64,([^"]+)"', tree._repr_mimebundle_()["text/html"])[1]).decode()  # type: ignore[index]
    assert "unroll" in svg


def test_the_picture_escapes_markup_in_names() -> None:
    program = evaluate(read_document(MATMUL_NOTEBOOK)).program
    assert program is not None
    sch = Schedule(program)
    tree = LoopTree(sch)
    tree._session.state = replace(tree._session.state, named='"><img src=x onerror=alert(1)>')
    assert "onerror" in tree._session.state.title
    assert "onerror" not in re.sub(r'alt="[^"]*"', "", tree._repr_mimebundle_()["text/html"])


def test_dragging_in_a_notebook_file_writes_the_line(tmp_path: Path) -> None:
    path = tmp_path / "copies.py"
    path.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    notebook = ScheduleNotebook(path)
    timeline = Timeline(schedule=notebook.param.schedule)
    before = cycles(timeline)
    assert len(notebook.widget.children) == 5
    notebook._page.tree.receive(MOVE)
    assert "sch.compute_at(AL, ko)" in notebook.text and cycles(timeline) != before
    assert notebook.schedule.trace.steps[-1].method == "compute_at"
    end = time.monotonic() + 30
    while "sch.compute_at(AL, ko)" not in path.read_text(encoding="utf-8") and time.monotonic() < end:
        time.sleep(0.02)
    assert path.read_text(encoding="utf-8") == notebook.text


def test_a_schedule_as_a_notebook_has_its_steps_and_accepts_drags(schedule: Schedule) -> None:
    notebook = ScheduleNotebook(schedule)
    notebook._page.tree.receive(MOVE)
    assert calls(schedule)[-1] == "compute_at"
    notebook._page.headline.receive({"kind": "gallery"})
    assert notebook._session.state.notebook is not None, "there is no gallery in a cell"
    notebook._page.headline.receive({"kind": "machine", "name": "gemmini"})
    assert 'tilewright.machine("gemmini")' in notebook.text
    notebook._page.headline.receive({"kind": "machine", "name": "nowhere"})
    assert "there is no such machine" in notebook._said.value
