"""The example models: each kernel is scheduled, and the guide, the cards and the thumbnails have the same metrics."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tilewright.app.document.networks import NetworkNotebook, load_network
from tilewright.app.views.shell.gallery import load_thumbnails
from tilewright.app.views.shell.model_cards import MODELS, example_file, example_models
from tilewright.app.views.shell.model_thumbnails import model_thumbnail
from tilewright.app.views.shell.thumbnails import HEIGHT, MAX_ROWS, WIDTH, digest
from tilewright.engine.explore import program_bound
from tilewright.engine.network import distinct_kernels

PAGE = Path(__file__).parents[4] / "docs" / "guide" / "examples.md"
NAMES = sorted(path.name for path in MODELS.glob("*/"))


@cache
def model(name: str) -> NetworkNotebook:
    return load_network(example_file(name))


def test_the_example_models_are_a_residual_network_and_a_transformer() -> None:
    assert NAMES == ["resnet18_blocks", "transformer_layer"]
    assert [card.model for card in example_models()] == NAMES
    assert all(card.path is None and card.sentence.endswith("Each kernel has a schedule.") for card in example_models())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_kernel_of_an_example_model_has_a_fitting_schedule(name: str) -> None:
    found = model(name)
    assert found.scheduled.keys() == {kernel.name for kernel in found.kernels}
    report = found.simulate()
    assert not report.refused
    assert all(cost.report is not None and not cost.report.overflow_bytes for cost in report.kernels)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_guide_has_the_metrics_of_an_example_model(name: str) -> None:
    found = model(name)
    cycles, calls = found.simulate().cycles, len(found.network.graph.calls)
    bounds = sum(
        program_bound(k.program(), found.machine).cycles * len(k.calls) for k in distinct_kernels(found.network)
    )
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}`"))
    numbers = re.findall(r"\| ([\d,.]+) (?=\|)", row)
    assert numbers == [f"{calls}", f"{len(found.kernels)}", f"{cycles:,}", f"{bounds:,}", f"{cycles / bounds:.2f}"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_kernel_of_an_example_model_beats_its_bound(name: str) -> None:
    found = model(name)
    for cost in found.simulate().kernels:
        assert cost.report is not None
        assert cost.report.cycles >= program_bound(cost.kernel.program(), found.machine).cycles, cost.kernel.name


@pytest.mark.parametrize("name", NAMES)
def test_an_example_model_has_a_recorded_thumbnail(name: str) -> None:
    assert digest(load_network(example_file(name)).document.text) in load_thumbnails()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_thumbnail_of_a_model_has_calls_engines_and_memories(name: str) -> None:
    thumbnail, text = model_thumbnail(example_file(name)), model(name).document.text
    assert load_thumbnails()[digest(text)] == thumbnail
    assert thumbnail.cycles == model(name).simulate().cycles
    assert len(thumbnail.rows) == min(len(model(name).network.graph.calls), MAX_ROWS)
    assert {lane.name for lane in thumbnail.engines} == {engine.name for engine in model(name).machine.engines}
    bars = [bar for lane in thumbnail.engines for bar in lane.bars]
    assert bars and all(0 <= start < end <= WIDTH + 1 and 0 < share <= HEIGHT for start, end, _, share in bars)
    assert all(0 <= part <= HEIGHT and not level.over for level in thumbnail.memories for part in level.fill)
