"""Writes tests/app/views/timeline/time_map.json: moments and intervals of runs with nested and growing repeats, for the test of the
browser's TimeMap (static/components/timeline/time_map.test.js). Run it when a test reports that the file is out of date:

PYTHONPATH=tests python -m support.record.time_map
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tilewright.app.state.derived import Store
from tilewright.app.views.timeline.value import value_of
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

from ..sessions.pages import opened_example
from ..simulator.triangles import causal_attention

CASES = Path(__file__).parents[2] / "app" / "views" / "timeline" / "time_map.json"
MOMENTS = 40
RANGES = ((0.0, 0.04), (0.31, 0.33), (0.97, 1.0))
"""Parts of the run whose intervals are recorded."""


def time_map_cases() -> str:
    """The text of the file."""
    example = opened_example("explore_tiles").moment
    assert example is not None
    attention = parse(causal_attention(64 * 100, 64)).program
    assert isinstance(attention, PrimFunc)
    cases = {"nested": _case(example.schedule), "growing": _case(Schedule(attention))}
    return json.dumps(cases, separators=(",", ":")) + "\n"


def _case(schedule: Schedule) -> dict[str, Any]:
    report = simulate(schedule.func, load_machine("dual-bank-npu"), whole=0)
    time_map, cycles = report.timeline.time_map, report.cycles
    moments = [(cycle, time_map.at(cycle)) for cycle in (cycles * n // MOMENTS for n in range(MOMENTS))]
    ranges = [(round(a * cycles), round(b * cycles)) for a, b in RANGES]
    return {
        "length": report.timeline.length,
        "repeats": msgspec.to_builtins(value_of(report, schedule, Store()).repeats),
        "moments": [[cycle, moment.simulated, dict(moment.copies)] for cycle, moment in moments],
        "intervals": [[start, end, list(time_map.stretches(start, end))] for start, end in ranges],
    }


if __name__ == "__main__":
    CASES.write_text(time_map_cases(), encoding="utf-8")
    print(f"{CASES.name} is written")
