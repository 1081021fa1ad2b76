"""Whole workloads end to end: read, print, schedule, verify, lower, simulate. `conformance` compares with TVM."""

from __future__ import annotations

import json

import pytest
from support.profile import samples
from support.programs.real_programs import REAL

import tilewright
from tilewright.engine.adopt import call_of, make_call
from tilewright.engine.execute import verify
from tilewright.engine.hwsim import MachineError
from tilewright.engine.ir import first_difference
from tilewright.engine.lower import lower
from tilewright.engine.script import read_calls

FAST = {"dual-bank-npu": "local.vtcm", "matrix-vector-npu": "local"}
"""A memory on chip of each machine."""


def scheduled(name: str, fast: str) -> tilewright.Schedule:
    sch = tilewright.Schedule(tilewright.parse(REAL[name].text))
    REAL[name].schedule(sch, fast)
    return sch


@pytest.mark.sample(13)
@pytest.mark.parametrize("dialect", ["current", "classic"])
@pytest.mark.parametrize("name", REAL)
def test_printed_real_program_is_read_as_the_same(name: str, dialect: str) -> None:
    program = tilewright.parse(REAL[name].text)
    assert first_difference(tilewright.parse(tilewright.to_script(program, dialect)), program) is None
    after = scheduled(name, "local").func
    assert first_difference(tilewright.parse(tilewright.to_script(after, dialect)), after) is None


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", REAL)
def test_schedule_of_a_real_program_lowers_the_same(name: str) -> None:
    sch = scheduled(name, "local")
    program = sch.original[sch.func_name]
    assert sch.verify().status == "tested", sch.verify().detail
    lowered = verify(lower(sch.func), program)
    assert lowered.status == "tested", lowered.detail
    assert first_difference(sch.replayed().mod, sch.mod) is None


@pytest.mark.parametrize("machine", FAST)
@pytest.mark.parametrize("name", samples(REAL, "attention", "transpose"))
def test_both_machines_run_the_schedule(name: str, machine: str) -> None:
    report = tilewright.simulate(scheduled(name, FAST[machine]), machine)
    assert 0 < report.bound <= report.cycles
    assert json.loads(json.dumps(report.to_json()))["cycles"] == report.cycles


@pytest.mark.parametrize("name", samples(REAL, "transpose"))
def test_advice_on_missing_memory_gives_a_report(name: str) -> None:
    sch = scheduled(name, "local")  # which the machine with two banks does not have
    for _ in range(12):
        try:
            report = tilewright.simulate(sch, "dual-bank-npu")
        except MachineError as error:
            assert error.refusal.code == "unknown-scope", error
            apply_text(sch, error.refusal.fix[0])
        else:
            assert report.cycles > 0 and sch.verify().status == "tested"
            return
    pytest.fail("the advice leads nowhere")


def apply_text(sch: tilewright.Schedule, line: str) -> None:
    """One line of advice, parsed as in the notebook."""
    (call,) = read_calls(line)
    make_call(sch, call_of(call.method, call.args, call.kwargs))
