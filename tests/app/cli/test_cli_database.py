"""`tilewright database`, and the database that `explore` and `network` use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tilewright.app.cli import main
from tilewright.app.storage.databases import DatabaseChoice, folder_database

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.fixture
def gemm(tmp_path: Path) -> Path:
    """The example on Gemmini, small, with the rows of its tiles to choose."""
    file = Path(shutil.copy(EXAMPLES / "gemmini_gemm.py", tmp_path))
    text = file.read_text().replace("512, 512, 512", "128, 128, 128").replace("(512, 512)", "(128, 128)")
    hole = 'rows = tilewright.choose("rows", [16, 64, 128])\nio, ii = sch.split(i, [None, rows]'
    file.write_text(text.replace("io, ii = sch.split(i, [None, 64]", hole))
    return file


def said(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert main(list(argv)) == code
    out = capsys.readouterr()
    return out.out + out.err


def explored(capsys: pytest.CaptureFixture[str], file: Path, *more: str) -> str:
    return said(capsys, "explore", str(file), "--workers", "0", *more)


def test_given_a_search_then_the_next_one_in_the_folder_starts_from_it(
    gemm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "starts from" not in explored(capsys, gemm)
    assert "starts from the schedule found before: gemm(A: 128×128 int8" in explored(capsys, gemm)
    again = json.loads(explored(capsys, gemm, "--json"))
    assert again["database"]["is_exact"] and again["database"]["file"] == str(folder_database(gemm))
    best = min(t["outcome"]["figures"]["cycles"] for t in again["trials"] if t["outcome"]["status"] == "fits")
    assert again["trials"][0]["outcome"]["figures"]["cycles"] == best == again["database"]["records"][0]["cycles"]
    assert not [file for file in gemm.parent.iterdir() if file != gemm], "nothing is written among the notebooks"


def test_given_another_folder_then_nothing_of_this_one_is_read(
    gemm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explored(capsys, gemm)
    (tmp_path / "other").mkdir()
    other = Path(shutil.copy(gemm, tmp_path / "other"))
    assert "starts from" not in explored(capsys, other)


def test_given_no_database_then_nothing_is_read_or_written(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explored(capsys, gemm, "--no-database")
    assert not folder_database(gemm).exists()
    explored(capsys, gemm)
    assert "starts from" not in explored(capsys, gemm, "--no-database")


def test_given_a_file_then_folders_share_it(gemm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team = str(tmp_path / "team.sqlite3")
    explored(capsys, gemm, "--database", team)
    (tmp_path / "other").mkdir()
    other = Path(shutil.copy(gemm, tmp_path / "other"))
    assert "starts from" in explored(capsys, other, "--database", team)
    assert not folder_database(gemm).exists() and not folder_database(other).exists()


def test_given_a_damaged_file_then_the_search_reports_it_and_goes_on(
    gemm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "team.sqlite3"
    file.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4096)
    out = explored(capsys, gemm, "--database", str(file))
    assert "candidates evaluated" in out and "cannot be used as a database of found schedules" in out
    assert "the search goes on without it" in out
    assert "cannot be used" in said(capsys, "database", str(file), code=2)


def test_given_records_then_they_are_listed_shown_merged_and_removed(
    gemm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no schedules found yet" in said(capsys, "database", str(gemm))
    explored(capsys, gemm)
    listed = said(capsys, "database", str(gemm.parent))
    assert "1 schedules" in listed and "gemm(A: 128×128 int8, B: 128×128 int8, C: 128×128 int32)" in listed
    shown = said(capsys, "database", str(gemm), "--show", "1")
    assert "sch.split(i, [None, rows]" in shown and 'tilewright.choose("rows", [' in shown
    team = str(tmp_path / "team.sqlite3")
    assert "1 new or faster" in said(capsys, "database", team, "--merge", str(gemm))
    assert "0 new or faster" in said(capsys, "database", team, "--merge", str(gemm))
    found = json.loads(said(capsys, "database", team, "--json"))
    assert [record["machine"] for record in found["records"]] == ["gemmini"]
    assert "has no schedule 2" in said(capsys, "database", team, "--remove", "2", code=2)
    assert "1 removed" in said(capsys, "database", team, "--remove", "1")
    assert "no schedules found yet" in said(capsys, "database", team)
    assert "there is no file" in said(capsys, "database", str(tmp_path / "none"), code=2)


def test_given_a_kernel_of_a_model_then_the_database_is_that_of_the_model(tmp_path: Path) -> None:
    kernel = tmp_path / "net" / "kernels" / "gemm.py"
    kernel.parent.mkdir(parents=True)
    (tmp_path / "net" / "model.py").write_text("")
    assert (
        folder_database(kernel) == folder_database(tmp_path / "net" / "model.py") == folder_database(tmp_path / "net")
    )
    assert folder_database(kernel) != folder_database(tmp_path)


def test_given_a_notebook_without_a_file_then_there_is_no_database_unless_one_is_named(tmp_path: Path) -> None:
    assert DatabaseChoice().path_for(None) is None
    assert DatabaseChoice(is_off=True).path_for(tmp_path / "x.py") is None
    assert DatabaseChoice(str(tmp_path / "team")).path_for(None) == tmp_path / "team"
