"""The simulator beside an oracle that runs every task element by element, by the rules of docs/simulator.md."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import few
from support.simulator.every_law.cases.machines import random_machine
from support.simulator.every_law.cases.programs import random_program
from support.simulator.every_law.compare import Compared, compare
from support.simulator.every_law.machine_tasks import TooManyElementsError

from tilewright.engine.hwsim import MachineError, load_machine
from tilewright.engine.script import parse

FEW = 15_000
"""Elements that the tasks of a program access."""

BLUR = """
@T.prim_func(s_tir=True)
def blur(image: T.Buffer((4, 12, 3), "uint8"), blurred: T.Buffer((4, 12, 3), "uint8")):
    local = T.sblock_alloc_buffer((4, 12, 3), "uint8", scope="local")
    sums = T.sblock_alloc_buffer((4, 12, 3), "uint8", scope="local")
    for i, j, k in T.grid(4, 12, 3):
        with T.sblock("local"):
            y, x, c = T.axis.remap("SSS", [i, j, k])
            local[y, x, c] = image[y, x, c]
    for i, j in T.grid(4, 12):
        for k in range(3):
            with T.sblock("sums"):
                y, x, c = T.axis.remap("SSS", [i, j, k])
                sums[y, x, c] = local[T.max(y - 1, 0), T.max(x - 1, 0), c] + local[y, T.min(x + 1, 11), c]
        for k in range(3):
            with T.sblock("blurred"):
                y, x, c = T.axis.remap("SSS", [i, j, k])
                blurred[y, x, c] = sums[y, x, c]
"""
"""A sum of neighbours; outside of the image these are pixels of the border."""


def compared(seed: int) -> Compared | None:
    try:
        return compare(random_program(Random(seed)), random_machine(Random(seed)), FEW)
    except (MachineError, TooManyElementsError):
        return None


@few(4)
@given(st.integers(0, 2**32))
def test_law_every_task_is_that_of_an_oracle(seed: int) -> None:
    found = compared(seed)
    assert found is None or not found.difference


@pytest.mark.slow
def test_random_programs_use_every_engine_and_wait_for_ports() -> None:
    known = [found for seed in range(8) if (found := compared(seed)) is not None]
    kinds = {kind for found in known for kind in found.kinds}
    assert kinds == {"DmaEngine", "MatrixEngine", "ScalarEngine", "SystolicEngine", "VectorEngine"}
    assert any(found.waited for found in known) and any(found.replayed < found.tasks for found in known)
    assert not [found.difference for found in known if found.difference]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("machine", "scope"), [("matrix-vector-npu", "local"), ("dual-bank-npu", "local.vtcm")])
def test_tasks_with_clamped_indices_are_those_of_the_oracle(machine: str, scope: str) -> None:
    found = compare(parse(BLUR.replace('"local"', f'"{scope}"')).program, load_machine(machine), FEW)
    assert not found.difference and found.tasks == 1 + 2 * 4 * 12
    assert found.kinds["VectorEngine"] == 4 * 12
