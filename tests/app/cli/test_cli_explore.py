"""`tilewright explore`: what it prints and writes, what it keeps, and its exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tilewright.app.cli import main
from tilewright.app.document import branches, evaluate, load_document

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.fixture
def gemm(tmp_path: Path) -> Path:
    """The example on Gemmini, with the rows of its tiles and the order of its loops to choose."""
    file = Path(shutil.copy(EXAMPLES / "gemmini_gemm.py", tmp_path))
    text = (
        file.read_text().replace("(512, 512)", "(128, 128)").replace("T.grid(512, 512, 512)", "T.grid(128, 128, 128)")
    )
    text = text.replace(
        "io, ii = sch.split(i, [None, 64]",
        'rows = tilewright.choose("rows", [64, 16, 128])\nio, ii = sch.split(i, [None, rows]',
    )
    order = (
        'order = tilewright.choose("order", [["io", "jo", "ko"], ["jo", "io", "ko"]])\nsch.reorder(*order, ii, ji, ki)'
    )
    file.write_text(
        text.replace("sch.reorder(io, jo, ko, ii, ji, ki)", order).replace("(C_acc, jo)", "(C_acc, order[1])")
    )
    return file


def told(argv: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    assert main(["explore", *argv, "--workers", "0"]) == code
    said = capsys.readouterr()
    assert said.err == "" or code
    return said.out if not code else said.out + said.err


def test_given_holes_then_the_best_with_its_values_and_its_bound(
    gemm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = gemm.read_bytes()
    out = told([str(gemm)], capsys)
    assert "6 of 6 candidates evaluated (all): 6 fit" in out or "pruned" in out
    assert "    rows   128\n" in out and "× the bound; proved: for all inputs" in out
    assert gemm.read_bytes() == before


def test_given_write_then_the_best_is_a_branch_and_the_holes_are_kept(
    gemm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = told([str(gemm), "--write"], capsys)
    notebook = evaluate(load_document(gemm))
    assert [b.name for b in branches(notebook.document)] == ["main", "found"] and "branch 'found'" in out
    assert notebook.error is None and "rows = 128\n" in notebook.document.text
    found = json.loads(told([f"{gemm}", "--json", "--auto", "--trials", "3"], capsys))
    assert found["method"] == "tpe" and len(found["trials"]) == 3 < found["candidates"]
    assert any("on array: a product" in decision for decision in found["decisions"]) and found["left_out"]


def test_given_auto_and_an_output_then_a_new_program_gets_the_best_derived_schedule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand = (EXAMPLES.parents[1] / "tests" / "hand" / "rows" / "softmax.py").read_text()
    file, best = tmp_path / "rows.py", tmp_path / "best.py"
    file.write_text(hand[: hand.index("# %% schedule")])
    out = told([str(file), "--auto", "--seconds", "20", "--trials", "8", "-o", str(best)], capsys)
    assert "decisions:\n  tiles of Y" in out and "\nleft out:\n" in out and f"was written to {best}" in out
    notebook = evaluate(load_document(best))
    assert notebook.error is None and "choose(" not in notebook.document.text
    assert "pipeline of i_o in up to 2 stages" in notebook.document.text
    assert "sch.pipeline(i_o, stages=stages" in notebook.document.text


def test_given_json_then_the_study(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = json.loads(told([str(gemm), "--json", "--objective", "cycles,peak local.scratchpad"], capsys))
    assert (
        study["machine"] == "gemmini"
        and study["method"] == "exhaustive"
        and study["candidates"] == 6
        and study["ended"]
    )
    assert [h["name"] for h in study["holes"]] == ["rows", "order"] and len(study["trials"]) == 6
    assert sum(study["counts"].values()) == 6
    for offer in study["offers"]:
        assert offer["verdict"]["status"] in ("proved", "tested") and set(offer["values"]) == {"rows", "order"}
    peaks = [max(o["figures"]["peaks"][f"local.scratchpad[{n}]"] for n in range(4)) for o in study["offers"]]
    assert peaks == sorted(peaks, reverse=True)


def test_given_a_study_then_it_is_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hand = (EXAMPLES.parents[1] / "tests" / "hand" / "rows" / "softmax.py").read_text()
    file = tmp_path / "rows.py"
    file.write_text(hand[: hand.index("# %% schedule")])
    store = ["--study", str(tmp_path / "study.sqlite"), "--auto", "--json"]
    few = json.loads(told([str(file), *store, "--trials", "32"], capsys))
    more = json.loads(told([str(file), *store, "--trials", "40"], capsys))
    assert more["trials"][:32] == few["trials"] and len(more["trials"]) == 40
    assert "other-study" in told([str(file), *store, "--seed", "1"], capsys, 2)


def test_given_seconds_then_it_ends_with_them(gemm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = ["--study", str(tmp_path / "study.sqlite"), "--workers", "0", "--json"]
    assert main(["explore", str(gemm), *study, "--seconds", "0.0001"]) in (0, 1)  # no time for more than the first
    short = json.loads(capsys.readouterr().out)
    assert short["ended"] and len(short["trials"]) <= 1 and short["settings"]["seconds"] == 0.0001
    assert len(json.loads(told([str(gemm), *study], capsys))["trials"]) > 1


def test_given_nothing_that_fits_then_1_and_why(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = told([str(gemm), "--budget", "peak local.scratchpad=1KiB"], capsys, 1)
    assert "no feasible candidate" in out and "6 × budget: peak local.scratchpad of" in out and "at most 1,024" in out


def test_given_pins_then_the_rest_is_searched_and_the_branch_has_their_values(
    gemm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = told([str(gemm), "--keep", "rows=16", "--write"], capsys)
    assert "2 of 2 candidates evaluated (all)" in out and "kept: rows = 16\n" in out
    notebook = evaluate(load_document(gemm))
    assert notebook.error is None and "rows = 16\n" in notebook.document.text
    order = ["--keep", "order=['jo', 'io', 'ko']"]
    study = json.loads(told([f"{gemm}@main", "--json", "--keep", " rows = 64, 128", *order], capsys))
    assert study["keep"] == {"rows": ["64", "128"], "order": ['["jo", "io", "ko"]']} and study["candidates"] == 2
    assert {offer["values"]["order"] for offer in study["offers"]} == {'["jo", "io", "ko"]'}
    resumed = ["--study", str(gemm.with_suffix(".sqlite")), "--json"]
    one = json.loads(told([f"{gemm}@main", *resumed, "--keep", "rows=64,128"], capsys))
    assert json.loads(told([f"{gemm}@main", *resumed, "--keep", "rows=[64, 128]"], capsys)) == one
    assert "other-study" in told([f"{gemm}@main", *resumed, "--keep", "rows=64"], capsys, 2)


def test_given_pins_of_a_derived_space_then_the_derivation_keeps_them(
    gemm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = json.loads(told([str(gemm), "--auto", "--keep", "tile i=16", "--trials", "4", "--json"], capsys))
    assert study["keep"] == {"tile i": ["16"]} and study["offers"]
    assert all(offer["values"]["tile i"] == "16" for offer in study["offers"])
    said = told([str(gemm), "--auto", "--keep", "tile i=17", "--trials", "4"], capsys, 2)
    assert "no-such-value" in said and "17 is not a value of 'tile i'" in said


@pytest.mark.parametrize(
    ("pin", "said"),
    [
        ("rows=48", ("no-such-value", "48 is not a value of 'rows'", "64, 16, 128")),
        ("rows=all of them", ("no-such-value", "64, 16, 128")),
        ("tile=64", ("no-such-hole", "there is no hole 'tile'", "rows, order")),
        ("rows", ("not HOLE=VALUE",)),
    ],
)
def test_given_a_pin_that_is_none_then_2_and_the_choices(
    gemm: Path, pin: str, said: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    out = told([str(gemm), "--keep", pin], capsys, 2)
    assert all(text in out for text in said), out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "no-holes"),
        (["--auto", "--objective", "speed"], "unknown-objective"),
        (["--auto", "--objective", "cycles,,"], "not a list of metrics"),
        (["--auto", "--budget", "cycles"], "not METRIC=NUMBER"),
        (["--auto", "--trials", "0"], "not a number of candidates"),
        (["--auto", "--workers", "many"], "not a number of processes"),
        (["--auto", "--seconds", "soon"], "not a number of seconds"),
        (["--auto", "--study", "/no/such/folder/x.sqlite"], "not-a-study"),
    ],
)
def test_given_what_cannot_be_done_then_2_and_why(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", str(EXAMPLES / "gemmini_gemm.py"), *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and said in captured.err and "Traceback" not in captured.err
