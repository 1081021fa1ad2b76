"""A model as a folder: its graph in `model.py`, and a notebook for each kernel, whose schedule counts in the model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.pasted.relax_modules import MODEL, OPEN

from tilewright.app.document import DocumentError
from tilewright.app.document.networks import KERNELS, create_network, load_network, save_on_chip
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.schedule import ScheduleError
from tilewright.engine.script import ParseError
from tilewright.engine.script.relax import parse_network

NPU = load_machine("dual-bank-npu")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return create_network(parse_network(MODEL), tmp_path / "net", "A small model", NPU, "small.onnx")


def schedule(kernel: Path, *lines: str) -> None:
    kernel.write_text(kernel.read_text() + "".join(f"{line}\n" for line in lines))


def test_a_network_folder_has_the_graph_and_a_file_per_structure(model: Path) -> None:
    assert sorted(p.name for p in (model.parent / KERNELS).iterdir()) == ["both.py", "scale.py"]
    assert "# # A small model" in model.read_text() and "Origin: small.onnx." in model.read_text()
    found = load_network(model)
    assert [c.kernel for c in found.network.graph.calls] == ["scale", "scale", "both", "scale", "both"]
    assert found.machine.name == "dual-bank-npu" and found.scheduled == {}
    with pytest.raises(DocumentError, match="already exists"):
        create_network(found.network, model.parent, "again", NPU)


def test_a_kernel_schedule_counts_in_the_model_report(model: Path) -> None:
    before = load_network(model).simulate()
    lines = [f'sch.cache_write("{block}", 0, "local.vtcm")' for block in ("s", "p")]
    schedule(model.parent / KERNELS / "both.py", *lines)
    found = load_network(model)
    after = found.simulate()
    change = simulate(found.scheduled["both"], NPU).cycles - simulate(found.network["both"], NPU).cycles
    assert change and after.cycles == before.cycles + 2 * change


def test_an_error_in_a_kernel_file_is_named(model: Path) -> None:
    kernel = model.parent / KERNELS / "scale.py"
    text = kernel.read_text()
    schedule(kernel, 'sch.cache_write("nobody", 0, "local.vtcm")')
    with pytest.raises(ScheduleError, match="nobody"):
        load_network(model)
    kernel.write_text(text.replace("def scale(", "def other(").replace("Schedule(scale)", "Schedule(other)"))
    with pytest.raises(DocumentError, match="does not have the program of the kernel scale"):
        load_network(model)
    kernel.unlink()
    with pytest.raises(ParseError, match="no tensor program scale"):
        load_network(model)


@pytest.mark.slow
def test_python_runs_the_model_file(model: Path) -> None:
    done = subprocess.run([sys.executable, str(model)], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == load_network(model).report_text() + "\n" and "both" in done.stdout


def test_an_open_size_comes_from_the_file_or_the_caller(tmp_path: Path) -> None:
    path = create_network(parse_network(OPEN), tmp_path / "open", "Open", NPU)
    four = load_network(path, {"n": 4}).simulate()
    path.write_text(path.read_text().replace('npu")\n', 'npu")\nsizes = {"n": 4}\n', 1))
    assert load_network(path).simulate().cycles == four.cycles > 0
    assert load_network(path, {"n": 8}).simulate().cycles > four.cycles


def test_the_text_of_a_module_is_a_model_without_notebooks(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(MODEL)
    found = load_network(path)
    assert found.notebooks == {} and [k.name for k in found.kernels] == ["scale", "both"]


def test_an_on_chip_line_places_a_tensor_and_can_be_replaced(model: Path) -> None:
    plain = load_network(model).simulate()
    save_on_chip(model, {"lv1_1": "local.vtcm_Block_1", "ready": "local.vtcm_Block_2"})
    assert '    "lv1_1": "local.vtcm_Block_1",\n' in model.read_text()
    found = load_network(model)
    assert found.on_chip == {"lv1_1": "local.vtcm_Block_1", "ready": "local.vtcm_Block_2"}
    report = found.simulate()
    assert [t.tensor.name for t in report.plan.tensors] == ["lv1_1", "ready"]
    assert report.cycles == sum(cost.cycles for cost in report.kernels) + report.plan.wait_cycles
    assert "on chip" in found.report_text() and "lv1_1" in found.report_text()
    other = found.simulate(load_machine("gemmini"))
    assert other.plan.tensors == () and other.machine.name == "gemmini"
    save_on_chip(model, {})
    assert "on_chip" not in model.read_text() and load_network(model).simulate().cycles == plain.cycles


def test_an_invalid_on_chip_line_is_reported_at_its_line(model: Path) -> None:
    text = model.read_text()
    model.write_text(text.replace('machine("dual-bank-npu")', 'machine("dual-bank-npu")\non_chip = {"lv": 3}'))
    with pytest.raises(DocumentError, match="must map names of tensors") as caught:
        load_network(model)
    place = caught.value.refusal.place
    assert place is not None and model.read_text().splitlines()[place.line - 1] == 'on_chip = {"lv": 3}'


def test_reloading_reuses_unchanged_kernels(model: Path) -> None:
    first = load_network(model)
    lines = [f'sch.cache_write("{block}", 0, "local.vtcm")' for block in ("s", "p")]
    schedule(model.parent / KERNELS / "both.py", *lines)
    second = load_network(model, before=first)
    assert second.network is first.network and second.simulations is first.simulations
    assert second.notebooks["scale"] is first.notebooks["scale"]
    assert second.simulate().cycles == load_network(model).simulate().cycles != first.simulate().cycles
