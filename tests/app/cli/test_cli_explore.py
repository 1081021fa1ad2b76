"""`tilewright explore`: its output, the files that it writes, the outcomes that it stores, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.sessions.searching import DOUBLE

from tilewright.app.cli import main
from tilewright.app.document import branches, evaluate, load_document

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.fixture
def gemm(tmp_path: Path) -> Path:
    """A small GEMM on Gemmini with holes for the rows of a tile and for the loop order."""
    text = (EXAMPLES / "gemmini_gemm.py").read_text().replace("512", "32").replace("64]", "16]")
    rows = 'rows = tilewright.choose("rows", [16, 8, 32])\nio, ii = sch.split(i, [None, rows]'
    order = (
        'order = tilewright.choose("order", [["io", "jo", "ko"], ["jo", "io", "ko"]])\nsch.reorder(*order, ii, ji, ki)'
    )
    text = text.replace("io, ii = sch.split(i, [None, 16]", rows).replace("(C_acc, jo)", "(C_acc, order[1])")
    file = tmp_path / "gemmini_gemm.py"
    file.write_text(text.replace("sch.reorder(io, jo, ko, ii, ji, ki)", order))
    return file


@pytest.fixture
def double(tmp_path: Path) -> Path:
    """A program without holes. A derivation finds a pipeline for it; the derived space has 20 points."""
    file = tmp_path / "double.py"
    file.write_text(DOUBLE.replace("64", "512"))
    return file


def output(argv: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    assert main(["explore", *argv, "--workers", "0"]) == code
    captured = capsys.readouterr()
    assert captured.err == "" or code
    return captured.out if not code else captured.out + captured.err


@pytest.mark.slow
def test_the_best_candidate_is_printed_with_values_and_bound(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = gemm.read_bytes()
    out = output([str(gemm)], capsys)
    assert "6 of 6 candidates evaluated (all): 6 fit" in out or "pruned" in out
    assert "    rows   32\n" in out and "× the bound; proved: for all inputs" in out
    assert "of what any schedule can reach" in out or "what any schedule needs at least" in out
    assert "what each decision of the best is worth" in out
    assert gemm.read_bytes() == before


@pytest.mark.slow
def test_write_adds_a_branch_and_keeps_the_holes(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = output([str(gemm), "--write"], capsys)
    notebook = evaluate(load_document(gemm))
    assert [b.name for b in branches(notebook.document)] == ["main", "found"] and "branch 'found'" in out
    assert notebook.error is None and "rows = 32\n" in notebook.document.text


def test_auto_writes_the_best_derived_schedule_to_the_output(
    double: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = tmp_path / "best.py"
    text = double.read_text()
    double.write_text(text[: text.index("# %% schedule")])
    out = output([str(double), "--auto", "-o", str(best)], capsys)
    assert "decisions:\n  tiles of B" in out and "\nleft out:\n" in out and f"was written to {best}" in out
    notebook = evaluate(load_document(best))
    assert notebook.error is None and "choose(" not in notebook.document.text
    assert "pipeline of i_o in up to 2 stages" in notebook.document.text
    assert "sch.pipeline(i_o, stages" in notebook.document.text


@pytest.mark.slow
def test_json_is_the_study(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = json.loads(output([str(gemm), "--json", "--objective", "cycles,peak local.scratchpad"], capsys))
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


@pytest.mark.slow
def test_a_study_is_resumed(double: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = [*range(25)]
    marks = "".join(f'{x} = tilewright.choose("{x}", {values})\nsch.annotate(io, "{x}", {x})\n' for x in "pq")
    double.write_text(double.read_text() + marks)
    store = ["--study", str(tmp_path / "study.sqlite"), "--json", "--no-database"]
    few = json.loads(output([str(double), *store, "--trials", "8"], capsys))
    assert few["method"] == "tpe" and len(few["trials"]) == 8 < few["candidates"]
    more = json.loads(output([str(double), *store, "--trials", "16"], capsys))
    assert more["trials"][:8] == few["trials"] and len(more["trials"]) == 16
    assert "other-study" in output([str(double), *store, "--seed", "1"], capsys, 2)


@pytest.mark.slow
def test_a_time_limit_ends_a_search(gemm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = ["--study", str(tmp_path / "study.sqlite"), "--workers", "0", "--json"]
    assert main(["explore", str(gemm), *study, "--seconds", "0.0001"]) in (0, 1)  # no time for more than the first
    short = json.loads(capsys.readouterr().out)
    assert short["ended"] and len(short["trials"]) <= 1 and short["settings"]["seconds"] == 0.0001
    assert len(json.loads(output([str(gemm), *study], capsys))["trials"]) > 1


def test_a_space_where_nothing_fits_exits_with_1_and_the_reason(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = output([str(gemm), "--budget", "peak local.scratchpad=64"], capsys, 1)
    assert "no feasible candidate" in out and "6 × budget: peak local.scratchpad of" in out and "at most 64" in out


@pytest.mark.slow
def test_pins_are_kept(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = output([str(gemm), "--keep", "rows=8", "--write"], capsys)
    assert "2 of 2 candidates evaluated (all)" in out and "kept: rows = 8\n" in out
    notebook = evaluate(load_document(gemm))
    assert notebook.error is None and "rows = 8\n" in notebook.document.text
    order = ["--keep", "order=['jo', 'io', 'ko']"]
    study = json.loads(output([f"{gemm}@main", "--json", "--keep", " rows = 16, 32", *order], capsys))
    assert study["keep"] == {"rows": ["16", "32"], "order": ['["jo", "io", "ko"]']} and study["candidates"] == 2
    assert {offer["values"]["order"] for offer in study["offers"]} == {'["jo", "io", "ko"]'}
    resumed = ["--study", str(gemm.with_suffix(".sqlite")), "--json"]
    one = json.loads(output([f"{gemm}@main", *resumed, "--keep", "rows=16,32"], capsys))
    assert json.loads(output([f"{gemm}@main", *resumed, "--keep", "rows=[16, 32]"], capsys)) == one
    assert "other-study" in output([f"{gemm}@main", *resumed, "--keep", "rows=16"], capsys, 2)


@pytest.mark.slow
def test_a_derivation_keeps_pins(double: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = json.loads(output([str(double), "--auto", "--keep", "tile i=64", "--json"], capsys))
    assert study["keep"] == {"tile i": ["64"]} and study["offers"] and study["decisions"] and study["left_out"]
    assert all(offer["values"]["tile i"] == "64" for offer in study["offers"])
    printed = output([str(double), "--auto", "--keep", "tile i=17"], capsys, 2)
    assert "no-such-value" in printed and "17 is not a value of 'tile i'" in printed


@pytest.mark.parametrize(
    ("pin", "expected"),
    [
        ("rows=48", ("no-such-value", "48 is not a value of 'rows'", "16, 8, 32")),
        ("rows=all of them", ("no-such-value", "16, 8, 32")),
        ("tile=16", ("no-such-hole", "there is no hole 'tile'", "rows, order")),
        ("rows", ("not HOLE=VALUE",)),
    ],
)
def test_an_invalid_pin_exits_with_2_and_the_choices(
    gemm: Path, pin: str, expected: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    out = output([str(gemm), "--keep", pin], capsys, 2)
    assert all(text in out for text in expected), out


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("argv", "expected"),
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
def test_an_invalid_option_exits_with_2_and_the_reason(
    double: Path, argv: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", str(double), *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and expected in captured.err and "Traceback" not in captured.err
