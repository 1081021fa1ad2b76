"""A post with program and schedule code in one text opens as a notebook, with notes about skipped and inferred parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pasted.posts import (
    EARLY_MATMUL_POST,
    RELAX_LOWERED,
    RELAX_POST,
    RELAX_SCHEDULE_POST,
    RELAX_SCHEDULED_POST,
)
from support.programs.sources import MATMUL
from support.programs.te_sources import MATMUL_VTCM, VTA_MATMUL
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import Undo, act
from tilewright.app.actions.text_edits import EditCell
from tilewright.app.cli import main
from tilewright.app.document import DEFAULT_MACHINE, converted, evaluate, read_document
from tilewright.app.document.machine import target_of
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.problems.value import problems_value
from tilewright.app.views.shell.gallery import example_of
from tilewright.engine.adopt import read_pasted
from tilewright.engine.ir import structural_equal

FUSED = RELAX_LOWERED + "\n" + RELAX_SCHEDULE_POST
WHOLE_EARLY = EARLY_MATMUL_POST.replace(
    "ax0, ax1 = sch.split(...)",
    'Z = sch.get_block("Z")\ni, j, k = sch.get_axes(Z)\na, b, c, d = sch.split(i, factors=[None, 2, 4, 8], names=["a", "b", "c", "d"])',
).replace("sch.fuse(...)", "ax0 = sch.fuse(b, c)")


@pytest.mark.sample(1)
@pytest.mark.parametrize("text", [FUSED, WHOLE_EARLY, RELAX_SCHEDULED_POST])
def test_a_converted_post_builds_the_same_schedule(text: str) -> None:
    conversion = converted(read_document(text), "dual-bank-npu")
    notebook = evaluate(conversion.document)
    assert notebook.error is None and notebook.schedule is not None
    assert structural_equal(notebook.schedule.mod, read_pasted(text).schedule.mod)
    assert conversion.notes and conversion.stopped is None
    assert converted(conversion.document, "dual-bank-npu").document is conversion.document
    compile(conversion.document.text, "notebook", "exec")  # Python runs it too


def test_a_converted_post_keeps_comments_and_fits_its_machine() -> None:
    text = converted(read_document(FUSED), "dual-bank-npu").document.text
    assert 'tilewright.machine("matrix-vector-npu")' in text
    assert "# move vector calculation after matrix\n" in text
    assert '# sch.cache_read(compute_block, 0, "local", [matmul_local])\n' in text
    assert '\nx_shared = sch.cache_read(matmul_block, 0, "shared")\n' in text


def test_unread_lines_are_named_while_the_program_opens() -> None:
    state = act(State(), OpenText(EARLY_MATMUL_POST))
    assert state.notice is None and state.notebook is not None and state.notebook.error is None
    assert "# ax0, ax1 = sch.split(...)\n# sch.fuse(...)\n" in state.notebook.document.text
    shown = problems_value(state, Store()).problems
    assert [p.place for p in shown if p.code == "posted-text"] == ["line 1", "line 12", "line 19"]


def test_lines_before_a_refused_one_are_applied() -> None:
    state = act(State(), OpenText(FUSED.replace("sch.compute_at(w_shared, i1_0)", "sch.compute_inline(matmul_block)")))
    assert state.notebook is not None and state.notebook.schedule is not None
    assert state.notebook.schedule.trace.steps[-1].method == "compute_at"
    assert "# sch.compute_inline(matmul_block)\n" in state.notebook.document.text


def test_python_that_builds_the_program_is_refused_with_a_hint() -> None:
    state = act(State(), OpenText(RELAX_POST + RELAX_SCHEDULE_POST + RELAX_SCHEDULED_POST))
    assert state.notebook is None and state.notice is not None
    assert state.notice.place == "line 8" and "mod.show()" in state.notice.fix[0]


@pytest.mark.parametrize(
    ("text", "code"), [(FUSED, 0), (EARLY_MATMUL_POST, 2), (FUSED.replace('"T_add"', '"compute"'), 1)]
)
def test_running_a_post_prints_notes_and_lines(
    text: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "post.py"
    file.write_text(text, encoding="utf-8")
    assert main(["run", str(file)]) == code
    printed = capsys.readouterr().err
    assert "tilewright: note: line" in printed
    assert code == 0 or "line " in printed.rpartition("note:")[2]


@pytest.mark.sample(1)
@pytest.mark.parametrize("text", [MATMUL_VTCM, FUSED, VTA_MATMUL])
def test_pasted_code_in_the_workload_cell_is_split_into_cells(text: str) -> None:
    state = act(State(), OpenText(MATMUL_NOTEBOOK))
    assert state.notebook is not None
    before = state.notebook.document
    index = next(n for n, c in enumerate(before.cells) if c.kind == "workload")
    state = act(state, EditCell(index, text))
    assert state.notice is None and state.notebook is not None and state.notebook.error is None
    assert state.notebook.schedule is not None
    assert structural_equal(state.notebook.schedule.mod, read_pasted(text).schedule.mod)
    assert [c.text for c in state.notebook.document.of_kind("machine")] == [c.text for c in before.of_kind("machine")]
    undone = act(state, Undo())
    assert undone.notebook is not None and undone.notebook.document.text == before.text


def test_te_text_in_the_workload_cell_is_refused_with_a_hint() -> None:
    notebook = evaluate(
        read_document(f"# %% workload\n{MATMUL_VTCM}\n# %% schedule\nsch = tilewright.Schedule(main)\n")
    )
    assert notebook.error is not None and notebook.error.code == "te-workload"
    assert "tilewright import" in notebook.error.refusal.fix[0]


def test_a_plain_program_keeps_its_text() -> None:
    document = read_document(MATMUL)
    assert converted(document, "dual-bank-npu").document is document


DOUBLED = """
n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
"""


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ('fun = tvm.build(s, [A, B], "llvm", name="f")', "cpu-core"),
        ("target = tvm.target.Target('llvm -mcpu=skylake-avx512')", "cpu-core"),
        ('tvm.build(s, [A, B], target="cuda", target_host="llvm")', "gpu-sm"),
        ('bx = te.thread_axis("blockIdx.x")', "gpu-sm"),
        ("env = vta.get_env()", "vta"),
        ("A = te.placeholder((o, n, env.BATCH, env.BLOCK_IN))", "vta"),
        ('AL = s.cache_read(A, "local.vtcm", [C])', "dual-bank-npu"),
        ("a text about llvm and cuda", ""),
    ],
)
def test_a_sign_of_a_target_names_a_machine(text: str, machine: str) -> None:
    assert target_of(text)[1] == machine


def test_the_notebook_of_a_text_has_the_machine_of_its_target_and_says_so() -> None:
    made = converted(read_document(DOUBLED + 'f = tvm.build(s, [A, B], "llvm")\n'), DEFAULT_MACHINE)
    assert example_of("x", made.document).machine == "cpu-core"
    assert any("'llvm': the machine is cpu-core" in note.text for note in made.notes)


def test_a_machine_without_the_scopes_of_the_program_is_not_chosen() -> None:
    text = DOUBLED + 'AA = s.cache_read(A, "local.vtcm", [B])\nf = tvm.build(s, [A, B], "llvm")\n'
    assert example_of("x", converted(read_document(text), "gpu-sm").document).machine == "dual-bank-npu"


def test_a_text_without_a_target_has_the_default() -> None:
    made = converted(read_document("# A program\n" + MATMUL + "\nsch = tvm.s_tir.Schedule(matmul)\n"), DEFAULT_MACHINE)
    assert example_of("x", made.document).machine == DEFAULT_MACHINE
