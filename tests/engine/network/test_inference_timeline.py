"""An inference over time, and its export in Chrome's trace format: the spans of the calls, the load of engines and memories."""

from __future__ import annotations

import json

from support.pasted.relax_modules import MODEL, OPEN

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.network import (
    engine_loads,
    inference_spans,
    network_trace,
    on_chip_bytes,
    reading_calls,
    simulate_network,
    tensor_text,
)
from tilewright.engine.schedule import Schedule
from tilewright.engine.script.relax import parse_network

NPU = load_machine("dual-bank-npu")


def test_calls_of_an_inference_follow_each_other() -> None:
    report = simulate_network(parse_network(MODEL), NPU)
    spans = inference_spans(report)
    assert [s.call for s in spans] == [1, 2, 3, 4], "call 0 prepares a weight"
    assert [s.cost.kernel.name for s in spans] == ["scale", "both", "scale", "both"]
    assert [s.start for s in spans] == [0, *(s.end for s in spans[:-1])] and spans[-1].end == report.cycles
    assert all(s.end - s.start == s.cost.report.cycles for s in spans if s.cost.report is not None)


def test_kernel_refused_by_the_machine_has_no_span() -> None:
    text = MODEL.replace('w: T.Buffer((16, 16), "float32")', 'w: T.Buffer((16, 16), "float32", scope="local.nowhere")')
    report = simulate_network(parse_network(text), NPU)
    assert [s.cost.kernel.name for s in inference_spans(report)] == ["scale", "scale"]
    assert inference_spans(report)[-1].end == report.cycles


def test_loads_and_peaks_of_a_kernel_are_those_of_its_report() -> None:
    schedule = Schedule(parse_network(MODEL)["both"])
    schedule.cache_write("s", 0, "local.vtcm")
    report = simulate(schedule.func, NPU)
    loads, peaks = engine_loads(report), on_chip_bytes(report, NPU)
    assert loads == {name: e.busy / report.cycles for name, e in report.engines.items()} and max(loads.values()) > 0
    assert "global" not in peaks and max(peak for peak, _ in peaks.values()) == 16 * 16 * 4
    assert all(capacity == report.memory[name].capacity_bytes for name, (_, capacity) in peaks.items())


def test_each_call_names_the_calls_whose_results_it_reads() -> None:
    assert reading_calls(parse_network(MODEL).graph) == ((), (), (0, 1), (2,), (3,))


def test_shapes_have_open_sizes() -> None:
    graph = parse_network(OPEN).graph
    wide = graph.inputs[1]
    assert tensor_text(wide, {"n": 4}) == "8×8 float32" and tensor_text(wide, {}) == "(n * 2)×8 float32"


def test_inference_trace_resets_counters() -> None:
    network = parse_network(MODEL)
    report = simulate_network(network, NPU)
    trace = json.loads(network_trace(network, report))
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["ts"], e["ts"] + e["dur"]) for e in slices] == [
        (s.cost.kernel.name, s.start, s.end) for s in inference_spans(report)
    ]
    assert slices[1]["args"]["reads"] == ["lv 16×16 float32", "ready 16×16 float32"]
    counters = [e for e in trace["traceEvents"] if e["ph"] == "C"]
    names = {e["name"] for e in counters}
    assert {f"{e.name} busy %" for e in NPU.engines} <= names and "local.vtcm[0] bytes" in names
    last = [e for e in counters if e["ts"] == report.cycles]
    assert {e["name"] for e in last} == names and all(not any(e["args"].values()) for e in last)
    assert trace["otherData"]["cycles"] == str(report.cycles)
