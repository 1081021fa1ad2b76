"""Traffic and roofline show the numbers of the report."""

from __future__ import annotations

import pytest
from support.sessions.pages import machine_now, opened_example, painted, report_now, simulate_steps

from tilewright.app.actions.machine_actions import PickMachine
from tilewright.app.actions.table import ViewStep, act
from tilewright.app.state.derived import Store
from tilewright.app.views.labels.numbers import grouped
from tilewright.app.views.labels.palette import buffer_colours
from tilewright.app.views.machine.roofline import roofline_value
from tilewright.app.views.machine.traffic import traffic_value, value_of
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.hwsim import load_machine, simulate

SAMPLED = [
    pytest.param(e.name, marks=() if e.name in ("box_blur", "vtcm_double_buffer") else pytest.mark.slow)
    for e in load_examples()
]


@pytest.mark.parametrize("name", SAMPLED)
def test_flows_are_the_bytes_of_the_report(name: str) -> None:
    state, store = opened_example(name), Store()
    report, value = report_now(state, store), traffic_value(state, store)
    copies = [f for f in value.flows if f.kind == "copy"]
    assert sorted((f.buffer, f.source, f.destination, f.bytes, f.least) for f in copies) == sorted(
        (t.buffer, t.source, t.destination, t.bytes, t.least_bytes) for t in report.traffic
    )
    accesses = [f for f in value.flows if f.kind == "access"]
    assert sum(f.bytes for f in accesses) == sum(a.read_bytes + a.written_bytes for a in report.accesses)
    columns = [c.name for c in value.columns]
    assert {f.source for f in value.flows} | {f.destination for f in value.flows} == set(columns)
    sizes = [m.capacity_bytes for c in columns if (m := machine_now(state, store).find_memory(c)) is not None]
    assert sizes == sorted(sizes, reverse=True)
    assert state.moment is not None
    colours = {b.name: colour for b, colour in buffer_colours(state.moment.schedule.func).items()}
    assert all(f.colour == colours[f.buffer] for f in value.flows if f.buffer in colours)


@pytest.mark.slow
def test_the_round_trip_of_the_discussion_is_one_group() -> None:
    state, store = painted(opened_example("fused_matmul_relu_roundtrip"))
    value = traffic_value(state, store)
    (trip,) = value.trips
    moved = sum(t.bytes for t in report_now(state, store).traffic if t.buffer == "mm")
    assert (trip.buffer, trip.scope, trip.bytes) == ("mm", "global", moved)
    places = [n for n, f in enumerate(value.flows) if f.round_trip]
    assert len(places) == 2 and places[1] == places[0] + 1
    assert [value.flows[n].destination for n in places] == ["global", "local"]
    assert not traffic_value(opened_example("fused_matmul_relu"), store).trips


def test_cache_levels_show_accesses_and_misses() -> None:
    state, store = opened_example("cache_blocking"), Store()
    counts, value = report_now(state, store).caches, traffic_value(state, store)
    assert counts is not None
    levels = [counts.total(row.name) for row in value.caches]
    assert [row.name for row in value.caches] == ["L1", "L2", "L3"]
    assert [row.asked for row in value.caches] == [grouped(t.reads + t.writes) for t in levels]
    assert [row.missed for row in value.caches] == [grouped(t.read_misses + t.write_misses) for t in levels]
    assert not any(row.prefetched for row in value.caches)
    assert not traffic_value(opened_example("gemmini_gemm"), store).caches


@pytest.mark.parametrize("prefetcher", ["next-line", pytest.param("stride", marks=pytest.mark.slow)])
def test_cache_levels_show_prefetched_lines(prefetcher: str) -> None:
    machine = load_machine("cpu-core").replace("caches.L1.prefetcher", prefetcher)
    machine = machine.replace("caches.L1.prefetch_lines", 1)
    report = simulate(opened_example("cache_blocking").moment.schedule.func, machine)
    rows = value_of(report, machine, {}).caches
    assert [row.prefetched for row in rows] == [grouped(report.caches.total(r.name).prefetches) for r in rows]
    assert rows[0].prefetched != "0"


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SAMPLED)
def test_roofline_points_are_those_of_the_report(name: str) -> None:
    state, store = opened_example(name), Store()
    simulate_steps(state, store)
    report, machine, value = report_now(state, store), machine_now(state, store), roofline_value(state, store)
    (now,) = (p for p in value.points if p.key == "now")
    assert (now.x, now.y, now.roof) == (
        report.roofline.intensity,
        report.roofline.attained,
        report.roofline.roof,
    )
    used = [roof.peak for roof in value.roofs if roof.used]
    assert max(used) == report.roofline.peak_operations_per_cycle
    assert value.slope.bytes_per_cycle == report.roofline.bytes_per_cycle
    assert value.clock_hz == machine.clock_hz
    assert all(p.y <= p.roof * 1.0001 for p in value.points)


@pytest.mark.slow
def test_start_and_previous_step_have_roofline_points() -> None:
    state, store = painted(opened_example("vtcm_double_buffer"))
    assert [p.key for p in roofline_value(state, store).points] == ["now"]  # the others are not simulated yet
    simulate_steps(state, store)
    assert [p.key for p in roofline_value(state, store).points] == ["start", "before", "now"]
    at_first = act(state, ViewStep(0))
    assert [p.key for p in roofline_value(at_first, store).points] == ["now"]


def test_a_program_that_cannot_run_shows_the_reason() -> None:
    state, store = act(opened_example("vtcm_double_buffer"), PickMachine("vta")), Store()
    assert traffic_value(state, store).note and not traffic_value(state, store).flows
    assert roofline_value(state, store).note and not roofline_value(state, store).points
