"""`tilewright check --format` for code scanners, and --quiet and --verbose of every command."""

from __future__ import annotations

import json
import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from support.programs.sources import MATMUL
from support.programs.te_sources import MATMUL_VTCM
from support.sessions.notebooks import with_lines

from tilewright.app.cli import command_line, main
from tilewright.app.cli.findings import FileFinding, github_commands, sarif_log

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"
COMMAND = re.compile(
    r"::(?P<level>\w+) file=(?P<file>[^,:]*),line=(?P<line>\d+),col=(?P<column>\d+),title=(?P<title>[^,:]*)::(?P<text>.*)"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Examples with an overflow, with a round trip and without findings; a refused one, and one that is not Python."""
    for name in ("place_the_copies", "fused_matmul_relu_roundtrip", "fused_matmul_relu"):
        shutil.copy(EXAMPLES / f"{name}.py", tmp_path)
    (tmp_path / "refused, 100%.py").write_text(with_lines("sch.fuse(i, ki)"), encoding="utf-8")
    (tmp_path / "broken.py").write_text("sch.fuse(x", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line_with(file: Path, text: str) -> int:
    return next(n for n, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if text in line)


def printed(capsys: pytest.CaptureFixture[str], argv: list[str], code: int) -> str:
    assert main(["check", *argv]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.slow
def test_github_prints_a_command_at_the_line_of_each_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["place_the_copies.py", "fused_matmul_relu_roundtrip.py", "fused_matmul_relu.py", "refused, 100%.py"]
    out = printed(capsys, [*files, "--lint", "warning", "--format", "github"], 1)
    found = [match for line in out.splitlines() if (match := COMMAND.fullmatch(line))]
    assert len(found) == len(out.splitlines())
    schedule = line_with(folder / files[0], "# %% schedule") + 1
    refused = line_with(folder / files[3], "sch.fuse(i, ki)")
    assert [(m["level"], m["file"], m["title"]) for m in found] == [
        ("error", files[0], "tilewright%3A fits"),
        ("error", files[0], "tilewright%3A capacity-overflow"),
        ("warning", files[1], "tilewright%3A round-trip"),
        ("error", "refused%2C 100%25.py", "tilewright%3A not-nested"),
    ]
    assert int(found[0]["line"]) == schedule and int(found[3]["line"]) == refused
    # The line that created the block of the finding.
    assert int(found[2]["line"]) == line_with(folder / files[1], "mm_back = sch.cache_read(compute, 0")
    assert "%0Afix: sch.compute_inline" in found[2]["text"]


def test_a_finding_of_a_converted_file_is_at_its_first_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of the converted notebook differ from those of the file."""
    file = tmp_path / "te.py"
    file.write_text(MATMUL_VTCM, encoding="utf-8")
    sizes = ["--size", "M=64,K=64,N=64"]
    assert main(["check", str(file), *sizes, "--max-cycles", "1", "--format", "github"]) == 1
    assert ",line=1,col=1,title=tilewright%3A cycles::cycles over budget: " in capsys.readouterr().out


def test_github_prints_nothing_without_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, ["fused_matmul_relu.py", "--format", "github"], 0) == ""


