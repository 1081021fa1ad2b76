"""The estimate of a block with an engine annotation is for that engine."""

from __future__ import annotations

import pytest

from tilewright.engine.analysis import ProgramIndex
from tilewright.engine.hwsim import estimate_cost, load_machine, simulate
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

DOTS = """
from tilewright.script import tirx as T

@T.prim_func(s_tir=True)
def dots(X: T.Buffer((64, 512), "float32"), W: T.Buffer((64, 512), "float32"), Y: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 512):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk] * W[vi, vk]
"""
NPU = load_machine("dual-bank-npu")


def busy(engine: str | None, *, on_loop: bool = False) -> tuple[int, int]:
    """The cycles of the busiest engine in products of rows: by the estimate, and in the report."""
    sch = Schedule(parse(DOTS).program)
    sch.cache_read("Y", "X", "local.vtcm")
    sch.cache_read("Y", "W", "local.vtcm")
    sch.cache_write("Y", 0, "local.vtcm")
    if engine is not None:
        sch.annotate(sch.get_loops("Y")[0] if on_loop else "Y", "engine", engine)
    report = simulate(sch.func, NPU)
    assert {t.engine for t in report.tasks if t.block == "Y"} == {engine or "matrix"}
    return estimate_cost(ProgramIndex(sch.func), NPU).busy, max(e.busy for e in report.engines.values())


@pytest.mark.parametrize("on_loop", [False, True], ids=["block", "loop"])
def test_product_on_the_vector_unit_has_a_vector_estimate(on_loop: bool) -> None:
    (vectors, reported), (tiles, _) = busy("vector", on_loop=on_loop), busy(None)
    assert vectors < tiles and 0.8 * reported < vectors < 1.2 * reported


def test_square_is_estimated_on_the_diagonal_of_tiles() -> None:
    sch = Schedule(parse(DOTS.replace("W[vi, vk]", "X[vi, vk]")).program)
    sch.cache_read("Y", "X", "local.vtcm")
    sch.cache_write("Y", 0, "local.vtcm")
    fast_copies = NPU.replace("memories.ddr.read_bytes_per_cycle", 1024)
    passes, tiles = 4, 64 * 512 // 1024
    assert 32 * passes * tiles <= estimate_cost(ProgramIndex(sch.func), fast_copies).busy < 1.1 * 32 * passes * tiles
