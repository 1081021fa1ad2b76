"""`tilewright import` and `tilewright new` write notebooks that the app reads and Python runs."""

from __future__ import annotations

import io
import json
import runpy
from pathlib import Path

import pytest
from support.pasted.relax_modules import OPEN
from support.programs.sources import MATMUL
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.cli import main
from tilewright.app.cli.commands.new import templates
from tilewright.app.document import evaluate, read_document
from tilewright.app.document.networks import load_network
from tilewright.engine.schedule import Schedule

TE = """\
from tvm import te

n = 64
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
s = te.create_schedule(B.op)
xo, xi = s[B].split(B.op.axis[0], factor=16)
"""

CLASSIC = """\
import tvm
from tvm.script import tir as T, ir as I


@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):  # keep me
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + T.float32(1)
"""

POST = (
    MATMUL
    + """
sch = tvm.tir.Schedule(matmul)
b = sch.get_block("C")
i, j, k = sch.get_loops(b)
ko, ki = sch.split(k, factors=[None, 16])
"""
)

# As `json.dumps(sch.trace.as_json())` of TVM 0.27 has it; TVM calls the one function of a schedule "main".
TRACE = """\
[[["GetSBlock", [], ["C", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
["Split", ["l3", "None", 16], [true, false], ["l4", "l5"]], ["Reorder", ["l1", "l4", "l2", "l5"], [], []],
["CacheRead", ["b0", []], [0, "global"], ["b6"]], ["ComputeAt", ["b6", "l4"], [0, -1], []]], []]
"""


def import_text(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, *more: str) -> str:
    """The notebook that `import` writes for a text."""
    file = tmp_path / "source.txt"
    file.write_text(text, encoding="utf-8")
    assert main(["import", str(file), *more]) == 0
    return capsys.readouterr().out


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("text", "steps"),
    [(MATMUL, 0), (CLASSIC, 0), (TE, 3), (POST, 3), (MATMUL_NOTEBOOK, 4)],
    ids=["script", "classic", "te", "post", "notebook"],
)
def test_imported_code_is_a_notebook_that_python_runs(
    text: str, steps: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = import_text(capsys, tmp_path, text)
    notebook = evaluate(read_document(imported))
    assert notebook.error is None and notebook.schedule is not None and len(notebook.steps) == steps
    assert [cell.kind for cell in notebook.document.cells if cell.kind in ("machine", "workload", "schedule")] == [
        "machine",
        "workload",
        "schedule",
    ]
    file = tmp_path / "made.py"
    file.write_text(imported, encoding="utf-8")
    assert isinstance(runpy.run_path(str(file))["sch"], Schedule)
    capsys.readouterr()
    assert import_text(capsys, tmp_path, imported) == imported, "a notebook stays as it is"


def test_the_open_sizes_of_a_model_are_kept_in_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "open.py").write_text(OPEN)
    assert main(["import", str(tmp_path / "open.py"), "-o", str(tmp_path / "bare")]) == 0
    assert "--size n=128" in capsys.readouterr().out
    assert main(["import", str(tmp_path / "open.py"), "-o", str(tmp_path / "sized"), "--size", "n=64"]) == 0
    assert load_network(tmp_path / "sized").sizes == {"n": 64}
    assert main(["network", str(tmp_path / "sized")]) == 0
    assert main(["network", str(tmp_path / "bare")]) == 2


def test_a_classic_module_keeps_its_comments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported = import_text(capsys, tmp_path, CLASSIC)
    assert "# keep me" in imported and "tvm" not in imported.replace("tilewright", "")


