"""Carriers open as notebooks on the page and on the command line: their programs, prose, notes and errors."""

from __future__ import annotations

import io
import json
import re
import zipfile
from base64 import b64encode
from html import escape
from pathlib import Path

import pytest
from support.pasted.carriers import SCHEDULE, TWICE, code, markdown, notebook
from support.pasted.old_graphs import twice_module
from support.pasted.relax_modules import HEAD, KERNELS, MAIN
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.actions.opening import OpenProgram, OpenText
from tilewright.app.actions.table import act
from tilewright.app.cli import main
from tilewright.app.document import DocumentError, converted, evaluate, load_document, read_document
from tilewright.app.limits import LIMITS
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.problems.value import problems_value
from tilewright.engine.ir import TilewrightError

TUTORIAL = notebook(
    markdown("# Twice\n\nA small program."),
    code("%matplotlib inline\nimport tvm\nfrom tvm.script import tir as T"),
    code(TWICE),
    code("print(twice)", [{"output_type": "stream", "name": "stdout", "text": ["x"]}]),
    code(SCHEDULE + "sch.mod.show()\n"),
    markdown("That was all."),
)
TWO = notebook(code(TWICE), code(TWICE.replace("twice", "again") + SCHEDULE.replace("twice", "again")))
FACTORY = notebook(
    code("from tvm.script import tir as T"),
    code(
        "def make(n):\n"
        + "".join(f"    {line}\n" for line in TWICE.replace("64", "n").splitlines())
        + "    return twice\n"
    ),
)


OTHER_CELLS = f"""\
# %% [markdown]
# # Twice
# This is a small program that doubles each element.

# %%
from tvm.script import tir as T

# %% Define
{TWICE}
# %% Schedule it
{SCHEDULE}
# %%
sch.mod.show()
"""
"""A text with the percent cells of VS Code or Jupytext."""


def notes_of(text: str) -> list[str]:
    return [f"{note.where}: {note.text}" for note in converted(read_document(text), "dual-bank-npu").notes]


def test_percent_cells_of_other_tools_are_one_text() -> None:
    made = converted(read_document(OTHER_CELLS), "dual-bank-npu")
    opened = evaluate(made.document)
    assert opened.error is None and made.stopped is None and len(opened.steps) == 3
    assert [cell.kind for cell in made.document.cells] == ["markdown", "machine", "workload", "schedule"]
    ours = read_document("# %% Setup\nprint(1)\n\n" + MATMUL_NOTEBOOK)
    assert converted(ours, "dual-bank-npu").document is ours


def test_a_notebook_of_jupyter_opens_with_its_prose_and_schedule() -> None:
    made = converted(read_document(TUTORIAL), "dual-bank-npu")
    opened = evaluate(made.document)
    assert opened.error is None and len(opened.steps) == 3
    assert [cell.kind for cell in made.document.cells] == ["markdown", "machine", "workload", "schedule", "markdown"]
    first, last = made.document.of_kind("markdown")
    assert first.prose.startswith("# Twice\n\nA small program.") and last.prose.endswith("That was all.")


def test_each_thing_left_out_is_listed_with_its_cell_and_line() -> None:
    assert notes_of(TUTORIAL) == [
        "cell 2, line 1: the magic '%matplotlib inline' is left out",
        "cell 4, line 1: the output of the cell (stream) is left out",
        "cell 5, line 4: this code builds, runs or prints and is passed over: sch.mod.show()",
    ]


def test_the_page_lists_the_notes_and_the_other_programs() -> None:
    state = act(State(), OpenText(TUTORIAL))
    places = [problem.place for problem in problems_value(state, Store()).problems if problem.code == "posted-text"]
    assert places == ["cell 2, line 1", "cell 4, line 1", "cell 5, line 4"]
    state = act(State(), OpenText(TWO))
    assert state.post is not None and state.post.labels == ("twice, cell 1, lines 1–6", "again, cell 2, lines 1–9")
    state = act(state, OpenProgram(2))
    assert state.notebook is not None and len(state.notebook.steps) == 3


