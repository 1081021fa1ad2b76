"""The recorded ranking of TVM's candidates for a CPU: the simulator reproduces some of them, and the measure of agreement."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from support.profile import IS_DEEP

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import IRModule
from tilewright.engine.script import parse

BENCH = Path(__file__).parents[3] / "bench" / "rank_cpu.py"
RECORDED = Path(__file__).parents[1] / "recorded" / "rank_cpu.json"


@cache
def bench() -> Any:
    spec = importlib.util.spec_from_file_location("rank_cpu", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def test_tau_is_the_concordant_less_the_discordant_share() -> None:
    first, second = [1, 2, 3, 4, 5], [1, 3, 2, 5, 4]
    pairs = list(combinations(range(5), 2))
    agree = sum((first[a] < first[b]) == (second[a] < second[b]) for a, b in pairs)
    assert bench().tau(first, second) == pytest.approx((2 * agree - len(pairs)) / len(pairs))
    assert bench().tau(first, first) == 1 and bench().tau(first, first[::-1]) == -1
    assert bench().tau([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / (2 * 3) ** 0.5)


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
