"""A program with values for its sizes equals TVM's `specialize`, and the exported file returns it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from support.programs.te_sources import BOX_BLUR_SCHEDULE, MATMUL_VTCM
from support.tvm.oracle import assert_same_program

from tilewright.app.cli import main
from tilewright.engine.export import to_tvm_python
from tilewright.engine.lower import with_sizes
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script
from tilewright.engine.te import read_te

pytestmark = pytest.mark.tvm

INT64 = """
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32):
    m = T.int64()
    A = T.match_buffer(a, (m, 4), "float32")
    B = T.match_buffer(b, (m, 4), "float32")
    for i, j in T.grid(m, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.Cast("float32", n)
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("sch", "sizes"),
    [
        (read_te(MATMUL_VTCM).schedule, {"M": 256, "K": 512, "N": 256}),
        (read_te(MATMUL_VTCM).schedule, {"M": 100, "K": 130}),
        (read_te(BOX_BLUR_SCHEDULE).schedule, {"rows": 64, "cols": 64, "chans": 3}),
        (Schedule(parse(INT64).program), {"m": 6, "n": 3}),
    ],
    ids=["matmul", "two of three", "box blur", "int64 and a scalar"],
)
def test_exported_file_leaves_the_program_with_sizes(sch: Schedule, sizes: dict[str, int], tmp_path: Path) -> None:
    file = tmp_path / "exported.py"
    file.write_text(to_tvm_python(sch, sizes=sizes), encoding="utf-8")
    left = runpy.run_path(str(file))
    assert_same_program(to_script(with_sizes(sch.func, sizes).func), left["sized"])
    assert_same_program(to_script(sch.func), left["sch"].mod)


def test_the_command_line_exports_sizes(tmp_path: Path) -> None:
    source, target = tmp_path / "te.py", tmp_path / "exported.py"
    source.write_text(MATMUL_VTCM, encoding="utf-8")
    assert main(["export", str(source), "--size", "M=64,K=128,N=64", "-o", str(target)]) == 0
    assert "# The program for M = 64, K = 128, N = 64." in target.read_text(encoding="utf-8")
