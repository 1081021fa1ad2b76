"""Cycles and SRAM accesses of GEMMs on systolic arrays, against SCALE-Sim v3: its recorded figures, and itself where a Python has it.

SCALE-Sim reports the number of the last cycle, counted from 0; the engine here is busy for one cycle more than that number.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.profile import IS_DEEP, samples
from support.programs.gemms import array_machine, convolution, gemm, tiled_gemm

from tilewright.engine.hwsim import Report, simulate

BENCH = Path(__file__).parents[3] / "bench"
RECORDED = Path(__file__).parents[1] / "recorded"
DATAFLOW = {"os": "output_stationary", "ws": "weight_stationary", "is": "input_stationary"}
EVERY = 1 if IS_DEEP else 5
"""Of the rows."""

PYTHON = "TILEWRIGHT_SCALESIM_PYTHON"
"""Environment variable: the Python of an environment with SCALE-Sim, which wants another NumPy than Tilewright."""


@cache
def recorded(name: str = "scalesim.json") -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads((RECORDED / name).read_text())
    assert found["tool"] == "SCALE-Sim" and found["version"] == "3.0.0"
    return found["rows"]


def simulated(row: dict[str, Any]) -> Report:
    machine = array_machine(row["rows"], row["columns"], DATAFLOW[row["dataflow"]])
    return simulate(gemm(row["m"], row["n"], row["k"]), machine)


def last_cycle(report: Report) -> int:
    """The number of the last cycle in which the array is busy, from 0, when it never waits."""
    return report.engines["array"].busy - 1


@pytest.mark.parametrize("dataflow", DATAFLOW)
def test_cycles_of_a_gemm_of_one_task_are_scale_sims(dataflow: str) -> None:
    rows = [r for r in recorded() if r["dataflow"] == dataflow]
    assert len(rows) >= 60
    for row in rows[::EVERY]:
        report = simulated(row)
        assert report.engines["array"].tasks == 1
        assert last_cycle(report) == report.cycles - 1 == row["compute_cycles"], row


def test_cycles_of_large_gemms_are_scale_sims() -> None:
    rows = recorded("scalesim_large.json")
    assert {(n, dataflow) for n in (512, 1024) for dataflow in DATAFLOW} == {(r["m"], r["dataflow"]) for r in rows}
    for row in rows:
        assert last_cycle(simulated(row)) == row["compute_cycles"], row


def test_array_reads_and_writes_of_a_gemm_are_scale_sims() -> None:
    for row in recorded()[::EVERY]:
        accesses = {a.buffer: a for a in simulated(row).accesses}
        assert accesses["A"].read_bytes == row["ifmap_sram_reads"], row
        assert accesses["B"].read_bytes == row["filter_sram_reads"], row
        # Its output-stationary class adds rows + columns for each fold to the elements written: a `+` where a `*` would count them twice
        # (systolic_compute_os.py, create_ofmap_demand_mat: `ofmap_writes += shape[0] + shape[1]`).
        extra = 0
        if row["dataflow"] == "os":
            extra = -(-row["m"] // row["rows"]) * -(-row["n"] // row["columns"]) * (row["rows"] + row["columns"])
        assert accesses["C"].written_bytes // 4 == row["ofmap_sram_writes"] - extra, row


def test_cycles_and_reads_of_convolutions_are_scale_sims() -> None:
    """The array's rows are output pixels, its columns filters, the depth the window: a convolution is not rewritten to be one."""
    rows = recorded("scalesim_conv.json")
    assert len(rows) == 60
    for row in rows[::EVERY]:
        sizes = (
            row[key] for key in ("height", "width", "filter_height", "filter_width", "channels", "filters", "stride")
        )
        report = simulate(convolution(*sizes), array_machine(row["rows"], row["columns"], DATAFLOW[row["dataflow"]]))
        assert last_cycle(report) == row["compute_cycles"], row
        accesses = {a.buffer: a.read_bytes for a in report.accesses}
        assert accesses["A"] == row["ifmap_sram_reads"] and accesses["B"] == row["filter_sram_reads"], row


TILES = {"os": (8, 16, None), "ws": (None, 16, 8), "is": (16, None, 8)}
"""Tiles whose extents over the array are whole folds of 8 x 8 arrays: a fold more or less is then no fold of another size."""


@pytest.mark.parametrize("dataflow", samples(DATAFLOW, "ws"))
def test_tasks_of_whole_folds_take_scale_sims_cycles_together(
    dataflow: str,
) -> None:
    machine = array_machine(8, 8, DATAFLOW[dataflow], staged=True)
    rows = [r for r in recorded() if (r["rows"], r["columns"], r["dataflow"]) == (8, 8, dataflow)]
    several = 0
    for row in rows:
        report = simulate(tiled_gemm(row["m"], row["n"], row["k"], TILES[dataflow]), machine)
        several += report.engines["array"].tasks > 1
        assert last_cycle(report) == row["compute_cycles"], row
    assert several >= 6


@pytest.mark.parametrize("dataflow", samples(DATAFLOW, "os"))
def test_tasks_of_any_tiles_take_scale_sims_cycles_each(dataflow: str) -> None:
    """48 x 20 x 36 in tiles of 16 x 16 x 16: inner tiles are SCALE-Sim's 16^3, edge tiles smaller GEMMs of the recorded law."""
    known = {(r["m"], r["n"], r["k"]): r for r in recorded() if (r["rows"], r["dataflow"]) == (16, dataflow)}
    machine = array_machine(16, 16, DATAFLOW[dataflow], staged=True)
    exact = simulate(tiled_gemm(48, 32, 64, (16, 16, 16)), machine)
    assert exact.engines["array"].tasks == 3 * 2 * 4
    assert exact.engines["array"].busy == 24 * (known[16, 16, 16]["compute_cycles"] + 1)
    tiles = [(16, n, k) for _ in range(3) for n in (16, 4) for k in (16, 16, 4)]
    edges = simulate(tiled_gemm(48, 20, 36, (16, 16, 16)), machine)
    whole = [simulate(gemm(*t), array_machine(16, 16, DATAFLOW[dataflow])).cycles for t in tiles]
    assert edges.engines["array"].busy == sum(whole)


def test_elements_wider_than_the_cells_take_several_passes() -> None:
    machine = array_machine(8, 8, "output_stationary")
    assert simulate(gemm(16, 16, 16), machine).cycles == 4 * (16 + 14)
    assert simulate(gemm(16, 16, 16, "int16"), machine).cycles == 4 * 4 * (16 + 14)
    assert simulate(gemm(16, 16, 16, "int16"), machine.replace("array.element_bytes", 2)).cycles == 4 * (16 + 14)


def test_installed_scale_sim_gives_the_recorded_answers() -> None:
    python = os.environ.get(PYTHON) or (sys.executable if importlib.util.find_spec("scalesim") else None)
    if python is None:
        pytest.skip(f"SCALE-Sim is not installed; ${PYTHON} names a Python that has it")
    for row in recorded()[30:36]:
        arguments = [str(row[key]) for key in ("rows", "columns", "dataflow", "m", "n", "k")]
        command = [python, str(BENCH / "record_scalesim.py"), "--print", *arguments]
        found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        assert {**found, "seconds": 0} == {**row, "seconds": 0}
