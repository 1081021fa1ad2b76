"""The recorded ranking of TVM's candidates for a CPU: the simulator reproduces some of them, and the measure of agreement."""

from __future__ import annotations

import json
from pathlib import Path

from support.profile import IS_DEEP

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import IRModule
from tilewright.engine.script import parse

BENCH = Path(__file__).parents[3] / "bench" / "rank_cpu.py"
RECORDED = Path(__file__).parents[1] / "recorded" / "rank_cpu.json"


def test_recorded_candidates_have_the_recorded_work() -> None:
    programs = json.loads(RECORDED.read_text())["programs"]
    assert len(programs) >= 3 and all(len(p["rows"]) >= 20 for p in programs)
    for program in programs:
        assert all(row["cycles"] >= row["work"] > 0 and row["caches"] for row in program["rows"])
        for row in program["rows"][:: 6 if IS_DEEP else 20]:
            module = parse(row["script"]).program
            assert isinstance(module, IRModule)
            report = simulate(module.functions[0], load_machine("cpu-core"), max_accesses=1)
            assert report.cycles == row["work"]
