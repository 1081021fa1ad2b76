"""A file of TE text opens as a notebook: the program as TVMScript, and each schedule line above the calls that replace it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs.te_sources import BOX_BLUR_SCHEDULE, GPU_MATMUL, MATMUL_VTCM, TRANSPOSED, VTA_MATMUL

from tilewright.app.actions.opening import OpenDocument
from tilewright.app.actions.table import act
from tilewright.app.cli import main
from tilewright.app.document import converted, evaluate, read_document
from tilewright.app.state.model import State
from tilewright.engine.ir import structural_equal
from tilewright.engine.te import read_te

TEXTS = (MATMUL_VTCM, BOX_BLUR_SCHEDULE, TRANSPOSED, VTA_MATMUL, GPU_MATMUL)


@pytest.mark.sample(2)
@pytest.mark.parametrize("text", TEXTS)
def test_the_notebook_has_the_program_and_schedule_of_the_text(text: str) -> None:
    document = converted(read_document(text), "dual-bank-npu").document
    notebook = evaluate(document)
    assert notebook.error is None and notebook.schedule is not None
    assert structural_equal(notebook.schedule.func, read_te(text).schedule.func)
    assert converted(document, "dual-bank-npu").document is document


def test_each_call_follows_its_line() -> None:
    text = converted(read_document(MATMUL_VTCM), "dual-bank-npu").document.text
    assert "# s[CC].reorder(ko,mc_inner,ki, no, ni)\nsch.reorder(ko, mc_inner, ki, no, ni)\n" in text
    assert "# s[AL].compute_at(s[CC],ko)\nsch.compute_at(AL, ko, preserve_unit_loops=True)\n" in text


def test_opening_a_te_file_keeps_it_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "matmul.py"
    state = act(State(), OpenDocument(GPU_MATMUL, path=str(file)))
    assert state.notice is None and state.notebook is not None and state.notebook.schedule is not None
    assert state.notebook.document.path == str(tmp_path / "matmul_blocks.py")


def test_convert_writes_a_notebook_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "te.py", tmp_path / "blocks.py"
    source.write_text(TRANSPOSED, encoding="utf-8")
    assert main(["convert", str(source), "-o", str(target)]) == 0
    assert main(["run", str(target)]) == 0
    assert main(["run", str(source)]) == 0
    assert capsys.readouterr().out.count("cycles") >= 2
