"""Every figure of every machine can be varied: the result is simulated, or refused by name."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import IS_DEEP, samples
from support.programs.sources import matmul

from tilewright.engine.hwsim import Machine, MachineError, Report, load_machine, preset_names, simulate
from tilewright.engine.hwsim.machine.parts import GROUPS
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

SCOPES = {
    "a100": ("shared", "shared", "local.fragment"),
    "aie2": ("local", "local", "local"),
    "ascend-910b": ("shared.l1", "shared.l1", "wmma.accumulator"),
    "ascend-910b-24": ("shared.l1", "shared.l1", "wmma.accumulator"),
    "cpu-core": (),
    "dual-bank-npu": ("local.vtcm", "local.vtcm", "local.acc"),
    "ethos-u55": ("local", "local", "local"),
    "gemmini": ("local.scratchpad", "local.scratchpad", "local.accumulator"),
    "gpu-sm": ("shared", "shared", "local"),
    "h100": ("shared", "shared", "local.fragment"),
    "hexagon-hvx": ("local.vtcm", "local.vtcm", "local.vtcm"),
    "matrix-vector-npu": ("local", "local", "local"),
    "sm80": ("shared", "shared", "local.fragment"),
    "sm90": ("shared", "shared", "local.fragment"),
    "snitch-cluster": ("shared", "shared", "local"),
    "tpu-like-quad": ("shared", "shared", "shared"),
    "tpu-v1": ("local.unified_buffer", "local.unified_buffer", "local.accumulators"),
    "vta": ("local.inp_buffer", "local.wgt_buffer", "local.acc_buffer"),
    "wormhole": ("shared", "shared", "shared"),
}
"""The scopes of the operands and of the result of a product."""


def figures(machine: Machine) -> dict[str, int | float]:
    """All numbers by path."""
    found: dict[str, int | float] = {"clock_hz": machine.clock_hz}
    for group in GROUPS:
        for part in machine.parts(group):
            for name, value in msgspec.to_builtins(part).items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    found[f"{group}.{part.name}.{name}"] = value
    return found


def figure(machine: Machine, path: str) -> Any:
    group, _, rest = path.rpartition(".")[0].partition(".")
    owner = machine if not group else next(p for p in machine.parts(group) if p.name == rest)
    return getattr(owner, path.rpartition(".")[2])


@cache
def program(preset: str) -> PrimFunc:
    """A product in tiles with an edge, staged where the machine has scopes for it."""
    sch = Schedule(parse(matmul(24, 20, 16)).program)
    loops = [sch.split(loop, [None, 8]) for loop in sch.get_loops("C")]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    if SCOPES[preset]:
        *operands, result = SCOPES[preset]
        for n, scope in enumerate(operands):
            copy = sch.cache_read("C", n, scope)
            sch.compute_at(copy, loops[2][0])
            sch.double_buffer(copy)
        sch.reverse_compute_at(sch.cache_write("C", 0, result), loops[1][0])
    return sch.func


def require_sound(report: Report) -> None:
    assert report.cycles >= report.bound > 0
    for engine in report.engines.values():
        assert engine.busy + sum(engine.stall.values()) == report.cycles
        assert min(engine.stall.values()) >= 0


def test_each_preset_has_a_program_here():
    assert tuple(SCOPES) == preset_names()


@pytest.mark.parametrize("preset", samples(SCOPES, "vta"))
def test_a_doubled_figure_simulates_or_is_refused(preset: str):
    machine = load_machine(preset)
    refused: set[str] = set()
    for path, value in islice(figures(machine).items(), 0, None, 1 if IS_DEEP else 5):
        try:
            varied = machine.replace(path, 2 * value)
        except MachineError as error:
            refused.add(error.refusal.code)
            continue
        assert figure(varied, path) == 2 * value
        require_sound(simulate(program(preset), varied))
    # Inconsistent figures: banks that would not divide their memory, sets, lines in lines, channels of a unit.
    assert refused <= {"uneven-banks", "uneven-sets", "uneven-lines", "channels-in-unit"}


@given(st.data())
def test_law_any_number_for_a_figure_simulates_or_is_refused(
    data: st.DataObject,
):
    preset = data.draw(st.sampled_from(sorted(SCOPES)))
    machine = load_machine(preset)
    path = data.draw(st.sampled_from(sorted(figures(machine))))
    value = data.draw(
        st.sampled_from([-1, 0, 1, 2, 3, 5, 7, 48, 64, 1000, 1 << 20, 1 << 40, 1 << 62, 1 << 70, 0.5, -0.5])
    )
    try:
        require_sound(simulate(program(preset), machine.replace(path, value)))
    except MachineError as error:
        assert error.refusal.code and error.refusal.message and (error.refusal.expected or error.refusal.found)
