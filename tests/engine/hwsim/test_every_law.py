"""The simulator beside an oracle that runs every task element by element, by the rules of docs/simulator.md."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from support.simulator.every_law.cases.machines import random_machine
from support.simulator.every_law.cases.programs import random_program
from support.simulator.every_law.compare import Compared, compare
from support.simulator.every_law.machine_tasks import TooManyElementsError

from tilewright.engine.hwsim import MachineError

FEW = 15_000
"""Elements that the tasks of a program access."""


def compared(seed: int) -> Compared | None:
    try:
        return compare(random_program(Random(seed)), random_machine(Random(seed)), FEW)
    except (MachineError, TooManyElementsError):
        return None


@given(st.integers(0, 2**32))
def test_law_every_task_is_as_an_oracle_runs_it_element_by_element(seed: int) -> None:
    found = compared(seed)
    assert found is None or not found.difference


def test_the_random_programs_use_every_engine_and_wait_for_ports() -> None:
    known = [found for seed in range(24) if (found := compared(seed)) is not None]
    kinds = {kind for found in known for kind in found.kinds}
    assert kinds == {"DmaEngine", "MatrixEngine", "ScalarEngine", "SystolicEngine", "VectorEngine"}
    assert any(found.waited for found in known) and any(found.replayed < found.tasks for found in known)
    assert not [found.difference for found in known if found.difference]
