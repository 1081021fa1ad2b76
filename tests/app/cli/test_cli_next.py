"""`tilewright next`: its list, and the schedule that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.programs.sources import ADD_RELU

from tilewright.app.cli import main
from tilewright.app.document import load_document
from tilewright.app.document.evaluate import evaluate
from tilewright.engine.hwsim import load_machine, simulate


@pytest.fixture
def fresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    (tmp_path / "post.txt").write_text(ADD_RELU)
    output = tmp_path / "fresh.py"
    assert main(["import", str(tmp_path / "post.txt"), "-o", str(output)]) == 0
    capsys.readouterr()
    return output


@pytest.mark.slow
def test_apply_schedules_all_blocks_with_the_predicted_cycles(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", str(fresh), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    best = printed["suggestions"][0]
    assert best["rule"] == "schedule" and best["title"] == "Schedule all 2 blocks" and best["decisions"]
    assert 0 < printed["bound"] < best["cycles"] < best["cycles_before"]

    assert main(["next", str(fresh), "--apply"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("Schedule all 2 blocks: ") and "    # " in listed and " bytes copied" in listed
    assert f"needs at least {printed['bound']:,} cycles" in listed
    notebook = evaluate(load_document(fresh))
    assert notebook.error is None and notebook.schedule is not None
    assert "choose(" not in fresh.read_text() and "sch.pipeline(" in fresh.read_text()
    assert simulate(notebook.schedule.described, load_machine("dual-bank-npu")).cycles == best["cycles"]
