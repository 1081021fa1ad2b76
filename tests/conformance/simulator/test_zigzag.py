"""Bytes read and written at each memory level for GEMMs in given tiles and loop orders, against ZigZag: its recorded figures, and itself
where a Python has it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.profile import samples
from support.programs.gemms import array_machine, blocked_gemm, spilled_gemm, tiled_gemm

from tilewright.engine.hwsim import Report, simulate

BENCH = Path(__file__).parents[3] / "bench"
RECORDED = Path(__file__).parents[1] / "recorded"
DATAFLOW = {"os": "output_stationary", "ws": "weight_stationary", "is": "input_stationary"}
TENSORS = {"I": "A", "W": "B", "O": "C"}
SCOPES = {"pad": "local", "l2": "shared", "dram": "global"}
PYTHON = "TILEWRIGHT_ZIGZAG_PYTHON"
"""Environment variable: the Python of an environment with ZigZag."""


@cache
def recorded() -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads((RECORDED / "zigzag.json").read_text())
    assert found["tool"] == "ZigZag" and found["version"] == "3.9.1"
    return found["rows"]


def simulated(row: dict[str, Any]) -> Report:
    size, tile = (tuple(row[key][d] for d in "MNK") for key in ("size", "tile"))
    machine = array_machine(row["rows"], row["columns"], DATAFLOW[row["dataflow"]], staged=True)
    if row["block"] is not None:
        block = tuple(row["block"][d] for d in "MNK")
        return simulate(blocked_gemm(*size, block, tile, (row["order"], row["block_order"])), machine)
    schedule = tiled_gemm if row["sums"] == "pad" else spilled_gemm
    return simulate(schedule(*size, tile, row["order"]), machine)


def levels(report: Report, memories: Iterable[str]) -> dict[str, dict[str, dict[str, int]]]:
    """The report's traffic and accesses in ZigZag's words: at each of the memories, from the array outwards, by operand, from and to the
    levels above and below."""
    moved: Counter[tuple[str, str, str]] = Counter()
    for t in report.traffic:
        moved[tensor_of(t.buffer), t.source, t.destination] += t.bytes
    array = {tensor_of(a.buffer): a for a in report.accesses if a.engine == "array"}
    names = list(memories)
    found: dict[str, dict[str, dict[str, int]]] = {name: {} for name in names}
    for operand, tensor in TENSORS.items():
        below = {"to_below": array[tensor].read_bytes, "from_below": array[tensor].written_bytes}
        for name, upper in pairwise((*names, None)):
            into = moved[tensor, SCOPES[upper], SCOPES[name]] if upper else 0
            out = moved[tensor, SCOPES[name], SCOPES[upper]] if upper else 0
            found[name][operand] = {"from_above": into, "to_above": out, **below}
            below = {"to_below": into, "from_below": out}
    return found


def tensor_of(buffer: str) -> str:
    """A for A_shared_local."""
    return buffer.partition("_")[0]


def cycles_less_filling(report: Report, row: dict[str, Any]) -> int:
    """Cycles in which the array is not filling or emptying: ZigZag's array has neither."""
    down, across, passing = {"os": "MNK", "ws": "KNM", "is": "KMN"}[row["dataflow"]]
    size, rows, columns = row["size"], row["rows"], row["columns"]
    folds = size[down] // rows * (size[across] // columns) * (size[passing] // row["tile"][passing])
    loading = 0 if row["dataflow"] == "os" else rows
    return report.engines["array"].busy - folds * (loading + rows + columns - 2)


@pytest.mark.parametrize("dataflow", samples(DATAFLOW, "ws"))
def test_accesses_of_every_level_are_zigzags_for_any_loop_order(dataflow: str) -> None:
    rows = [r for r in recorded() if (r["dataflow"], r["sums"], r["block"]) == (dataflow, "pad", None)]
    assert len(rows) >= 18 and {r["order"] for r in rows} == {"MNK", "MKN", "NMK", "NKM", "KMN", "KNM"}
    for row in rows:
        report = simulated(row)
        assert levels(report, row["bytes"]) == row["bytes"], row
        assert cycles_less_filling(report, row) == row["ideal_temporal_cycles"], row


@pytest.mark.slow
def test_accesses_of_blocks_of_tiles_are_zigzags() -> None:
    """DRAM, L2 and pad, each pair of loop orders over blocks and over the tiles of a block."""
    rows = [r for r in recorded() if r["block"] is not None]
    assert len({(r["order"], r["block_order"]) for r in rows}) == 36
    for row in rows:
        report = simulated(row)
        assert levels(report, row["bytes"]) == row["bytes"], row
        assert cycles_less_filling(report, row) == row["ideal_temporal_cycles"], row


@pytest.mark.slow
def test_accesses_with_partial_sums_in_dram_are_zigzags() -> None:
    """The program also sets all sums to zero before, which ZigZag leaves out though it counts their first fetch."""
    rows = [r for r in recorded() if r["sums"] == "dram"]
    assert len(rows) >= 36 and {r["order"] for r in rows} == {"MKN", "NKM", "KMN", "KNM"}
    for row in rows:
        report = simulated(row)
        assert levels(report, row["bytes"]) == row["bytes"], row
        assert cycles_less_filling(report, row) == row["ideal_temporal_cycles"], row
        (zeroed,) = (a for a in report.accesses if a.engine == "vector")
        assert zeroed.written_bytes == row["size"]["M"] * row["size"]["N"] * 4


def test_installed_zigzag_gives_the_recorded_answers() -> None:
    python = os.environ.get(PYTHON) or (sys.executable if importlib.util.find_spec("zigzag") else None)
    if python is None:
        pytest.skip(f"ZigZag is not installed; ${PYTHON} names a Python that has it")
    for number in (0, 20, 89):
        command = [python, str(BENCH / "record_zigzag.py"), "--print", str(number)]
        found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        assert {**found, "seconds": 0} == {**recorded()[number], "seconds": 0}
