"""The values of a TileLang kernel as a search space: its candidates, and points of it in the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright.app.cli import main
from tilewright.app.document import branches, evaluate, read_document, with_branch
from tilewright.app.document.holes import branch_at, derived_start, notebook_space, with_point
from tilewright.app.views.shell.gallery import FOLDER
from tilewright.engine.explore import Settings, Space, explore, pinned, verdict_of
from tilewright.engine.explore.trials.evaluator import EvaluationRequest
from tilewright.engine.explore.workers.job import encoded, job_from, job_of
from tilewright.engine.hwsim import load_machine

SMALL = "M=128, N=128, K=128"
TEXT = (FOLDER / "tilelang_gemm.py").read_text().replace("M=512, N=512, K=1024, num_stages=3", f"{SMALL}, num_stages=1")
NOTEBOOK = evaluate(read_document(TEXT))
SM80 = load_machine("sm80")


def space(**values: tuple[str, ...]) -> Space:
    return notebook_space(NOTEBOOK, values)


def test_stages_and_tiles_are_searched_and_the_best_is_an_edit_of_the_call() -> None:
    searched = space(num_stages=("2", "3"), block_K=("64",))
    study = explore(searched, SM80, Settings())
    assert len(study.trials) == 6
    (offer,) = study.offers
    assert offer.verdict.status in ("proved", "tested")
    made = with_point(NOTEBOOK.document, searched, offer.trial.point)
    values = searched.texts_at(offer.trial.point)
    assert [line for line in made.text.split("\n") if line not in TEXT.split("\n")] == [
        f"main = gemm({SMALL}, num_stages={values['num_stages']}{', block_K=64' if values['block_K'] == '64' else ''})"
    ]


def test_a_kernel_with_other_results_is_not_offered() -> None:
    assert verdict_of(space(num_stages=("2",)), (1,)).status == "proved"
    wrong = NOTEBOOK.document.text.replace("T.clear(C_local)", "T.fill(C_local, factor)").replace(
        "num_stages=3, dtype", "factor=0, num_stages=3, dtype"
    )
    searched = notebook_space(evaluate(read_document(wrong)), {"factor": ("99",)})
    assert verdict_of(searched, (1,)).status == "failed"


def test_sizes_are_refused_as_values() -> None:
    searched = space(M=("256",))
    study = explore(searched, SM80, Settings())
    assert [trial.outcome.code for trial in study.trials] == ["", "other-parameters"]


def test_tiles_that_fill_shared_memory_or_registers_are_no_candidates() -> None:
    searched = space(num_stages=("4",), block_M=("256",), block_N=("256",), block_K=("64",))
    study = explore(searched, SM80, Settings())
    codes = {tuple(searched.texts_at(t.point).values()): t.outcome.code for t in study.trials}
    assert codes["4", "256", "256", "64"] == "too-many-registers"
    assert codes["4", "128", "128", "64"] == ""


def test_workers_read_the_kernel_again() -> None:
    searched = pinned(space(num_stages=("2", "3"), block_K=("64",)), {"block_K": 64})
    job = job_from(encoded(job_of(searched, SM80, Settings())))
    for point in searched.points():
        outcome = job.bench.tried(EvaluationRequest(0, point))
        assert (
            outcome.figures
            == explore(pinned(searched, {"num_stages": searched.values_at(point)["num_stages"]}), SM80)
            .trials[0]
            .outcome.figures
        )


def test_a_branch_keeps_the_kernel() -> None:
    searched = space(num_stages=("3",))
    made = branch_at(NOTEBOOK.document, searched, (1,), "three")
    assert "num_stages=3)" in made.cells[2].text
    assert [branch.name for branch in branches(made)] == ["main", "three"]
    back = with_branch(made, "main")
    assert "num_stages=1)" in back.cells[2].text and back.cells[2].text == NOTEBOOK.document.cells[2].text
    assert with_branch(back, "three").text == made.text


def test_the_space_of_a_kernel_is_derived_from_its_text() -> None:
    found = derived_start(NOTEBOOK, SM80)
    assert [hole.name for hole in found.space.space.holes] == ["threads", "num_stages", "block_K", "block_M", "block_N"]
    assert found.outcome.fits and "num_stages: stages of a pipelined loop" in found.space.explanation


def test_explore_lists_given_values_and_writes_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, best = tmp_path / "gemm.py", tmp_path / "best.py"
    path.write_text(TEXT)
    words = [
        "explore",
        str(path),
        "--value",
        "num_stages=2,3",
        "--value",
        "block_K=64",
        "--workers",
        "0",
        "--no-database",
    ]
    assert main([*words, "-o", str(best)]) == 0
    out = capsys.readouterr().out
    assert "the file's values" in out and "num_stages  block_K" in out
    assert len([line for line in best.read_text().split("\n") if line not in TEXT.split("\n")]) == 1
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["trials"]) == 6


def test_the_edited_text_is_an_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gemm.py"
    path.write_text(TEXT)
    assert main(["export", str(path), "--to", "tilelang"]) == 0
    assert capsys.readouterr().out.strip() == TEXT.split("# %% workload\n")[1].split("# %% schedule")[0].strip()
    assert main(["export", str(FOLDER / "box_blur.py"), "--to", "tilelang"]) != 0
