"""Lints about the cores of a chip, and occupancy in the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.simulator.chips.machines import chip_of, narrow

from tilewright.app.document import evaluate, load_document
from tilewright.engine.hwsim import load_machine
from tilewright.engine.lint import LintFinding, lint
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"
COPY = """
from tvm.script import tirx as T

@T.prim_func
def main(A: T.Buffer((ROWS, 256), "float32"), B: T.Buffer((ROWS, 256), "float32")):
    for i, j in T.grid(ROWS, 256):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def blocks_of_rows(rows: int, factors: list[int | None]) -> Schedule:
    """A copy by blocks of rows."""
    sch = Schedule(parse(COPY.replace("ROWS", str(rows))).program)
    i, _ = sch.get_loops("B")
    block, _ = sch.split(i, factors=factors)
    sch.bind(block, "blockIdx.x")
    read = sch.cache_read("B", 0, "local")
    sch.compute_at(read, block)
    write = sch.cache_write("B", 0, "local")
    sch.reverse_compute_at(write, block)
    return sch


def found(sch: Schedule, code: str) -> list[LintFinding]:
    chip = chip_of(narrow(64), 16, dispatch="round_robin", start_cycles=100)
    return [f for f in lint(sch, chip) if f.code == code]


@pytest.mark.parametrize("factors", [[None, 32], [8, 32]])
def test_smaller_tiles_give_work_to_idle_cores(factors: list[int | None]) -> None:
    (finding,) = found(blocks_of_rows(256, factors), "idle-cores")
    fix = finding.fixes[0]
    assert fix.revision is not None and fix.revision.step is not None
    assert tuple(fix.revision.step.argument("factors")) in [(None, 16), (16, 16)]
    assert fix.cycles < 0.7 * (fix.cycles_before or 0)


def test_another_tile_fills_the_last_wave() -> None:
    (finding,) = found(blocks_of_rows(288, [None, 16]), "uneven-tail")  # 18 blocks on 16 cores
    assert finding.fixes and all(fix.cycles < (fix.cycles_before or 0) for fix in finding.fixes)


def test_full_waves_are_no_finding() -> None:
    sch = blocks_of_rows(512, [None, 16])
    assert not found(sch, "idle-cores") and not found(sch, "uneven-tail")


def test_a_schedule_for_a_gpu_without_threads_is_a_finding() -> None:
    gpu = load_machine("gpu-sm")
    sch = Schedule(parse(COPY.replace("ROWS", "64")).program)
    assert "no-threads" not in {f.code for f in lint(sch, gpu)}  # not scheduled yet
    i, j = sch.get_loops("B")
    sch.split(i, factors=[None, 8])
    assert "no-threads" in {f.code for f in lint(sch, gpu)}
    assert "no-threads" not in {f.code for f in lint(sch, load_machine("ascend-910b"))}
    sch.bind(j, "threadIdx.x")
    assert "no-threads" not in {f.code for f in lint(sch, gpu)}


def test_flags_that_let_the_cores_of_an_ai_core_take_turns() -> None:
    notebook = evaluate(load_document(EXAMPLES / "ascend_attention.py"))
    assert notebook.schedule is not None and notebook.machine is not None
    (finding,) = [f for f in lint(notebook.schedule, notebook.machine) if f.code == "serial-flags"]
    assert "take turns" in finding.message
