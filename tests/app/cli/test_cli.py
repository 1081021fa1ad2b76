"""The output of the command line and its exit codes."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs.sources import MATMUL
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.cli import command_line, main
from tilewright.app.cli.commands.serve import free_port
from tilewright.app.cli.usage import read
from tilewright.app.document import evaluate, load_document

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    return write(tmp_path, with_lines('CL = sch.cache_write(C, 0, "local.acc")'))


def write(folder: Path, text: str) -> Path:
    file = folder / "notebook.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_run_json_has_the_documented_keys(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(notebook), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"cycles", "verified", "overlap", "engines", "memory", "traffic", "findings"} <= data.keys()
    assert isinstance(data["cycles"], int) and data["cycles"] > 0
    assert data["verified"] == "proved"
    assert 0 <= data["overlap"] <= 1
    for engine in data["engines"].values():
        assert isinstance(engine["busy"], int)
        assert all(isinstance(cycles, int) for cycles in engine["stall"].values())
    for entry in data["memory"].values():
        assert {"capacity_bytes", "peak_bytes"} <= entry.keys()
    for row in data["traffic"]:
        assert {"buffer", "source", "destination", "bytes"} <= row.keys()
    assert isinstance(data["findings"], list)


def test_run_prints_sensitivity_and_writes_a_trace(
    notebook: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json"
    assert main(["run", str(notebook), "--json", "--sensitivity", "--trace", str(trace)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"path", "value", "better", "cycles", "saved"} == set(data["sensitivity"][0])
    assert json.loads(trace.read_text())["otherData"]["cycles"] == str(data["cycles"])
    assert main(["run", str(notebook), "--sensitivity"]) == 0
    assert "instead of" in capsys.readouterr().out
    assert main(["run", str(notebook), "--trace", str(tmp_path / "no" / "where.json")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_run_prints_text_without_json(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(notebook)]) == 0
    out = capsys.readouterr().out
    assert "cycles" in out.splitlines()[0] and "proved" in out.splitlines()[0]


def test_run_names_the_line_behind_a_wait(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(EXAMPLES / "vtcm_double_buffer.py")
    assert main(["run", file, "--json"]) == 0
    (wait,) = json.loads(capsys.readouterr().out)["engines"]["matrix"]["waits"]
    step = wait["origin"]["step"]
    assert wait["origin"]["text"] == 'BL = sch.cache_read(C, 1, "local.vtcm")'
    assert evaluate(load_document(Path(file))).steps[step - 1].text == wait["origin"]["text"]
    assert main(["run", file]) == 0
    assert f'step {step}: BL = sch.cache_read(C, 1, "local.vtcm")' in capsys.readouterr().out


def test_lower_stops_after_the_named_pass(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lower", str(notebook)]) == 0
    flat = capsys.readouterr().out
    assert "sblock" not in flat and "for " in flat
    assert main(["lower", str(notebook), "--until", "LowerInitBlock"]) == 0
    assert "sblock" in capsys.readouterr().out
    assert main(["lower", str(notebook), "--until", "Flatten"]) == 2
    assert "FlattenBuffer" in capsys.readouterr().err


def test_another_machine_has_its_own_engines(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engines: list[set[str]] = []
    for machine in ("dual-bank-npu", "matrix-vector-npu"):
        main(["run", str(notebook), "--json", "--machine", machine])
        engines.append(set(json.loads(capsys.readouterr().out).get("engines", ())))
    assert engines[0] and engines[0] != engines[1]


def test_an_error_with_json_is_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, with_lines("sch.fuse(i, ki)"))
    assert main(["run", str(file), "--json"]) == 1
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert set(error) == {"code", "message", "found", "expected", "fix", "repair", "place"}
    assert error["place"]["file"] == str(file) and error["message"] in captured.err
    assert main(["run", str(tmp_path / "none.py"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "no-such-file"


def test_a_tvmscript_file_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(write(tmp_path, MATMUL)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"] == "proved"


def test_a_refused_call_exits_with_1_and_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, with_lines("sch.fuse(i, ki)"))
    assert main(["run", str(file)]) == 1
    captured = capsys.readouterr()
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "fuse" in text)
    assert captured.out == "" and f"notebook.py {line}:1" in captured.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MATMUL_NOTEBOOK.replace("C[vi, vj] +", "C[vi, vj] + Q +"), "Q"),
        (with_lines("sch.no_such_call(i)"), "no_such_call"),
        (with_lines("sch.split(nobody, factors=[2, None])"), "nobody"),
        ("", "no program"),
        ("\0", "notebook.py"),
        ("\x1b[2J", "\\x1b[2J"),
        (with_lines(f"sch.split(i, factors=[None, {10**30}])"), "too large"),
        (with_lines("sch = tilewright.Schedule(matmul)"), "already"),
        (MATMUL_NOTEBOOK.replace("A: T.Buffer((", "A: T.Buffer((-"), "negative"),
    ],
)
def test_bad_input_exits_with_2_and_the_reason(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(write(tmp_path, text))]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and expected in captured.err and "Traceback" not in captured.err


@pytest.mark.parametrize(
    "argv",
    [
        ["run", "no-such-file.py"],
        ["run", "."],
        ["export", "no-such-file.py", "--to", "tvm"],
        ["serve", "no-such-folder"],
    ],
)
def test_a_missing_path_exits_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert argv[1] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "expected", "tried"),
    [
        (["run"], "FILE", "tilewright run --help"),
        (["run", "x.py", "--machin=vta", "--sensitivty"], "--sensitivty", "--sensitivity"),
        (["run", "x.py", "y.py"], "y.py", "tilewright run --help"),
        (["exprot", "x.py"], "exprot", "export"),
        (["export", "x.py", "--to", "tree_svg"], "tree_svg", "tree-svg"),
        (["serve", "--port", "x"], "--port", "tilewright serve --help"),
    ],
)
def test_wrong_usage_exits_with_2_and_a_suggestion(
    argv: list[str], expected: str, tried: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*argv, "--json"]) == 2
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert error["code"] == "bad-usage" and expected in error["message"] and tried in error["fix"] and error["expected"]
    assert expected in captured.err and f"try:      {tried}" in captured.err


def test_no_arguments_list_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr().err
    assert "COMMAND" in printed and "exit codes:" in printed


COMMANDS = (
    "serve",
    "run",
    "check",
    "lint",
    "next",
    "explore",
    "diff",
    "export",
    "import",
    "new",
    "lower",
    "machines",
    "completion",
)


@pytest.mark.sample(10)
@pytest.mark.parametrize("command", COMMANDS)
def test_examples_in_help_parse_as_command_lines(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    about, examples = capsys.readouterr().out.split("examples:\n")
    assert about.split("\n\n")[1].endswith(".")
    for line in examples.strip().splitlines():
        words = shlex.split(re.sub(r" [<>] .*", "", line))
        assert words[:2] == ["tilewright", command]
        assert callable(read(command_line(), words[1:]).run), line


def test_a_misspelt_file_name_gets_a_suggestion(
    notebook: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path / "notebok.py")]) == 2
    assert f"try:      {notebook}" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "box_blur.py")]) == 2
    assert "tilewright new box_blur.py --template box_blur" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "no" / "where" / "x.py")]) == 2
    assert f"there is no folder {tmp_path / 'no'}" in capsys.readouterr().err


def test_an_unknown_machine_exits_with_2(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(notebook), "--machine", "toaster"]) == 2
    assert "toaster" in capsys.readouterr().err


def test_export_writes_python_to_stdout_or_a_file(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(notebook), "--to", "tvm"]) == 0
    text = capsys.readouterr().out
    compile(text, "exported.py", "exec")
    assert 'CL = sch.cache_write(C, 0, "local.acc")' in text
    out = notebook.parent / "out.py"
    assert main(["export", str(notebook), "--to", "tvm", "-o", str(out)]) == 0
    assert out.read_text() == text and capsys.readouterr().out == ""
    assert main(["export", str(notebook), "-o", str(notebook.parent / "no" / "out.py")]) == 2
    capsys.readouterr()
    assert main(["export", str(notebook), "--tvm", "0.22"]) == 0
    assert "sch = tir.Schedule(Module)" in capsys.readouterr().out
    assert main(["export", str(notebook), "--tvm", "0.5"]) == 2
    assert "block schedules" in capsys.readouterr().err


def test_export_to_c_prints_the_scheduled_loops(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(notebook), "--to", "c"]) == 0
    text = capsys.readouterr().out
    assert "#include <stdint.h>" in text and "_local_acc" in text and "const float *restrict A" in text


HUGE = MATMUL_NOTEBOOK.replace("(128, 128)", "(10000000, 10000000)")
NEVER = MATMUL_NOTEBOOK.replace("A[vi, vk]", "A[vi // (vk - vk), vk]")


def test_uncountable_cycles_exit_with_1_and_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, MATMUL_NOTEBOOK.replace("128", "100000000"))
    assert main(["run", str(file)]) == 1
    assert "cycles" in capsys.readouterr().err


@pytest.mark.parametrize("text", [HUGE, NEVER], ids=["huge", "divides by zero"])
def test_a_program_that_cannot_run_is_still_verified(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text != MATMUL_NOTEBOOK
    assert main(["run", str(write(tmp_path, text)), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["verified"] == "proved" and "for all inputs" in data["verified_detail"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_line_endings_do_not_change_the_cycles(
    ending: str, mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notebook.py"
    file.write_bytes((mark + MATMUL_NOTEBOOK.replace("\n", ending)).encode())
    assert main(["run", str(file), "--json"]) == 0
    cycles = json.loads(capsys.readouterr().out)["cycles"]
    main(["run", str(write(tmp_path, MATMUL_NOTEBOOK)), "--json"])
    assert cycles == json.loads(capsys.readouterr().out)["cycles"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_exits_with_2_and_the_reason(notebook: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", "run", str(notebook)], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2 and b"No space" in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of Unix")
def test_an_endless_file_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "/dev/zero"]) == 2
    assert "too large" in capsys.readouterr().err


def test_machines_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machines"]) == 0
    assert {"dual-bank-npu", "matrix-vector-npu"} <= set(capsys.readouterr().out.split())


def test_serve_reports_the_free_port_that_replaces_a_taken_one(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        found = free_port(port)
    assert found != port and str(found) in capsys.readouterr().err
    assert free_port(found) == found
    assert free_port(0) > 0