def test_sarif_is_a_log_of_the_standard(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absolute = str(folder / "fused_matmul_relu_roundtrip.py")
    files = ["place_the_copies.py", absolute, "refused, 100%.py", "broken.py", "none.py"]
    data = json.loads(printed(capsys, [*files, "--lint", "warning", "--max-cycles", "1", "--format", "sarif"], 2))
    assert_sarif(data)
    (run,) = data["runs"]
    assert run["tool"]["driver"]["version"] == metadata.version("tilewright")
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    uris = [place["artifactLocation"]["uri"] for place in places]
    assert set(map(unquote, uris)) == {files[0], Path(absolute).as_uri(), *files[2:]}
    assert {result["ruleId"] for result in run["results"]} == {
        *("fits", "cycles", "capacity-overflow", "round-trip", "not-nested", "syntax", "no-such-file"),
    }
    syntax = next(place for place, uri in zip(places, uris, strict=True) if uri == "broken.py")
    assert syntax["region"] == {"startLine": 1, "startColumn": 9}


def assert_sarif(data: dict[str, Any]) -> None:
    """The requirements of SARIF 2.1.0 (3.13, 3.14, 3.19, 3.27, 3.30) on the written properties; no other property is allowed."""
    assert data.keys() == {"$schema", "version", "runs"} and data["version"] == "2.1.0"
    assert urlsplit(data["$schema"]).path.endswith("/sarif-schema-2.1.0.json")
    for run in data["runs"]:
        assert run.keys() == {"tool", "columnKind", "results"} and run["columnKind"] == "unicodeCodePoints"
        driver = run["tool"]["driver"]
        assert driver["name"] == "Tilewright" and all(rule["shortDescription"]["text"] for rule in driver["rules"])
        rules = [rule["id"] for rule in driver["rules"]]
        assert len(set(rules)) == len(rules)
        for result in run["results"]:
            assert result.keys() == {"ruleId", "ruleIndex", "level", "message", "locations"}
            assert rules[result["ruleIndex"]] == result["ruleId"]
            assert result["level"] in ("none", "note", "warning", "error") and result["message"]["text"]
            (location,) = result["locations"]
            place = location["physicalLocation"]
            assert not re.search(r'[\s%](?![0-9A-F]{2})|["<>\\^`{|}]', place["artifactLocation"]["uri"])
            assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1


def test_sarif_without_findings_has_no_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(printed(capsys, ["fused_matmul_relu.py", "--format", "sarif"], 0))
    assert_sarif(data)
    assert data["runs"][0]["results"] == []


def test_format_json_equals_the_json_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["place_the_copies.py", "refused, 100%.py"]
    out = printed(capsys, [*files, "--format", "json"], 1)
    assert out == printed(capsys, [*files, "--json"], 1)
    finding = json.loads(out)["files"][1]["findings"][0]
    assert finding == {
        **finding, "rule": "not-nested", "level": "error", "file": files[1],
        "line": line_with(folder / files[1], "sch.fuse(i, ki)"), "column": 1,
    }  # fmt: skip
    assert main(["check", *files, "--json", "--format", "sarif"]) == 2
    capsys.readouterr()


def test_special_characters_are_escaped() -> None:
    found = [FileFinding("rule", "note", "50 %: a\r\nb", "dir/a:b,c.py", 3, 4)]
    assert github_commands(found) == (
        "::notice file=dir/a%3Ab%2Cc.py,line=3,col=4,title=tilewright%3A rule::50 %25: a%0D%0Ab\n"
    )
    (result,) = sarif_log(found)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "dir/a%3Ab%2Cc.py"


# ---- --quiet and --verbose.

COMMANDS = (
    "serve",
    "run",
    "check",
    "lint",
    "diff",
    "explore",
    "export",
    "import",
    "new",
    "lower",
    "machines",
    "completion",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_accepts_either_option(command: str) -> None:
    words = {"completion": ["bash"], "machines": [], "serve": [], "new": []}.get(command, ["file.py"])
    for option in ("-q", "--quiet", "-v", "--verbose"):
        read = command_line().parse_args([command, *words, option])
        assert (read.quiet, read.verbose) == ("q" in option, "v" in option)


def test_quiet_omits_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "post.py"
    file.write_text("\n".join(line.lstrip() for line in MATMUL.splitlines()), encoding="utf-8")
    assert main(["export", str(file)]) == 0
    plain = capsys.readouterr()
    assert "tilewright: note: line " in plain.err
    assert main(["export", str(file), "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == (plain.out, "")


def test_quiet_prints_only_failures_and_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, ["fused_matmul_relu.py", "place_the_copies.py", "--quiet"], 1)
    assert [line.split()[0] for line in out.splitlines()] == ["place_the_copies.py:", "FAIL"]
    assert main(["run", "none.py", "-q"]) == 2
    assert "no-such-file" in capsys.readouterr().err


def test_verbose_prints_inputs_and_times_to_stderr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "fused_matmul_relu.py"]) == 0
    plain = capsys.readouterr()
    assert main(["run", "fused_matmul_relu.py", "--verbose"]) == 0
    verbose = capsys.readouterr()
    assert verbose.out == plain.out and plain.err == ""
    assert "tilewright: read fused_matmul_relu.py: " in verbose.err
    assert "tilewright: machine matrix-vector-npu: of the file\n" in verbose.err
    for part in ("verifying", "simulating on matrix-vector-npu", "total"):
        assert re.search(rf"^tilewright: {part}: \d+\.\d\d s$", verbose.err, re.MULTILINE)
    assert main(["run", "fused_matmul_relu.py"]) == 0
    assert capsys.readouterr().err == "", "the level is that of one command"
