"""The timeline's tables, its answers to queries, and the selected stall."""

from __future__ import annotations

import base64
from itertools import pairwise

import numpy as np
import pytest
from support.record.time_map import CASES, time_map_cases
from support.sessions.hostile import NoClock
from support.sessions.pages import painted

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import SelectRow, SelectStall, act
from tilewright.app.session.session import Session
from tilewright.app.state.derived import Store
from tilewright.app.state.model import Blamed, State
from tilewright.app.state.row_ids import row_ids
from tilewright.app.views.inspector.value import inspector_value
from tilewright.app.views.labels.values import Answer
from tilewright.app.views.machine.value import machine_value
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.timeline.value import path_value, start_of_task, timeline_value, window_value
from tilewright.app.views.timeline.waits import step_to_blame
from tilewright.engine.hwsim import Report


def example(name: str) -> tuple[State, Store, Report]:
    (found,) = (e for e in load_examples() if e.name == name)
    state, store = painted(act(State(), OpenText(found.text, found.title)))
    report = store.simulated(state)
    assert isinstance(report, Report)
    return state, store, report


def test_tables_name_engines_slots_and_tree_rows() -> None:
    state, store, report = example("gemmini_gemm")
    value = timeline_value(state, store)
    assert [e.name for e in value.engines] == ["mvin", "mvout", "array"]
    labels = [c.label for c in value.cells]
    assert "A_local.scratchpad#0" in labels and "A_local.scratchpad#1" in labels
    assert all(0 <= c.low < c.high <= 1 for c in value.cells)
    assert state.moment is not None
    rows = row_ids(state.moment.schedule.func)
    for template in value.templates:
        assert template.rows and all(row in rows for row in template.rows)
        assert all(loop.row in rows for loop in template.loops)
    compute = next(t for t in value.templates if t.block == "C")
    assert [loop.name for loop in compute.loops] == ["io", "jo", "ko"]
    assert value.cycles == report.cycles > value.length


def test_channels_have_rows_but_share_one_engine_in_the_panel() -> None:
    (found,) = (e for e in load_examples() if e.name == "vtcm_double_buffer")
    machine = 'tilewright.machine("dual-bank-npu")'
    text = found.text.replace(machine, f'{machine}.replace("engines.dma.channels", 2)')
    state, store = painted(act(State(), OpenText(text, found.title)))
    assert isinstance(store.simulated(state), Report)
    assert [e.name for e in timeline_value(state, store).engines] == ["dma[0]", "dma[1]", "matrix"]
    parts = {part.path: part for part in machine_value(state, store).parts}
    assert parts["engines.dma"].used and "engines.dma[0]" not in parts


def test_rows_have_the_line_numbers_of_the_text() -> None:
    state, store, _ = example("vtcm_double_buffer")
    assert state.moment is not None
    lines = store.script(state.moment.schedule).splitlines()
    found = timeline_value(state, store).lines
    assert "range(8)" in lines[found["ko"] - 1]
    for block in ("A_local.vtcm", "B_local.vtcm", "C", "C_local.acc"):
        assert f'T.sblock("{block}")' in lines[found[block] - 1]


def test_equal_states_share_one_timeline_value() -> None:
    state, store, _ = example("vta_gemm")
    assert timeline_value(state, store) is timeline_value(act(state, SelectRow("C")), store)


def test_a_repeat_names_its_loops_and_its_start() -> None:
    state, store, report = example("gemmini_gemm")
    (repeat,) = timeline_value(state, store).repeats
    (played,) = report.timeline.repeats
    assert repeat.names == ["io", "jo"] and tuple(repeat.extents) == (8, 8) and repeat.level == 0
    assert tuple(repeat.base) == report.timeline.places[played.first][:2]
    assert repeat.extra == played.extra and repeat.cycles == played.cycles


