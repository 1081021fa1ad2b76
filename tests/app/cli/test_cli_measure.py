"""`tilewright measure`: which schedules are measured, what is printed, and what is kept for `run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright.app.cli import main

pytest.importorskip("tvm")

NOTEBOOK = '''"""Scale."""

import tilewright
from tvm.script import tir as T

# %% workload
@T.prim_func
def scale(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)

# %% branch: wide
# # %% schedule
# sch = tilewright.Schedule(scale)
# i, j = sch.get_loops("b")
# sch.vectorize(j)

# %% branch (current): main
# %% schedule
sch = tilewright.Schedule(scale)
i, j = sch.get_loops("b")
i0, i1 = sch.split(i, [2, 4])
sch.reorder(i1, i0)
'''


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_STATE_DIR", str(tmp_path / "state"))
    path = tmp_path / "scale.py"
    path.write_text(NOTEBOOK)
    return path


def measured(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert main(["measure", *arguments, "--seconds", "0.05", "--json"]) == 0
    rows: list[dict[str, object]] = json.loads(capsys.readouterr().out)["schedules"]
    return rows


def test_the_branches_are_measured_with_predictions(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = measured(capsys, str(file), "--schedules", "all")
    assert [row["name"] for row in rows] == ["start", "wide", "main"]
    for row in rows:
        assert row["difference"] == "" and isinstance(row["cycles"], int) and row["cycles"] > 0
        warm = row["warm"]
        assert isinstance(warm, dict) and warm["median"] > 0
        assert row["predicted_to_measured"] == pytest.approx(row["predicted_us"] / warm["median"])


def test_steps_that_change_nothing_are_not_measured(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["name"] for row in measured(capsys, str(file), "--schedules", "steps")] == ["start", "step 2", "step 3"]


def test_run_shows_the_time_that_was_measured(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(file)]) == 0
    assert "measured on" not in capsys.readouterr().out
    assert main(["measure", str(file), "--seconds", "0.05"]) == 0
    table = capsys.readouterr().out
    assert "cpu-core predicts" in table and "\nschedule " in table and "LLVM" in table
    assert main(["run", str(file)]) == 0
    assert "\nmeasured on " in capsys.readouterr().out
    assert main(["run", f"{file}@wide"]) == 0
    assert "measured on" not in capsys.readouterr().out


def test_a_schedule_for_threads_has_its_reason_in_place_of_a_time(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(
        NOTEBOOK.replace("i0, i1 = sch.split(i, [2, 4])\nsch.reorder(i1, i0)", 'sch.bind(i, "threadIdx.x")')
    )
    assert main(["measure", str(file), "--seconds", "0.05"]) == 1
    assert "loops are bound to threadIdx.x" in capsys.readouterr().out


HOLES = (
    NOTEBOOK[: NOTEBOOK.index("# %% branch: wide")]
    + """# %% schedule
sch = tilewright.Schedule(scale)
i, j = sch.get_loops("b")
rows = tilewright.choose("rows", [2, 4])
i0, i1 = sch.split(i, [None, rows])
sch.vectorize(j)
"""
)


def test_a_search_writes_the_fastest_of_the_measured_candidates(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(HOLES)
    best = tmp_path / "best.py"
    options = ["--machine", "cpu-core", "--workers", "0", "--measure", "5", "--json", "-o", str(best)]
    assert main(["explore", str(file), *options]) == 0
    printed = json.loads(capsys.readouterr().out)
    program, *timed = printed["measured"]["schedules"]
    assert program["name"] == "start" and program["cycles"] is None
    assert {row["name"] for row in timed} == {"#0", "#1"} and all(row["difference"] == "" for row in timed)
    assert [row["cycles"] for row in timed] == sorted(row["cycles"] for row in timed)
    fastest = min(timed, key=lambda row: row["warm"]["median"])
    values = {trial["number"]: trial["point"] for trial in printed["trials"]}
    rows = [2, 4][values[int(fastest["name"].removeprefix("#"))][0]]
    assert f"rows = {rows}\n" in best.read_text()
