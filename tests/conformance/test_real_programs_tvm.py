"""Whole workloads and their schedules, as real TVM sees them: same reading, same scheduled program, an export that runs, same numbers."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.profile import samples
from support.programs.real_programs import REAL
from support.tvm.oracle import assert_same_program, tvm, tvm_parse, tvm_schedule
from support.tvm.recorded import agreed

import tilewright
from tilewright.engine.execute import random_inputs, run

pytestmark = pytest.mark.tvm


def scheduled(name: str, fast: str) -> tilewright.Schedule:
    sch = tilewright.Schedule(tilewright.parse(REAL[name].text))
    REAL[name].schedule(sch, fast)
    return sch


def run_file(text: str, folder: Path) -> Any:
    """The `sch` that an exported file leaves."""
    file = folder / "exported.py"
    file.write_text(text, encoding="utf-8")
    return runpy.run_path(str(file))["sch"]


@pytest.mark.parametrize("name", REAL)
def test_tvm_reads_our_print_as_the_same(name: str) -> None:
    text, printed = REAL[name].text, tilewright.to_script(tilewright.parse(REAL[name].text))
    agreed(f"{text}\n{printed}", lambda: assert_same_program(printed, tvm_parse(text)))


@pytest.mark.parametrize("name", REAL)
def test_the_same_calls_make_the_same_program(name: str) -> None:
    ours = tilewright.to_script(scheduled(name, "local"))

    def ask() -> None:
        theirs = tvm_schedule(REAL[name].text)
        REAL[name].schedule(theirs, "local")
        assert_same_program(ours, theirs.mod)

    agreed(f"{REAL[name].text}\n{ours}", ask)


@pytest.mark.parametrize("name", REAL)
def test_the_export_makes_the_same_program_in_tvm(name: str, tmp_path: Path) -> None:
    sch = scheduled(name, "local.vtcm")
    ours, exported = tilewright.to_script(sch), tilewright.to_tvm_python(sch)
    agreed(f"{ours}\n{exported}", lambda: assert_same_program(ours, run_file(exported, tmp_path).mod))


@pytest.mark.skipif(not tvm.runtime.enabled("llvm"), reason="this build of TVM cannot make code for the CPU")
@pytest.mark.parametrize("name", samples(REAL, next(iter(REAL))))
def test_the_export_computes_in_tvm_what_our_executor_does(name: str, tmp_path: Path) -> None:
    sch = scheduled(name, "global")
    program = sch.original[sch.func_name]
    inputs = random_inputs(program)
    ours = run(program, inputs)
    module = run_file(tilewright.to_tvm_python(sch), tmp_path).mod
    arrays = {b.name: inputs.get(b.name, np.zeros_like(ours[b.name])) for b in program.buffers}
    tensors = {buffer: tvm.runtime.tensor(array) for buffer, array in arrays.items()}
    ((symbol, function),) = module.functions.items()
    module = tvm.ir.IRModule({"main": function.with_attr("global_symbol", "main")})
    tvm.compile(module, target="llvm")["main"](*tensors.values())
    for buffer, tensor in tensors.items():
        np.testing.assert_allclose(tensor.numpy(), ours[buffer], rtol=2e-5, atol=2e-6, err_msg=f"{symbol}: {buffer}")
