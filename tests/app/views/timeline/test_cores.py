"""The rows of a chip on the timeline: classes of cores with their blocks, and the ports that they share."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from support.sessions.pages import painted

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.inspector.value import inspector_value
from tilewright.app.views.machine.roofline import roofline_value
from tilewright.app.views.machine.traffic import traffic_value
from tilewright.app.views.machine.value import machine_value
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.timeline.cores import SCALE
from tilewright.app.views.timeline.value import Timeline, timeline_data, timeline_value
from tilewright.engine.hwsim import Report


def opened(name: str, **changed: str) -> tuple[State, Store, Report]:
    """An example, with other arguments in the last line of its workload."""
    (found,) = (e for e in load_examples() if e.name == name)
    text = found.text
    for argument, value in changed.items():
        head, tail = text.rsplit("main = gemm(", 1)
        text = f"{head}main = gemm({re.sub(rf'{argument}=[0-9]+', f'{argument}={value}', tail, count=1)}"
    state, store = painted(act(State(), OpenText(text, found.title)))
    report = store.simulated(state)
    assert isinstance(report, Report)
    return state, store, report


def rows_of(value: Timeline, kind: str) -> list[str]:
    return [row.name for row in value.rows if row.kind == kind]


def test_a_row_for_each_class_of_cores_and_each_shared_port() -> None:
    state, store, _ = opened("tilelang_gemm_a100")
    value = timeline_value(state, store)
    assert rows_of(value, "cores") == ["52 × sm", "56 × sm"]
    assert rows_of(value, "port") == ["global read port", "hbm port behind l2", "global write port"]
    assert value.chip is not None
    assert [(c.first, c.count) for c in value.chip.classes] == [(0, 52), (52, 56)]
    first, second = value.chip.classes
    assert first.idle == []
    ((start, end),) = second.idle
    assert end == value.length and 0.85 * end < start < 0.95 * end  # the last of four waves


def test_the_places_of_a_core_have_its_blocks_one_after_the_other() -> None:
    state, store, report = opened("tilelang_gemm_a100")
    chip = timeline_data(report, store).chip
    assert chip is not None
    assert len(chip.blocks) == 10  # 3 waves of 3, and one
    by_place = {n: [b for b in chip.blocks if b.place == n] for n in range(3)}
    assert [len(of) for of in by_place.values()] == [4, 3, 3]
    for of in by_place.values():
        assert all(a.end <= b.begin < b.start < b.end for a, b in pairwise(of))
    assert timeline_value(state, store).kinds[0].place == 0


def test_cores_without_any_block_have_an_empty_row() -> None:
    state, store, _ = opened("tilelang_gemm_a100", M="512", N="512")
    value = timeline_value(state, store)
    assert rows_of(value, "cores") == ["16 × sm", "92 × sm"]
    assert value.chip is not None
    assert value.chip.classes[1].idle == [(0, value.length)]
    assert "1 block each" in value.rows[value.chip.classes[0].row].tip


def test_the_busy_part_of_a_port_adds_up_to_its_cycles() -> None:
    _, store, report = opened("tilelang_gemm_a100")
    data = timeline_data(report, store)
    assert data.chip is not None and not report.timeline.repeats
    for n, port in enumerate(data.chip.ports):
        times, busy, _ = data.steps[len(data.rows) + len(data.chip.groups) + n]
        total = int((busy[:-1] * np.diff(times)).sum()) / SCALE
        assert total == pytest.approx(port.cycles, rel=0.01)


def test_many_blocks_cost_no_more_rows_than_few() -> None:
    state, store, report = opened("tilelang_gemm_a100", M="131072", N="131072")
    value = timeline_value(state, store)
    assert report.chip is not None and report.chip.launches[0].blocks == 1024 * 1024
    assert len(rows_of(value, "cores")) == 2
    assert value.run is not None and len(value.run.lives.start) < 2_000
    assert value.chip is not None and value.chip.numbers is not None


def test_the_inspector_and_the_machine_have_the_occupancy() -> None:
    state, store, report = opened("tilelang_gemm_a100")
    assert report.chip is not None
    assert [(m.limiter, m.now, m.most) for m in report.chip.occupancy.more] == [
        ("registers", 160, 128),
        ("shared memory", 49_152, 40_960),
    ]
    (cores,) = (s for s in inspector_value(state, store).sections if s.title == "Cores")
    rows = {name: value for name, value, _ in cores.rows}
    assert rows["on each sm"].startswith("3 blocks")
    assert rows["limited by"] == "registers, shared memory"
    assert "8 KiB less shared memory" in cores.note
    (level,) = (part for part in machine_value(state, store).parts if part.path == "levels.sm")
    assert "3 blocks on each sm" in level.note and "32 registers a thread fewer" in level.note


def test_the_roofline_and_the_traffic_are_those_of_all_cores() -> None:
    state, store, report = opened("tilelang_gemm_a100")
    roofline = roofline_value(state, store)
    peak = max(roof.peak for roof in roofline.roofs)
    assert peak == report.roofline.peak_operations_per_cycle == 108 * 2048
    assert "all 108 cores" in roofline.words
    hints = {column.short: column.hint for column in traffic_value(state, store).columns}
    assert hints["shared"].startswith("108 ×") and "×" not in hints["global"]


def test_a_machine_of_one_core_has_no_such_rows() -> None:
    state, store, _ = opened("gemmini_gemm")
    value = timeline_value(state, store)
    assert value.chip is None
    assert {row.kind for row in value.rows} == {"memory"}
