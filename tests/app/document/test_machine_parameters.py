"""Machine parameters as lines of the notebook: written, changed in place, removed, and executed by Python with the same effect."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.actions.machine_actions import PickMachine, ResetParameter, SetParameter
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import Undo, act
from tilewright.app.document import evaluate, read_document
from tilewright.app.document.editing.machine_parameters import (
    overridden_paths,
    unchained,
    with_parameter,
    without_parameters,
)
from tilewright.app.state.model import State
from tilewright.engine.hwsim import Machine, load_machine

NPU = load_machine("dual-bank-npu")
CELL = '# %% machine\nimport tilewright\n\nmachine = tilewright.machine("dual-bank-npu"){turns}\n'


def machine_cell(state: State) -> str:
    assert state.notebook is not None
    return "".join(cell.body for cell in state.notebook.document.of_kind("machine"))


def machine_of(state: State) -> Machine:
    assert state.notebook is not None and state.notebook.machine is not None, state.notice
    return state.notebook.machine


@pytest.fixture
def opened() -> State:
    state = act(State(), OpenText(MATMUL_NOTEBOOK))
    return act(state, PickMachine("dual-bank-npu"))


def test_a_parameter_is_one_readable_line_that_undo_removes(opened: State) -> None:
    turned = act(opened, SetParameter("memories.vtcm.banks", 4))
    assert machine_of(turned).memory("vtcm").banks == 4
    assert machine_cell(turned).strip().splitlines()[-1] == 'machine = machine.replace("memories.vtcm.banks", 4)'
    assert act(turned, Undo()).notebook is opened.notebook


def test_a_parameter_set_again_changes_only_its_line(opened: State) -> None:
    state = act(act(opened, SetParameter("memories.vtcm.banks", 4)), SetParameter("engines.dma.setup_cycles", 20))
    again = act(state, SetParameter("memories.vtcm.banks", 8))
    assert machine_cell(again) == machine_cell(state).replace('banks", 4', 'banks", 8')
    assert machine_of(again).memory("vtcm").banks == 8


def test_the_files_own_value_removes_the_line(opened: State) -> None:
    turned = act(opened, SetParameter("memories.vtcm.banks", 4))
    assert machine_cell(act(turned, SetParameter("memories.vtcm.banks", 2))) == machine_cell(opened)
    both = act(turned, SetParameter("clock_hz", 2_000_000_000))
    assert machine_cell(act(both, ResetParameter("clock_hz"))) == machine_cell(turned)
    assert machine_cell(act(both, ResetParameter())) == machine_cell(opened)


def test_an_impossible_value_is_refused_and_changes_nothing(opened: State) -> None:
    refused = act(opened, SetParameter("memories.vtcm.banks", 3))
    assert refused.notebook is opened.notebook
    assert refused.notice is not None and refused.notice.code == "uneven-banks"
    unknown = act(opened, SetParameter("memories.nowhere.banks", 3))
    assert unknown.notice is not None and unknown.notice.code == "unknown-figure"


def test_another_machine_drops_the_old_parameters(opened: State) -> None:
    turned = act(opened, SetParameter("memories.vtcm.banks", 4))
    other = act(turned, PickMachine("vta"))
    assert "replace" not in machine_cell(other)
    assert machine_of(other) == load_machine("vta")


def test_a_chain_is_read_and_edited_in_place() -> None:
    text = (
        CELL.format(turns='.replace("local.vtcm.banks", 4).replace("clock_hz", 5)')
        + MATMUL_NOTEBOOK[MATMUL_NOTEBOOK.index("# %% workload") :]
    )
    document = read_document(text)
    machine = evaluate(document).machine
    assert machine is not None and (machine.memory("vtcm").banks, machine.clock_hz) == (4, 5)
    assert overridden_paths(document, machine) == ("memories.vtcm.banks", "clock_hz")
    changed = with_parameter(document, machine, "memories.vtcm.banks", 8)
    assert '.replace("local.vtcm.banks", 8).replace("clock_hz", 5)' in changed.text
    assert ".replace" in without_parameters(changed, machine, "memories.vtcm.banks").text
    assert without_parameters(changed).of_kind("machine")[0].text == CELL.format(turns="")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_endings_and_the_rest_stay_byte_for_byte(newline: str) -> None:
    text = MATMUL_NOTEBOOK.replace("\n", newline)
    document = read_document(text)
    machine = evaluate(document).machine
    assert machine is not None
    path = f"memories.{machine.memories[0].name}.latency_cycles"
    turned = with_parameter(document, machine, path, 7)
    line = f'machine = machine.replace("{path}", 7){newline}'
    assert turned.text.replace(line, "") == text
    assert without_parameters(turned).text == text


def test_multiline_chains_keep_the_line_numbers_below() -> None:
    text = 'm = (\n    tilewright.machine("x")\n    .replace("a.b", 1)\n)\nm = m.replace("c", 2)\n'
    assert unchained(text).splitlines()[0] == "m = tilewright.machine('x'); m = m.replace('a.b', 1)"
    assert unchained(text).splitlines()[4] == 'm = m.replace("c", 2)'


def test_an_error_in_a_chain_is_reported_at_its_line() -> None:
    text = CELL.format(turns='.replace("memories.vtcm.banks", 3)')
    error = evaluate(read_document(text)).error
    assert error is not None and error.refusal.code == "uneven-banks"
    assert error.refusal.place is not None and error.refusal.place.line == 4


def test_python_builds_the_same_changed_machine(opened: State, tmp_path: Path) -> None:
    turned = act(
        act(opened, SetParameter("memories.vtcm.banks", 4)), SetParameter("memories.vtcm.capacity_bytes", 1 << 20)
    )
    assert turned.notebook is not None
    file = tmp_path / "notebook.py"
    file.write_text(turned.notebook.document.text)
    machine = runpy.run_path(str(file))["machine"]
    assert machine == machine_of(turned)
    assert (machine.memory("vtcm").banks, machine.memory("vtcm").capacity_bytes) == (4, 1 << 20)
