"""Export of a report's timeline in Chrome's trace format (chrome://tracing, ui.perfetto.dev): a thread per engine, a counter per memory.

One microsecond of the trace is one cycle. Source: "Trace Event Format", the document of the Chromium project.
"""

from __future__ import annotations

import json
from typing import Any

from ..hwsim import Report, Segment

MOST_EVENTS = 100_000
"""Above this number of tasks, a whole program is written compressed: each simulated task once, with its repeat count."""


def chrome_trace(report: Report, start: int = 0, end: int | None = None, *, most: int = MOST_EVENTS) -> str:
    """Return the trace as JSON text: at most `most` tasks between cycles `start` and `end` (exclusive), and the bytes in each memory."""
    threads = {name: number for number, name in enumerate(report.engines)}
    every = sum(engine.tasks for engine in report.engines.values()) <= most
    if every or end is not None:
        tasks = [segment for _, segment in zip(range(most), report.segments.between(start, end), strict=False)]
    else:
        tasks = list(report.segments.by_the_clock())
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": number, "args": {"name": name}}
        for name, number in threads.items()
    ]
    events += [_event(segment, threads[segment.engine]) for segment in tasks]
    for row, steps in report.occupancy.steps.items():
        times = report.timeline.real(steps.times).tolist()
        events += [
            {"ph": "C", "name": row, "pid": 0, "ts": time, "args": {"live bytes": live, "allocated bytes": allocated}}
            for time, live, allocated in zip(times, steps.live, steps.allocated, strict=True)
            if start <= time and (end is None or time < end)
        ]
    metadata = {"machine": report.machine, "cycles": str(report.cycles), "unit": "1 us is 1 cycle"}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": metadata})


def _event(segment: Segment, thread: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {**dict(segment.indices), "reads": segment.reads, "writes": segment.writes}
    if segment.times > 1:
        arguments["times"] = segment.times
    return {
        "ph": "X", "name": segment.block, "cat": segment.engine, "pid": 0, "tid": thread, "ts": segment.start,
        "dur": segment.end - segment.start, "args": arguments,
    }  # fmt: skip
