"""TVM's JSON of modules: TVM reads the text that it becomes as the same module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from support.programs.random_programs import programs
from support.programs.sources import CURRENT
from support.tvm.operators import OPERATORS
from support.tvm.oracle import tvm_parse

from tilewright.engine.adopt import programs_of, read_program, unwrapped, with_trace
from tilewright.engine.adopt.carriers.module_json import module_text
from tilewright.engine.ir import PrimFunc, first_difference
from tilewright.engine.script import parse, to_script

tvm = pytest.importorskip("tvm")
pytestmark = pytest.mark.tvm


def text_of(module: Any) -> str:
    return module_text(json.loads(tvm.ir.save_json(module)))


def assert_reads_the_same(module: Any) -> None:
    text = text_of(module)
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), module)
    assert first_difference(parse(text).program, parse(module.script()).program) is None


@pytest.mark.parametrize("name", CURRENT)
def test_a_sample_is_the_same_module(name: str) -> None:
    assert_reads_the_same(tvm_parse(CURRENT[name]))


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_the_same_function(name: str) -> None:
    function = tvm.te.create_prim_func(OPERATORS[name]())
    assert_reads_the_same(tvm.ir.IRModule({"main": function.with_attr("global_symbol", "main")}))


@given(programs())
def test_a_random_program_is_the_same_module(program: PrimFunc) -> None:
    assert_reads_the_same(tvm_parse(to_script(program)))


def test_a_database_of_meta_schedule_opens(tmp_path: Path) -> None:
    ms = tvm.s_tir.meta_schedule
    module = tvm_parse(CURRENT["matmul"])
    schedule = tvm.s_tir.Schedule(module)
    *_, k = schedule.get_loops(schedule.get_sblock("C", func_name=module.get_global_vars()[0].name_hint))
    schedule.split(k, schedule.sample_perfect_tile(k, 2, 16))
    files = [str(tmp_path / f"database_{name}.json") for name in ("workload", "tuning_record")]
    database = ms.database.JSONDatabase(*files)
    workload = database.commit_workload(module)
    function = module[module.get_global_vars()[0]]
    arguments = ms.arg_info.ArgInfo.from_prim_func(function)
    database.commit_tuning_record(
        ms.database.TuningRecord(schedule.trace, workload, [2e-5], tvm.target.Target("llvm"), arguments)
    )
    content = unwrapped("\n".join(Path(file).read_text(encoding="utf-8") for file in files))
    assert content is not None
    (piece,) = content.pieces
    (program,) = programs_of(piece.parts).programs
    found = with_trace(read_program(program).program, piece.trace)
    assert [step.method for step in found.schedule.trace.steps][-2:] == ["sample_perfect_tile", "split"]
