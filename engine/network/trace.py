"""Export of an inference in Chrome's trace format: the calls on one thread, counters for the engines and the on-chip memories.

One microsecond of the trace is one cycle. Source: "Trace Event Format", the document of the Chromium project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..ir import Network
from .report import NetworkReport
from .timeline import CallSpan, engine_loads, inference_spans, on_chip_bytes, tensor_text


def network_trace(network: Network, report: NetworkReport, sizes: Mapping[str, int] | None = None) -> str:
    """Return the trace of one inference as JSON text. `sizes` are those that the model leaves open, for the shapes in it."""
    spans = inference_spans(report)
    events: list[dict[str, Any]] = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": 0,
            "args": {"name": f"{network.graph.name} on {report.machine.name}"},
        },
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": 0, "args": {"name": "kernels"}},
        *(_slice(network, span, sizes or {}) for span in spans),
        *(event for span in spans for event in _counters(report, span)),
    ]
    if spans:
        events += [
            {**event, "ts": report.cycles, "args": dict.fromkeys(event["args"], 0)}
            for event in _counters(report, spans[-1])
        ]
    metadata = {"machine": report.machine.name, "cycles": str(report.cycles), "unit": "1 us is 1 cycle"}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": metadata})


def _slice(network: Network, span: CallSpan, sizes: Mapping[str, int]) -> dict[str, Any]:
    call, found = network.graph.calls[span.call], span.cost.report
    assert found is not None
    arguments: dict[str, Any] = {
        "call": span.call,
        "reads": [f"{t.name} {tensor_text(t, sizes)}" for t in call.arguments],
        "writes": [f"{t.name} {tensor_text(t, sizes)}" for t in call.results],
        "bound by": found.bounds[0].name if found.bounds else "",
    }
    if found.overflow_bytes:
        arguments["bytes over capacity"] = found.overflow_bytes
    return {
        "ph": "X", "name": span.cost.kernel.name, "cat": "kernel", "pid": 0, "tid": 0, "ts": span.start,
        "dur": span.end - span.start, "args": arguments,
    }  # fmt: skip


def _counters(report: NetworkReport, span: CallSpan) -> Iterator[dict[str, Any]]:
    """The busy part of each engine in percent, and the peak of each on-chip memory in bytes, from the start of a call on."""
    assert span.cost.report is not None
    for name, load in engine_loads(span.cost.report).items():
        yield _counter(f"{name} busy %", span.start, {"busy": round(100 * load, 1)})
    for name, (peak, _) in on_chip_bytes(span.cost.report, report.machine).items():
        yield _counter(f"{name} bytes", span.start, {"peak": peak})


def _counter(name: str, time: int, values: dict[str, float]) -> dict[str, Any]:
    return {"ph": "C", "name": name, "pid": 0, "ts": time, "args": values}


__all__ = ["network_trace"]
