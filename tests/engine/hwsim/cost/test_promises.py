"""Each figure for the cost of a program keeps its promise."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright
from tilewright.engine.explore import program_bound
from tilewright.engine.hwsim import (
    ProgramCost,
    UnpipedBound,
    estimate_cost,
    load_machine,
    lower_bound_of,
    simulate,
    tasks_of,
)
from tilewright.engine.ir import PrimFunc

EXAMPLES = ("box_blur", "gemmini_gemm", "vta_gemm", "vtcm_double_buffer", "what_moves_what")


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_figure_keeps_its_promise(name: str) -> None:
    notebook = tilewright.load(Path(tilewright.__file__).parents[1] / f"static/examples/{name}.py")
    schedule, machine = notebook.schedule, notebook.machine
    assert schedule is not None and machine is not None and isinstance(notebook.program, PrimFunc)
    cycles = simulate(schedule.func, machine).cycles
    costs: list[ProgramCost] = [
        simulate(schedule.func, machine, known_plan=schedule.plan),
        lower_bound_of(tasks_of(schedule.func, machine)),
        UnpipedBound(schedule.plan, machine).at({}),
        program_bound(notebook.program, machine),
        estimate_cost(schedule.index, machine),
    ]
    assert [cost.promise for cost in costs] == ["exact", *["lower bound"] * 3, "estimate"]
    for cost in costs:
        if cost.promise == "exact":
            assert cost.cycles == cycles
        elif cost.promise == "lower bound":
            assert 0 <= cost.cycles <= cycles
        else:
            assert cycles / 4 <= cost.cycles <= cycles * 4


def test_without_the_cost_of_misses_a_report_is_a_lower_bound() -> None:
    notebook = tilewright.load(Path(tilewright.__file__).parents[1] / "static/examples/cache_blocking.py")
    assert notebook.schedule is not None
    func, machine = notebook.schedule.func, load_machine("cpu-core")
    partial, whole = simulate(func, machine, max_accesses=1), simulate(func, machine)
    assert (partial.promise, whole.promise) == ("lower bound", "exact")
    assert partial.cycles < whole.cycles
