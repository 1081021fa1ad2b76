"""Intrinsic cells: parsed, never executed; the schedule uses them by name, and the export registers them."""

from __future__ import annotations

from support.programs.intrins import HEAD, MMA_CALL, MMA_DESC
from support.programs.sources import matmul

from tilewright.app.document import evaluate, read_document
from tilewright.engine.export import to_tvm_python

REGISTER = 'tilewright.TensorIntrin.register("mma", mma_desc, mma_call)\n'

CALLS = """\
sch = tilewright.Schedule(matmul)
i, j, k = sch.get_loops("C")
io, ii = sch.split(i, factors=[None, 16])
jo, ji = sch.split(j, factors=[None, 16])
ko, ki = sch.split(k, factors=[None, 16])
sch.reorder(io, jo, ko, ii, ji, ki)
sch.tensorize(ii, "mma")
"""


def notebook_text(register: str = REGISTER, call: str = MMA_CALL) -> str:
    workload = matmul(32, 32, 32).partition("@I.ir_module")
    body = workload[1] + workload[2] if workload[1] else matmul(32, 32, 32)
    functions = f"{MMA_DESC}\n\n{call.removeprefix(HEAD[: HEAD.index('@')])}"
    return f"# %% workload\n{body}\n\n# %% intrinsic: mma\n{functions}\n\n{register}\n# %% schedule\n{CALLS}"


def test_schedule_uses_an_intrinsic_cell_by_name():
    notebook = evaluate(read_document(notebook_text()))
    assert notebook.error is None
    assert notebook.schedule is not None
    assert [i.name for i in notebook.schedule.tensorized.values()] == ["mma"]
    assert notebook.schedule.verify().status == "tested"


def test_an_exported_notebook_registers_its_intrinsic():
    notebook = evaluate(read_document(notebook_text()))
    assert notebook.schedule is not None
    text = to_tvm_python(notebook.schedule, notebook.names)
    assert 's_tir.TensorIntrin.register("mma", mma_desc, mma_impl, override=True)' in text
    assert 'sch.tensorize(ii, "mma")' in text
    compile(text, "exported.py", "exec")


def test_another_line_in_an_intrinsic_cell_is_named_as_the_error():
    notebook = evaluate(read_document(notebook_text('print("mma")\n')))
    assert notebook.error is not None
    assert notebook.error.code == "bad-intrinsic"
    assert notebook.error.refusal.place is not None


def test_a_changed_intrinsic_replays_its_uses():
    before = evaluate(read_document(notebook_text()))
    again = evaluate(read_document(notebook_text()), before)
    changed = evaluate(read_document(notebook_text(call=MMA_CALL.replace('"mma"', '"other"'))), before)
    assert again.schedule is before.schedule
    assert changed.error is None
    assert changed.schedule is not before.schedule