@pytest.mark.parametrize("program", [MATMUL, MATMUL_NOTEBOOK, POST], ids=["script", "notebook", "post"])
def test_a_trace_with_its_program_becomes_lines(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "program.py"
    source.write_text(program, encoding="utf-8")
    imported = import_text(capsys, tmp_path, TRACE, "--program", str(source))
    notebook = evaluate(read_document(imported))
    assert notebook.error is None
    assert [step.call.method for step in notebook.steps] == [
        "get_block",
        "get_loops",
        "split",
        "reorder",
        "cache_read",
        "compute_at",
    ]


def test_a_trace_alone_exits_with_2_and_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.json"
    file.write_text(TRACE, encoding="utf-8")
    assert main(["import", str(file), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "no-program" and "--program" in error["fix"][0]
    file.write_text("[1, 2", encoding="utf-8")
    (tmp_path / "p.py").write_text(MATMUL, encoding="utf-8")
    assert main(["import", str(file), "--program", str(tmp_path / "p.py")]) == 2
    assert main(["import", str(tmp_path / "p.py"), "--program", str(tmp_path / "p.py")]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not-a-program"),
        (b"\xff\xfe\x00", "not-utf-8"),
        (b"\x00" * 9, "syntax"),
        (b"[" * 5000, "not-a-trace"),
        (b"[[], [4]]", "not-a-trace"),
        (b'[[["ReIndex", ["b0"], [0, {"a": 0}], ["b7"]]], []]', "not-a-trace"),
        (b"(" * 400 + b")" * 400, "syntax"),
        (b"[1, 2" + b"0" * 9000 + b"]", "not-a-trace"),
    ],
)
def test_any_file_with_json_gives_json_errors(
    data: bytes, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.py").write_text(MATMUL, encoding="utf-8")
    (tmp_path / "any").write_bytes(data)
    program = ["--program", str(tmp_path / "p.py")] if data.startswith(b"[") else []
    assert main(["import", str(tmp_path / "any"), "--json", *program]) == 2
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert error["code"] == code and error["message"] in captured.err and "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (KeyError("a missing check"), "internal-error"),
        (RecursionError(), "too-deep"),
        (MemoryError(), "too-large"),
        (OSError("no such device"), "os-error"),
    ],
)
@pytest.mark.parametrize("command", ["import", "run", "check", "lint", "lower", "export"])
def test_an_internal_error_is_json_without_a_traceback(
    command: str, fault: BaseException, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("tilewright.app.cli.opened.load", fail)
    words = [command, "any.py", *(["--json"] if command != "export" else [])]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("tilewright: ") and "Traceback" not in captured.err
    if command != "export":
        assert json.loads(captured.out)["error"]["code"] == code


def test_import_accepts_standard_input_json_and_a_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TE.encode())))
    assert main(["import", "-", "--json", "--machine", "gemmini"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert 'tilewright.machine("gemmini")' in data["text"] and data["output"] is None and len(data["steps"]) == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TE.encode())))
    assert main(["import", "-", "--machine", "toaster"]) == 2
    capsys.readouterr()


def test_an_existing_file_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "notebook.py"
    assert main(["new", str(out)]) == 0
    first = out.read_text(encoding="utf-8")
    assert main(["new", str(out), "--template", "conv2d", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "file-exists"
    assert out.read_text(encoding="utf-8") == first
    assert main(["new", str(out), "--template", "conv2d", "--force"]) == 0
    assert "conv2d" in out.read_text(encoding="utf-8")


@pytest.mark.sample(15)
@pytest.mark.parametrize("name", sorted(templates()))
def test_every_template_is_a_notebook_without_errors(name: str) -> None:
    notebook = evaluate(read_document(templates()[name]))
    assert notebook.error is None and notebook.schedule is not None and notebook.machine is not None


@pytest.mark.parametrize(
    "name",
    ["matmul", *(pytest.param(n, marks=pytest.mark.slow) for n in ("matmul_relu", "conv2d", "softmax", "transpose"))],
)
def test_every_template_runs_on_its_machine(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "notebook.py"
    assert main(["new", str(out), "--template", name]) == 0
    assert main(["run", str(out), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["cycles"] > 0 and data["verified"] == "proved"


def test_new_lists_names_and_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "--list", "--json"]) == 0
    names = {entry["name"]: entry["title"] for entry in json.loads(capsys.readouterr().out)}
    assert names["matmul"] == "A product of two matrices" and "vtcm_double_buffer" in names
    assert main(["new", "--list"]) == 0
    assert "A product of two matrices" in capsys.readouterr().out
    assert main(["new", "x.py", "--template", "nothing"]) == 2
    assert "matmul" in capsys.readouterr().err


def test_new_copies_a_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "te.py", tmp_path / "out.py"
    source.write_text(TE, encoding="utf-8")
    assert main(["new", str(out), "--source", str(source), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["output"] == str(out) and out.read_text(encoding="utf-8") == data["text"]
