"""`tilewright database`, and the database that `explore` and `network` use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.sessions.searching import DOUBLE

from tilewright.app.cli import main
from tilewright.app.storage.databases import DatabaseChoice, folder_database

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.fixture
def double(tmp_path: Path) -> Path:
    """A program of one loop with a hole for its tile."""
    file = tmp_path / "double.py"
    hole = 'rows = tilewright.choose("rows", [16, 8, 32])\nio, ii = sch.split(i, factors=[None, rows]'
    file.write_text(DOUBLE.replace("io, ii = sch.split(i, factors=[None, 16]", hole))
    return file


def output(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert main(list(argv)) == code
    out = capsys.readouterr()
    return out.out + out.err


def explored(capsys: pytest.CaptureFixture[str], file: Path, *more: str) -> str:
    return output(capsys, "explore", str(file), "--workers", "0", *more)


def test_the_next_search_in_the_folder_starts_from_the_last(double: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "starts from" not in explored(capsys, double)
    assert "starts from the schedule found before: double(A: 64 float32" in explored(capsys, double)
    again = json.loads(explored(capsys, double, "--json"))
    assert again["database"]["is_exact"] and again["database"]["file"] == str(folder_database(double))
    best = min(t["outcome"]["figures"]["cycles"] for t in again["trials"] if t["outcome"]["status"] == "fits")
    assert again["trials"][0]["outcome"]["figures"]["cycles"] == best == again["database"]["records"][0]["cycles"]
    assert not [file for file in double.parent.iterdir() if file != double], "nothing is written among the notebooks"


def test_another_folder_has_its_own_database(double: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explored(capsys, double)
    (tmp_path / "other").mkdir()
    other = Path(shutil.copy(double, tmp_path / "other"))
    assert "starts from" not in explored(capsys, other)


def test_no_database_reads_and_writes_nothing(double: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explored(capsys, double, "--no-database")
    assert not folder_database(double).exists()
    explored(capsys, double)
    assert "starts from" not in explored(capsys, double, "--no-database")


def test_folders_share_a_named_database(double: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team = str(tmp_path / "team.sqlite3")
    explored(capsys, double, "--database", team)
    (tmp_path / "other").mkdir()
    other = Path(shutil.copy(double, tmp_path / "other"))
    assert "starts from" in explored(capsys, other, "--database", team)
    assert not folder_database(double).exists() and not folder_database(other).exists()


def test_a_damaged_database_is_reported_and_the_search_continues(
    double: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "team.sqlite3"
    file.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4096)
    out = explored(capsys, double, "--database", str(file))
    assert "candidates evaluated" in out and "cannot be used as a database of found schedules" in out
    assert "the search goes on without it" in out
    assert "cannot be used" in output(capsys, "database", str(file), code=2)


def test_records_are_listed_shown_merged_and_removed(
    double: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no schedules found yet" in output(capsys, "database", str(double))
    explored(capsys, double)
    listed = output(capsys, "database", str(double.parent))
    assert "1 schedules" in listed and "double(A: 64 float32, B: 64 float32)" in listed
    shown = output(capsys, "database", str(double), "--show", "1")
    assert "sch.split(i, factors=[None, rows]" in shown and 'tilewright.choose("rows", [' in shown
    team = str(tmp_path / "team.sqlite3")
    assert "1 new or faster" in output(capsys, "database", team, "--merge", str(double))
    assert "0 new or faster" in output(capsys, "database", team, "--merge", str(double))
    found = json.loads(output(capsys, "database", team, "--json"))
    assert [record["machine"] for record in found["records"]] == ["dual-bank-npu"]
    assert "has no schedule 2" in output(capsys, "database", team, "--remove", "2", code=2)
    assert "1 removed" in output(capsys, "database", team, "--remove", "1")
    assert "no schedules found yet" in output(capsys, "database", team)
    assert "there is no file" in output(capsys, "database", str(tmp_path / "none"), code=2)


def test_a_kernel_uses_the_database_of_its_model(tmp_path: Path) -> None:
    kernel = tmp_path / "net" / "kernels" / "gemm.py"
    kernel.parent.mkdir(parents=True)
    (tmp_path / "net" / "model.py").write_text("")
    assert (
        folder_database(kernel) == folder_database(tmp_path / "net" / "model.py") == folder_database(tmp_path / "net")
    )
    assert folder_database(kernel) != folder_database(tmp_path)


def test_a_notebook_without_a_file_uses_only_a_named_database(tmp_path: Path) -> None:
    assert DatabaseChoice().path_for(None) is None
    assert DatabaseChoice(is_off=True).path_for(tmp_path / "x.py") is None
    assert DatabaseChoice(str(tmp_path / "team")).path_for(None) == tmp_path / "team"
