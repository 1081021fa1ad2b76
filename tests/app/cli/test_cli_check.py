"""`tilewright check`: its exit codes and the text of each check."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.cli import main
from tilewright.app.cli.arguments import size_bytes

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"
OVERLAPPED = str(EXAMPLES / "vtcm_double_buffer.py")
CACHED = str(EXAMPLES / "cache_blocking.py")
ROUND_TRIP = str(EXAMPLES / "fused_matmul_relu_roundtrip.py")
OVERFLOWING = str(EXAMPLES / "place_the_copies.py")


def checks(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, dict[str, object]]]:
    """The exit code, and the checks of the one file by name."""
    code = main(["check", *argv, "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data["passed"] == (code == 0)
    return code, {check["name"]: check for check in data["files"][0]["checks"]}


def reported(capsys: pytest.CaptureFixture[str], file: str) -> dict[str, object]:
    main(["run", file, "--json"])
    return json.loads(capsys.readouterr().out)


def test_budgets_that_hold_exit_with_0_and_others_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(capsys, OVERLAPPED)
    cycles, memory = report["cycles"], report["memory"]
    assert isinstance(cycles, int) and isinstance(memory, dict)
    peak = memory["local.vtcm[0]"]["peak_bytes"]
    code, found = checks(capsys, OVERLAPPED, "--max-cycles", str(cycles), "--max-peak", f"local.vtcm={peak}B")
    assert code == 0 and all(check["passed"] for check in found.values())
    assert found["cycles"]["found"] == found["cycles"]["limit"] == cycles
    assert found["peak local.vtcm"]["found"] == peak
    code, found = checks(capsys, OVERLAPPED, "--max-cycles", str(cycles - 1))
    assert code == 1 and not found["cycles"]["passed"] and found["verified"]["passed"]
    code, found = checks(capsys, OVERLAPPED, "--max-peak", f"local.vtcm[1]={peak - 1}")
    assert code == 1 and not found["peak local.vtcm[1]"]["passed"]


def test_traffic_and_overlap_have_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(capsys, OVERLAPPED)
    traffic = report["traffic"]
    assert isinstance(traffic, list)
    moved = sum(row["bytes"] for row in traffic)
    assert checks(capsys, OVERLAPPED, "--max-traffic", str(moved), "--min-overlap", "60%")[0] == 0
    code, found = checks(capsys, OVERLAPPED, "--max-traffic", str(moved - 1), "--min-overlap", "90")
    assert code == 1 and not found["traffic"]["passed"] and not found["overlap"]["passed"]


@pytest.fixture
def without_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on accesses that the caches of CACHED exceed."""
    monkeypatch.setattr("tilewright.app.cli.opened.MAX_ACCESSES", 100)


@pytest.mark.usefixtures("without_misses")
def test_a_budget_on_cycles_without_cache_misses_fails_as_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(capsys, CACHED)
    cycles, unknown = report["cycles"], report["unknown"]
    assert isinstance(cycles, int) and isinstance(unknown, dict)
    assert unknown["figures"] == ["cycles", "overlap"] and "100 single accesses" in unknown["reason"]
    code, found = checks(capsys, CACHED, "--max-cycles", str(2 * cycles), "--min-overlap", "0", "--max-traffic", "1G")
    assert code == 1
    for name in ("cycles", "overlap"):
        assert not found[name]["passed"] and found[name]["unknown"]
        assert str(found[name]["detail"]).startswith("unknown: ") and unknown["reason"] in str(found[name]["detail"])
    assert found["traffic"]["passed"] and not found["traffic"]["unknown"]
    code, found = checks(capsys, CACHED, "--max-cycles", str(cycles - 1))
    assert code == 1 and not found["cycles"]["unknown"], "misses only add cycles"
    assert main(["check", CACHED, "--max-cycles", str(2 * cycles)]) == 1
    assert "cycles without cache misses" in (text := capsys.readouterr().out) and "unknown: " in text


def test_known_cycles_are_marked_as_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(capsys, OVERLAPPED)["unknown"] is None
    assert not checks(capsys, OVERLAPPED, "--max-cycles", "1")[1]["cycles"]["unknown"]


