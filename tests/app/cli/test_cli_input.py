"""The inputs of the commands: a path, standard input or a link, with a step or a branch. One rule for all commands."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs.sources import MATMUL
from support.sessions.searching import DOUBLE

from tilewright.app.cli import main
from tilewright.app.document.files.read_write import MAX_BYTES
from tilewright.app.links import fragment_of

TE = """\
A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
s = te.create_schedule(B.op)
"""
CACHED = DOUBLE.replace("64", "512") + 'BL = sch.cache_write(B, 0, "local.vtcm")\n'
LINK = f"http://127.0.0.1:5006/{fragment_of(CACHED)}"

Pipe = Callable[[str | bytes], None]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Pipe:
    """Puts a text into standard input, which can be read once."""

    def put(text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    return put


READERS = [
    ["run"],
    ["check", "--max-cycles", "1000000000"],
    ["lint"],
    ["export"],
    ["export", "--to", "tilewright"],
    ["export", "--to", "link"],
    ["lower"],
    ["diff", "--json"],
    ["import"],
    ["explore", "--auto", "--trials", "2", "--workers", "0"],
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_file_standard_input_and_a_link_give_the_same_result(
    words: list[str], tmp_path: Path, pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(CACHED, encoding="utf-8")
    code = main([*words, str(file)])
    captured = capsys.readouterr()
    assert code in (0, 1) and captured.out, captured.err
    for name, piped in (("-", CACHED), ("-", f"{LINK}\n"), (LINK, "")):
        pipe(piped)
        assert main([*words, name]) == code
        assert capsys.readouterr().out == captured.out.replace(str(file), name)


def test_standard_input_is_read_once_for_all_its_steps(pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    pipe(CACHED)
    assert main(["run", "-@start", "--json"]) == 0
    pipe(CACHED)
    assert main(["diff", "-@1", "-@2", "--json"]) in (0, 1)
    pipe(CACHED)
    assert main(["diff", "-", "-", "--json"]) == 0
    pipe(CACHED)
    assert main(["run", "-@99"]) == 2
    assert "- has no step 99" in capsys.readouterr().err


def test_standard_input_can_be_one_of_two_files(tmp_path: Path, pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(DOUBLE, encoding="utf-8")
    pipe(CACHED)
    assert main(["diff", str(file), "-", "--json"]) == 1
    assert not json.loads(capsys.readouterr().out)["same"]
    pipe(CACHED)
    assert main(["check", str(file), "-", "--json"]) == 0
    assert [found["file"] for found in json.loads(capsys.readouterr().out)["files"]] == [str(file), "-"]


@pytest.mark.parametrize("text", [MATMUL, TE], ids=["script", "te"])
def test_pasted_code_on_standard_input_runs(text: str, pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    pipe(text)
    assert main(["run", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cycles"] > 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "no-workload"),
        (b"\xff\xfeM", "not-utf-8"),
        (b"\xe9", "not-utf-8"),
        (b"#" * (MAX_BYTES + 1), "file-too-large"),
    ],
)
def test_empty_standard_input_exits_with_2_and_the_reason(
    data: bytes, code: str, pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(data)
    assert main(["run", "-", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code


def test_closed_standard_input_exits_with_2_and_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["run", "-", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "no-such-file"


@pytest.mark.parametrize(
    "words", [["lint", "--fix"], ["explore", "--auto", "--trials", "1", "--workers", "0", "--write"]]
)
def test_standard_input_is_written_only_to_a_named_file(
    words: list[str], tmp_path: Path, pipe: Pipe, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pipe(CACHED)
    assert main([*words, "--json", "--", "-"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "no-path" and error["fix"] == ["-o FILE"]
    assert not list(tmp_path.iterdir())
    pipe(CACHED)
    assert main([*words, "-o", "better.py", "--json", "--", "-"]) in (0, 1)
    assert "sch.cache_write" in (tmp_path / "better.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["lint", "--fix"], ["explore", "--auto"]])
def test_a_step_where_a_whole_file_is_required_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(CACHED, encoding="utf-8")
    assert main([*words, f"{file}@1", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "not-a-whole" and error["fix"] == [str(file)]
    assert file.read_text(encoding="utf-8") == CACHED


def test_serve_refuses_standard_input_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "-"]) == 2
    assert "tilewright import - -o FILE" in capsys.readouterr().err