def test_an_error_names_the_cell_and_its_line() -> None:
    wrong = notebook(markdown("Wrong."), code("\n" + TWICE.replace("a[vi] *", "unknown[vi] *")))
    with pytest.raises(TilewrightError) as caught:
        converted(read_document(wrong, "x.ipynb"), "dual-bank-npu")
    assert str(caught.value).startswith("x.ipynb, cell 2 7:21: the name unknown")


def test_programs_that_functions_of_a_notebook_make_take_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "factory.ipynb"
    file.write_text(FACTORY, encoding="utf-8")
    assert main(["import", str(file), "--list"]) == 0
    assert capsys.readouterr().out == f"{file}#1  make.twice with n (size), cell 2, lines 2–7\n"
    assert main(["import", f"{file}#1", "--size", "n=32"]) == 0
    assert "T.Buffer((32,)" in capsys.readouterr().out


@pytest.mark.parametrize("indent", [None, 1])
def test_the_command_line_reads_any_name(
    indent: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The content decides, not the suffix."""
    file = tmp_path / "notebook.txt"
    file.write_text(json.dumps(json.loads(TWO), indent=indent), encoding="utf-8")
    assert main(["import", f"{file}#again", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["steps"]) == 3


def test_notes_of_an_import_are_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notebook.ipynb"
    file.write_text(TUTORIAL, encoding="utf-8")
    assert main(["import", str(file)]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "tilewright: note: cell 2, line 1: the magic '%matplotlib inline' is left out" in lines


def test_a_page_on_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = f"<html><body><p>How do I split?</p><pre>{escape(TWICE)}</pre><p>Like this:</p><pre>{escape(SCHEDULE)}</pre></body></html>"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(page.encode())))
    assert main(["import", "-"]) == 0
    out = capsys.readouterr().out
    assert "# How do I split?" in out and "sch.split" in out


def test_a_notebook_of_tilewright_in_a_patch_stays_as_it_is() -> None:
    lines = MATMUL_NOTEBOOK.splitlines()
    patch = (
        f"diff --git a/m.py b/m.py\nnew file mode 100644\n--- /dev/null\n+++ b/m.py\n@@ -0,0 +1,{len(lines)} @@\n"
        + "".join(f"+{line}\n" for line in lines)
    )
    assert converted(read_document(patch), "dual-bank-npu").document.text == MATMUL_NOTEBOOK.rstrip("\n")


def test_functions_of_a_module_in_a_notebook_are_listed() -> None:
    made = converted(
        read_document(notebook(markdown("A model."), code(HEAD + KERNELS + MAIN))), "dual-bank-npu", program=2
    )
    assert made.post is not None and made.post.words == "functions" and made.post.number == 2 and made.post.has_graph
    assert made.document.cells[0].prose.strip() == "A model."


def test_a_carrier_without_a_program_is_refused() -> None:
    for text in (notebook(markdown("Nothing.")), notebook(code("x = 1")), "<html><body><pre>x = 1</pre></body></html>"):
        with pytest.raises(TilewrightError) as caught:
            converted(read_document(text), "dual-bank-npu")
        assert caught.value.code == "no-program"


def test_long_carriers_are_read_up_to_ten_megabytes(tmp_path: Path) -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "A" * 3_000_000}, "metadata": {}}
    long = notebook(code(TWICE, [picture]))
    file = tmp_path / "long.ipynb"
    file.write_text(long, encoding="utf-8")
    assert evaluate(converted(load_document(file), "dual-bank-npu").document).error is None
    state = act(State(), OpenText(long))
    assert state.notice is None and state.notebook is not None
    file.write_text(notebook(code(TWICE, [picture] * 4)), encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        load_document(file)
    assert caught.value.code == "file-too-large" and str(LIMITS.carrier_bytes) in caught.value.refusal.expected


def test_a_long_text_in_a_carrier_is_refused() -> None:
    with pytest.raises(TilewrightError) as caught:
        converted(read_document(notebook(code("# x\n" * 110_000 + TWICE))), "dual-bank-npu")
    assert caught.value.code == "text-too-long"


def test_an_archive_and_a_folder_list_their_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kernels"
    (folder / "sub").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "a.py").write_text(TWICE, encoding="utf-8")
    (folder / "sub" / "b.ipynb").write_text(TWO, encoding="utf-8")
    (folder / ".git" / "hidden.py").write_text(TWICE, encoding="utf-8")
    (folder / "data.bin").write_bytes(b"\0\1")
    (folder / "link.py").symlink_to(folder / "a.py")
    archive = tmp_path / "kernels.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(folder / "a.py", "a.py")
        file.write(folder / "sub" / "b.ipynb", "sub/b.ipynb")
    for place in (folder, archive):
        assert main(["import", str(place), "--list"]) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"{place}#1  a.py: twice, lines 1–6",
            f"{place}#2  sub/b.ipynb: twice, cell 1, lines 1–6",
            f"{place}#3  sub/b.ipynb: again, cell 2, lines 1–9",
        ]
        assert main(["import", f"{place}#3", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["steps"]) == 3


def test_the_page_opens_an_archive() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("b.ipynb", TWO)
    state = act(State(), OpenText(f"data:application/zip;base64,{b64encode(stream.getvalue()).decode()}"))
    assert state.post is not None and len(state.post.labels) == 2 and state.post.labels[1].startswith("b.ipynb: again")
    state = act(state, OpenProgram(2))
    assert state.notebook is not None and len(state.notebook.steps) == 3


def test_a_comment_changes_nothing(tmp_path: Path) -> None:
    """A sentence in a comment is prose, but the text is read as without it."""
    te_text = 'from tvm import te\nA = te.placeholder((n, n), name="A")\nB = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")\n'
    errors: list[str] = []
    for comment in ("", "# Here is a sentence with many words.\n# It has another line.\n\n"):
        with pytest.raises(TilewrightError) as caught:
            converted(read_document(comment + te_text + "s = te.create_schedule(B.op)\n"), "dual-bank-npu")
        errors.append(caught.value.code)
    assert errors[0] == errors[1]


def test_a_tuning_database_opens_with_its_workloads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = twice_module().encode()
    line = json.dumps(["1", b64encode(len(data).to_bytes(8, "little") + data).decode()])
    (tmp_path / "database_workload.json").write_text(f"{line}\n", encoding="utf-8")
    records = tmp_path / "database_tuning_record.json"
    trace = [
        [
            ["GetBlock", [], ["twice", "main"], ["b0"]],
            ["GetLoops", ["b0"], [], ["l1"]],
            ["Split", ["l1", "None", 8], [1], ["l2", "l3"]],
        ],
        [],
    ]
    records.write_text(
        "".join(json.dumps([0, [trace, [s], {"kind": "cuda"}, []]]) + "\n" for s in (2e-5, 1e-5)), encoding="utf-8"
    )
    assert main(["import", str(records), "--list"]) == 0
    assert "#2  record 2 (10.0 µs on cuda): Module, workload 0, lines 1–24\n" in capsys.readouterr().out
    assert main(["import", f"{records}#2", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [next(iter(re.findall(r"sch\.(\w+)", step))) for step in made["steps"]] == [
        "get_block",
        "get_loops",
        "split",
    ]
    (tmp_path / "database_workload.json").unlink()
    program = tmp_path / "program.py"
    program.write_text(TWICE, encoding="utf-8")
    records.write_text(records.read_text(encoding="utf-8").replace('"twice"', '"b"'), encoding="utf-8")
    assert main(["import", str(records)]) == 2 and "--program" in capsys.readouterr().err
    assert main(["import", f"{records}#2", "--program", str(program), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["steps"]) == 3


def test_a_relax_module_in_a_notebook_becomes_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.ipynb"
    model = HEAD + KERNELS + MAIN.replace('metadata["ir.GenericConst"][0]', "w")
    file.write_text(notebook(markdown("A model."), code(model)), encoding="utf-8")
    assert main(["import", str(file), "-o", str(tmp_path / "model")]) == 0
    assert "kernels" in capsys.readouterr().out
