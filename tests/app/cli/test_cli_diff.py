"""`tilewright diff`: the first difference of two programs, their texts, and their metrics side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.cli import main

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text(MATMUL_NOTEBOOK, encoding="utf-8")
    b.write_text(with_lines('CL = sch.cache_write(C, 0, "local.acc")'), encoding="utf-8")
    return str(a), str(b)


def test_diff_ignores_names(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.py"
    other.write_text(MATMUL_NOTEBOOK.replace("ko", "outer"), encoding="utf-8")
    assert main(["diff", files[0], str(other), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["same"] and data["first_difference"] is None
    assert main(["diff", files[0], files[0]]) == 0
    assert "the same" in capsys.readouterr().out


def test_diff_prints_place_text_and_metrics_and_exits_with_1(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *files, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert not data["same"] and data["first_difference"]["path"].startswith("functions[0]")
    added = [line for line in data["text"].splitlines() if line.startswith("+") and "CL" not in line]
    assert any("local.acc" in line for line in added) and data["text"].startswith(f"--- {files[0]}")
    for key, file in zip("ab", files, strict=True):
        main(["run", file, "--json"])
        assert json.loads(capsys.readouterr().out)["cycles"] == data[key]["cycles"]
    cycles = data["figures"][0]["lines"][0]
    assert cycles["label"] == "Cycles" and cycles["a"].replace("\u202f", "") == str(data["a"]["cycles"])


def test_unknown_cycles_are_not_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tilewright.app.cli.opened.MAX_ACCESSES", 100)
    cached = str(EXAMPLES / "cache_blocking.py")
    assert main(["diff", cached, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    line = data["figures"][0]["lines"][0]
    assert (line["change"], line["trend"]) == ("unknown", "same")
    assert line["b"].endswith("without cache misses") and "exclude cache misses" in data["b"]["unknown"]["reason"]
    assert main(["diff", cached]) == 1
    assert "the cycles exclude cache misses" in capsys.readouterr().out


def test_diff_compares_one_files_schedule_with_its_program(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", files[1]]) == 1
    out = capsys.readouterr().out
    assert f"--- {files[1]}@start" in out and "First difference" in out and "Cycles" in out and "\x1b" not in out
    assert main(["diff", f"{files[1]}@start", f"{files[0]}@start"]) == 0
    capsys.readouterr()


def test_diff_compares_programs_that_cannot_be_simulated(
    tmp_path: Path, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(with_lines('CL = sch.cache_write(C, 0, "local.nowhere")'), encoding="utf-8")
    assert main(["diff", files[0], str(bad)]) == 1
    assert "cannot be simulated" in capsys.readouterr().out
    assert main(["diff", files[0], str(bad), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["b"]["cycles"] is None and data["b"]["error"]["code"] and data["figures"] == []


def test_diff_of_a_missing_file_exits_with_2(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", files[0], "nowhere.py"]) == 2
    assert "nowhere.py" in capsys.readouterr().err


def test_diff_lists_the_peaks_of_both_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(EXAMPLES / "place_the_copies.py"), str(EXAMPLES / "vtcm_double_buffer.py"), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["a"]["peak_bytes"]["local.vtcm[0]"] > data["b"]["peak_bytes"]["local.vtcm[0]"] > 0
