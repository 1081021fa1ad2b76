"""A report as text has each of the primary figures."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright
from tilewright.engine.export import report_text
from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.script import parse

EXAMPLES = Path(tilewright.__file__).parent.parent / "static" / "examples"


def report_of(name: str) -> Report:
    notebook = tilewright.load(EXAMPLES / f"{name}.py")
    assert notebook.schedule is not None
    return simulate(notebook.schedule.described, notebook.machine)


def test_text_names_what_engines_wait_for_and_who_holds_it():
    report = report_of("vtcm_double_buffer")
    (wait,) = report.engines["matrix"].waits
    lines = [line.split() for line in report_text(report).splitlines()]
    assert ["matrix", wait.cause, wait.buffer, wait.block, f"{wait.cycles:,}"] in lines


def test_the_text_lists_energies_from_the_largest():
    report = report_of("vta_gemm")
    (line,) = [line for line in report_text(report).splitlines() if line.startswith("energy")]
    assert line.startswith(f"energy {report.energy_pj / 1e6:.3g} uJ: dram ")
    shares = [int(part.split()[-2]) for part in line.split(": ")[1].split(", ")]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(100, abs=len(shares))


MANY = """\
import tilelang.language as T


@T.prim_func
def main(A: T.Tensor((64, 64), T.float32), B: T.Tensor((64, 64), T.float32)):
    with T.Kernel(1, threads=64) as bx:
        first_result = T.alloc_fragment((64, 64), T.float32)
        second_result = T.alloc_fragment((64, 64), T.float32)
        third_and_last_result = T.alloc_fragment((64, 64), T.float32)
        for i, j in T.Parallel(64, 64):
            first_result[i, j] = A[i, j] + 1.0
            second_result[i, j] = first_result[i, j] * 2.0
            third_and_last_result[i, j] = second_result[i, j] + first_result[i, j]
            B[i, j] = third_and_last_result[i, j] * 3.0
"""


def test_a_task_of_many_blocks_has_the_names_of_the_first() -> None:
    program = parse(MANY).program
    text = report_text(simulate(program, load_machine("sm80")))  # type: ignore[arg-type]
    assert "first_result + second_result + 2 more" in text
