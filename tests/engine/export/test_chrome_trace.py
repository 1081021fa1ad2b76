"""The timeline as a file for chrome://tracing and Perfetto."""

from __future__ import annotations

import json
from typing import Any

from support.programs.sources import matmul
from support.simulator.machines import plain

import tilewright
from tilewright.engine.export import chrome_trace
from tilewright.engine.hwsim import simulate
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def events(text: str, phase: str) -> list[dict[str, Any]]:
    return [e for e in json.loads(text)["traceEvents"] if e["ph"] == phase]


def staged(k: int) -> Schedule:
    sch = Schedule(parse(matmul(8, 8, k)).program)
    ko, _ = sch.split(sch.get_loops("C")[2], factors=[None, 8])
    sch.reorder(ko, *sch.get_loops("C")[:2])
    for n in (0, 1):
        sch.compute_at(sch.cache_read("C", n, "local"), ko)
    sch.cache_write("C", 0, "local")
    return sch


def test_each_task_is_an_event_in_the_thread_of_its_engine():
    report = simulate(staged(32).func, plain())
    text = chrome_trace(report)
    threads = {e["tid"]: e["args"]["name"] for e in events(text, "M")}
    found = [(threads[e["tid"]], e["name"], e["ts"], e["dur"]) for e in events(text, "X")]
    assert found == [(s.engine, s.block, s.start, s.end - s.start) for s in report.segments]
    assert json.loads(text)["otherData"]["cycles"] == str(report.cycles)


def test_bytes_of_memories_are_counters():
    report = simulate(staged(32).func, plain())
    rows = {e["name"] for e in events(chrome_trace(report), "C")}
    assert rows == set(report.memory)
    assert max(e["args"]["live bytes"] for e in events(chrome_trace(report), "C") if e["name"] == "local[0]") == (
        report.memory["local[0]"].peak_live_bytes
    )


def test_a_window_of_repeats_is_written_unrolled():
    report = simulate(staged(8 * 10_000).func, plain(), whole=0)
    start = report.cycles // 2
    text = chrome_trace(report, start, start + 400)
    found = events(text, "X")
    assert 4 <= len(found) <= 12
    assert all(e["ts"] < start + 400 and e["ts"] + e["dur"] > start - 400 for e in found)


def test_excess_tasks_are_written_once():
    report = simulate(staged(8 * 1000).func, plain(), whole=0)
    found = events(chrome_trace(report, most=100), "X")
    assert len(found) == len(report.segments)
    assert sum(e["args"].get("times", 1) for e in found) == sum(e.tasks for e in report.engines.values())
    assert found[-1]["ts"] + found[-1]["dur"] == report.cycles


def test_the_package_exports_both_trace_functions() -> None:
    sch = staged(32)
    assert tilewright.chrome_trace(tilewright.simulate(sch, plain()))
    assert {k.path for k in tilewright.sensitivity(sch, plain())} >= {"engines.dma.setup_cycles"}
