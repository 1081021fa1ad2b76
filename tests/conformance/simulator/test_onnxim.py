"""Cycles of tiled GEMMs and convolutions on weight-stationary arrays with two registers per cell, against ONNXim's recorded figures.

ONNXim simulates the core cycle by cycle: instructions, tiles in two halves of a scratchpad, requests of 32 bytes. Here the same tiles are
schedules. Compared are cases in which one resource is the bound: `docs/oracles.md` explains the others.
"""

from __future__ import annotations

import json
from functools import cache
from math import prod
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from msgspec.structs import replace
from support.profile import IS_DEEP
from support.programs import onnxim

from tilewright.engine.hwsim import simulate
from tilewright.engine.hwsim.machine.parts import SystolicEngine

RECORDED = Path(__file__).parents[1] / "recorded" / "onnxim.json"
SAMPLE = 2
"""Cases of each class in the usual run, evenly spaced; `make test-deep` runs all."""


@cache
def recorded() -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    assert found["tool"] == "ONNXim" and found["commit"] == "a1e8629"
    return found["rows"]


def bound(row: dict[str, Any]) -> str:
    """The resource that limits a case by a factor of two, "array" or "memory"; "both" or "latency" if there is none."""
    size, tile = row["size"], row["tile"]
    if row["kind"] == "gemm":
        rows, columns, depth = tile
        stream, folds, moved = rows, -(-columns // size) * -(-depth // size), (rows + columns) * depth
    else:
        height, width, columns, depth = tile
        window = row["shape"][4]
        stream, folds = height * width, -(-columns // size) * -(-depth // size) * window**2
        moved = ((height + window - 1) * (width + window - 1) + columns * window**2) * depth
    computed = folds * max(stream, size)
    transferred = moved * 2 // (32 * row["ports"])
    if computed < 4 * (2 * size) or computed < 3 * row["ports"]:
        return "latency"
    if computed >= 2 * transferred:
        return "array"
    return "memory" if transferred >= 2 * computed else "both"


def tiles(row: dict[str, Any]) -> int:
    return prod(-(-n // t) for n, t in zip(row["shape"], row["tile"], strict=False))


def error(row: dict[str, Any]) -> float:
    """Relative error of the simulated cycles."""
    return simulate(onnxim.schedule(row).func, onnxim.core(row)).cycles / row["cycles"] - 1


def cases(kind: str, limit: str) -> list[dict[str, Any]]:
    return [r for r in recorded() if r["kind"] == kind and bound(r) == limit]


LIMITS = {("gemm", "array"): 140, ("gemm", "memory"): 17, ("convolution", "array"): 63}
"""The compared classes and their numbers of cases, 220 in all. ONNXim reads convolution weights of several columns at one address, so it
moves fewer bytes; convolutions have no class "memory".
"""


@pytest.mark.deep
@pytest.mark.parametrize(("kind", "limit"), LIMITS)
def test_cycles_are_onnxims_within_two_percent(kind: str, limit: str) -> None:
    found = cases(kind, limit)
    assert len(found) == LIMITS[kind, limit]
    errors = [abs(error(row)) for row in found[:: 1 if IS_DEEP else len(found) // SAMPLE]]
    assert mean(errors) < 0.02, errors


def test_cycles_with_one_register_per_cell_are_far_above_onnxims() -> None:
    """Without preloads the array is another one: the comparison above notices the difference."""
    row = next(r for r in cases("gemm", "array") if r["size"] == 32 and r["shape"][0] <= 32)
    core = onnxim.core(row)
    engines = tuple(replace(e, weights="single") if isinstance(e, SystolicEngine) else e for e in core.engines)
    assert simulate(onnxim.schedule(row).func, replace(core, engines=engines)).cycles > 2 * row["cycles"]
