"""`tilewright next`: what it lists, and the schedule that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.programs.layers import padded_convolution

from tilewright.app.cli import main
from tilewright.app.document import load_document
from tilewright.app.document.evaluate import evaluate
from tilewright.engine.hwsim import load_machine, simulate


@pytest.fixture
def convolution(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    (tmp_path / "post.txt").write_text(padded_convolution(8, 32))
    output = tmp_path / "convolution.py"
    assert main(["import", str(tmp_path / "post.txt"), "-o", str(output)]) == 0
    capsys.readouterr()
    return output


def test_given_apply_then_the_best_step_schedules_all_blocks_with_the_predicted_cycles(
    convolution: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["next", str(convolution), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    best = said["suggestions"][0]
    assert best["rule"] == "schedule" and best["title"] == "Schedule all 4 blocks" and best["decisions"]
    assert 0 < said["bound"] < best["cycles"] < best["cycles_before"]

    assert main(["next", str(convolution), "--apply"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("Schedule all 4 blocks: ") and "    # " in listed and " bytes copied" in listed
    assert f"needs at least {said['bound']:,} cycles" in listed
    notebook = evaluate(load_document(convolution))
    assert notebook.error is None and notebook.schedule is not None
    assert "choose(" not in convolution.read_text() and "sch.pipeline(" in convolution.read_text()
    assert simulate(notebook.schedule.described, load_machine("dual-bank-npu")).cycles == best["cycles"]
