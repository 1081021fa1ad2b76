"""The search of a model on disk: schedules become lines of the kernels' files at once, a second run resumes, edited kernels are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.pasted.relax_modules import DOUBLE_MODEL, MODEL

from tilewright.app.document import DocumentError, branches, load_document
from tilewright.app.document.networks import KERNELS, SEARCH, create_network, explore_model, load_network
from tilewright.engine.hwsim import load_machine
from tilewright.engine.network import NetworkProgress
from tilewright.engine.script.relax import parse_network

NPU = load_machine("dual-bank-npu")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return create_network(parse_network(DOUBLE_MODEL), tmp_path / "net", "A small model", NPU)


def first(model: Path, count: int, **keywords: bool) -> list[NetworkProgress]:
    """The progress of a search that stops after some slices."""
    seen: list[NetworkProgress] = []
    explore_model(model.parent, seconds=120, workers=0, watch=seen.append, stop=lambda: len(seen) >= count, **keywords)
    return seen


@pytest.mark.slow
def test_a_stopped_search_is_saved_resumed_and_keeps_edits(model: Path) -> None:
    before = load_network(model).simulate().cycles
    (one,) = first(model, 1)
    assert one.last.name == "double" and list(load_network(model).scheduled) == ["double"]
    kernel = (model.parent / KERNELS / "double.py").read_text()
    assert "sch = tilewright.Schedule(double)\n" in kernel and "choose(" not in kernel
    assert json.loads((model.parent / SEARCH / "double.json").read_text())["study"]["kernel"] == "double"
    (other,) = first(model, 1)
    assert other.last.name == "relu" and other.done == 2
    found = load_network(model)
    assert sorted(found.scheduled) == ["double", "relu"]
    assert found.simulate().cycles == other.cycles < before
    assert found.kernels and all(p.last.study is not None and p.last.study.slices > 1 for p in first(model, 1))
    # A schedule that a person edits is kept until the search is asked to redo it.
    file = model.parent / KERNELS / "double.py"
    kernel = file.read_text()
    start = kernel.index("sch = tilewright.Schedule(double)\n") + len("sch = tilewright.Schedule(double)\n")
    edited = kernel[:start] + '(i,) = sch.get_loops("B")\nsch.parallel(i)\n'
    file.write_text(edited)
    assert all(p.last.name == "relu" for p in first(model, 1))
    assert file.read_text() == edited
    first(model, 1, again=True)
    assert sorted((b.name, b.current) for b in branches(load_document(file))) == [("auto", True), ("main", False)]
    assert load_network(model).simulate().cycles > 0


def test_a_module_text_has_no_folder_for_schedules(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(MODEL)
    with pytest.raises(DocumentError, match="no folder of kernels"):
        explore_model(path)