def test_a_requested_window_has_the_tasks_of_an_unrolled_run() -> None:
    state, store, report = example("gemmini_gemm")
    tasks = window_value(report, store, 600_000, 612_000, folded=False).tasks
    value = timeline_value(state, store)
    reported = {
        (
            600_000 + start,
            600_000 + start + length,
            value.templates[value.kinds[kind].template].block,
            tuple(place),
        )
        for kind, start, length, place in zip(
            *(getattr(tasks, c) for c in ("kind", "start", "length", "place")), strict=True
        )
    }
    real = {
        (s.start, s.end, s.block, tuple(i for _, i in s.indices)) for s in report.segments.between(600_000, 612_000)
    }
    assert reported == real and len(real) > 10


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["gemmini_gemm", "vtcm_double_buffer"])
def test_the_critical_path_covers_the_interval(name: str) -> None:
    _, store, report = example(name)
    near = path_value(report, store, 1_000, 5_000)
    assert sum(part.cycles for part in near.parts) == report.cycles
    spans = sorted((max(0, a), a + n) for a, n in zip(near.steps.start, near.steps.length, strict=True))
    assert spans[0][0] == 0 and spans[-1][1] >= 4_000
    assert all(end == start for (_, end), (start, _) in pairwise(spans))
    whole = path_value(report, store, 0, report.cycles)
    if whole.steps is None:
        levels = [np.frombuffer(base64.b64decode(lane), np.uint8) / 255 for lane in whole.lanes]
        assert np.sum(levels, axis=0) == pytest.approx(1, abs=0.02)


def test_cells_of_each_kind_are_those_of_the_replay() -> None:
    state, store, report = example("vtcm_double_buffer")
    for kind in timeline_value(state, store).kinds:
        assert {label for _, label in kind.inputs} <= set(kind.reads)
    assert any(kind.inputs for kind in timeline_value(state, store).kinds) and report.cycles


def test_indices_lead_to_the_cycle_of_their_task() -> None:
    state, store, report = example("gemmini_gemm")
    number = next(n for n, t in enumerate(timeline_value(state, store).templates) if t.block == "C")
    cycle = start_of_task(report, store, number, (6, 3, 5))
    assert cycle is not None
    (segment,) = (s for s in report.segments.between(cycle, cycle + 1) if s.block == "C" and s.start == cycle)
    assert segment.indices == (("io", 6), ("jo", 3), ("ko", 5))
    assert start_of_task(report, store, number, (60, 3, 5)) is None


def test_a_selected_wait_names_the_step_of_its_block() -> None:
    state, store, report = example("vtcm_double_buffer")
    value = timeline_value(state, store)
    wait = next(w for w in value.waits if w.cause == "data" and w.block == "B_local.vtcm")
    text = step_to_blame(state, store, wait.buffer, wait.block).text
    assert "cache_read(C, 1" in text
    engine = value.engines[wait.lane].name
    state = act(state, SelectStall(engine, wait.cause, wait.buffer, wait.block, wait.row))
    assert state.blamed == Blamed("matrix", "data", "B_local.vtcm", "B_local.vtcm")
    assert state.selected == "B_local.vtcm"
    section = inspector_value(state, store).sections[0]
    assert section.title == "matrix stalls"
    cycles = sum(w.cycles for w in report.engines["matrix"].waits if (w.cause, w.buffer) == ("data", "B_local.vtcm"))
    assert section.rows[0][1].replace("\u202f", "") == str(cycles)
    assert inspector_value(act(state, SelectRow("C")), store).sections[0].title == "C"


@pytest.mark.parametrize(
    ("message", "has_answer"),
    [
        ({"kind": "window", "ticket": 1}, False),
        ({"kind": "window", "ticket": 1, "start": 0, "end": 9, "folded": False}, True),
        ({"kind": "find", "ticket": 1, "template": 0, "place": [1, 2, 3, 4, 5, 6]}, True),
        ({"kind": "find", "ticket": 1, "template": 99, "place": []}, False),
        ({"kind": "select_stall", "engine": "gemm", "cause": "data", "buffer": "nothing"}, True),
    ],
)
def test_queries_are_answered_unless_malformed(message: dict[str, object], has_answer: bool) -> None:
    session = Session(NoClock())
    (found,) = (e for e in load_examples() if e.name == "vta_gemm")
    session.dispatch(OpenText(found.text, found.title))
    session.store.simulated(session.state)
    answers: list[Answer] = []
    session.receive(message, answers.append)
    assert [answer.__struct_config__.tag for answer in answers] == (
        [{"window": "window", "find": "found", "select_stall": "blamed"}[str(message["kind"])]] if has_answer else []
    )


def test_the_recorded_time_maps_are_current() -> None:
    assert CASES.read_text(encoding="utf-8") == time_map_cases(), "PYTHONPATH=tests python -m support.record.time_map"