def test_an_overflowing_memory_fails_without_a_budget(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = checks(capsys, OVERFLOWING)
    assert code == 1 and not found["fits"]["passed"] and "524,288 of 131,072" in str(found["fits"]["detail"])
    assert checks(capsys, OVERLAPPED)[0] == 0


def test_findings_of_the_given_severity_fail(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = checks(capsys, ROUND_TRIP, "--lint", "warning")
    assert code == 1 and "round-trip" in str(found["lint"]["detail"])
    assert checks(capsys, ROUND_TRIP, "--lint", "error")[0] == 0


def test_the_worst_of_several_files_decides_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused, broken = tmp_path / "refused.py", tmp_path / "broken.py"
    refused.write_text(with_lines("sch.fuse(i, ki)"), encoding="utf-8")
    broken.write_text(with_lines("sch.no_such_call(i)"), encoding="utf-8")
    assert main(["check", str(refused), OVERLAPPED, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [file["passed"] for file in data["files"]] == [False, True]
    assert data["files"][0]["error"]["code"] and data["files"][1]["checks"][0]["name"] == "verified"
    assert main(["check", str(broken), str(refused), OVERLAPPED]) == 2
    out = capsys.readouterr().out
    assert out.count("FAIL") == 2 and "ok    verified" in out and "\x1b" not in out


def test_a_verdict_tested_but_not_proved_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright.engine.execute import Verdict
    from tilewright.engine.schedule import Schedule

    file = tmp_path / "notebook.py"
    file.write_text(MATMUL_NOTEBOOK, encoding="utf-8")
    for status, plain, strict in (("proved", 0, 0), ("tested", 0, 1), ("failed", 1, 1), ("unknown", 1, 1)):
        monkeypatch.setattr(Schedule, "check", lambda *_, outcome=status: Verdict(status=outcome, detail=""))
        assert main(["check", str(file)]) == plain, status
        assert main(["check", str(file), "--require", "proved"]) == strict, status
    capsys.readouterr()


def test_a_step_or_a_branch_can_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notebook.py"
    branch = (
        "\n# %% branch: other\n# # %% schedule\n# sch = tilewright.Schedule(matmul)\n\n# %% branch (current): main\n"
    )
    file.write_text(
        with_lines('CL = sch.cache_write(C, 0, "local.nowhere")').replace("\n# %% report", f"{branch}\n# %% report"),
        encoding="utf-8",
    )
    assert main(["check", str(file)]) == 1, "there is no such memory"
    assert main(["check", f"{file}@start"]) == 0
    assert main(["check", f"{file}@4"]) == 0
    assert main(["check", f"{file}@other"]) == 0
    assert main(["check", f"{file}@nobody"]) == 2
    assert main(["check", f"{file}@99"]) == 2
    capsys.readouterr()


def test_a_budget_for_an_unknown_memory_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", OVERLAPPED, "--max-peak", "vtcm=1K", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["files"][0]["error"]
    assert error["code"] == "unknown-memory" and "local.vtcm[0]" in error["expected"]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64KiB", 65536),
        ("64K", 65536),
        ("64 kib", 65536),
        ("65536", 65536),
        ("1.5MiB", 3 << 19),
        ("2GB", 2 * 10**9),
        ("7B", 7),
    ],
)
def test_sizes_parse_with_their_units(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["9" * 5_000, "1" * 400 + "GiB", "", "KiB", "-1", "64 Kibble", "1e3"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        size_bytes(text)


@pytest.mark.parametrize("option", [["--max-peak", "64KiB"], ["--max-cycles", "many"], ["--min-overlap", "120"]])
def test_an_invalid_budget_is_a_usage_error(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", OVERLAPPED, *option]) == 2
    assert option[0] in capsys.readouterr().err


def test_an_unknown_memory_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", OVERLAPPED, "--max-peak", "vtcm=1KiB"]) == 2
    printed = capsys.readouterr().out
    assert "no memory 'vtcm'" in printed and "expected: " in printed and "local.vtcm" in printed
