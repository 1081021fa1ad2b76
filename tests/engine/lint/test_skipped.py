"""Copies of boxes of which only every second element is read."""

from __future__ import annotations

import pytest
from support.programs.layers import Layer
from support.programs.vectors import STAGED

from tilewright.app.document import apply_lint, evaluate, read_document
from tilewright.engine.execute import verify
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import Ramp, walk
from tilewright.engine.lint import LINTS, LintFinding, Subject
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

NPU = load_machine("dual-bank-npu")


def program(window: int, step: int) -> str:
    return Layer("small", 64, 64, 32, 1, (8, 8), (window, window), step).text("float16", "float32")


def staged(window: int, step: int) -> str:
    """A notebook: a convolution of 32 channels to 8 x 8 pixels of 64 filters, staged row by row."""
    return f"""# %% machine
machine = tilewright.machine("dual-bank-npu")

# %% workload
{program(window, step)}
# %% schedule
sch = tilewright.Schedule(convolution)
C = sch.get_block("C")
y, x, f, dy, dx, c = sch.get_loops(C)
A_in = sch.cache_read(C, 0, "local.vtcm")  # image
B_in = sch.cache_read(C, 1, "local.vtcm")
C_out = sch.cache_write(C, 0, "local.acc")
yo, yi = sch.split(y, [None, 4])
sch.compute_at(A_in, yo)
sch.double_buffer(A_in)
sch.transform_layout(A_in, ("write", 0), lambda y, x, c: [c, y, x])
"""


SKIPPED = next(rule for rule in LINTS if rule.code == "skipped")


def found(schedule: Schedule) -> list[LintFinding]:
    """The findings of this lint alone, with their fixes."""
    return [f for f in SKIPPED.linted(Subject(schedule, NPU, {}, simulate)) if f is not None]


def test_copy_of_the_pixels_that_a_step_reads_is_proposed() -> None:
    notebook = evaluate(read_document(staged(1, 2)))
    assert notebook.schedule is not None and notebook.error is None
    (finding,) = found(notebook.schedule)
    assert finding.severity == "warning" and finding.buffers == ("A_local.vtcm",)
    assert finding.message == (
        "A_local.vtcm copies 3360 elements at a time, of which C reads 1024: every 2nd along axis 1 and every 2nd along axis 2"
    )
    (fix,) = finding.fixes
    assert fix.replaces == 'sch.cache_read("C", 0, "local.vtcm")' and fix.gain > 0
    fixed = apply_lint(notebook, fix)
    assert (
        'A_in = sch.reindex_cache_read(C, 0, "local.vtcm", lambda vy, vx, vf, vdy, vdx, vc: [vy + vdy, vx + vdx, vc])'
        "  # image"
    ) in fixed.document.text
    assert fixed.schedule is not None and found(fixed.schedule) == []
    assert verify(fixed.schedule.func, notebook.schedule.func).status == "tested"


@pytest.mark.parametrize(("window", "step"), [(1, 1), (2, 2), (3, 2)])
def test_dense_window_has_no_finding(window: int, step: int) -> None:
    notebook = evaluate(read_document(staged(window, step)))
    assert notebook.schedule is not None and found(notebook.schedule) == []


def test_windows_apart_are_a_finding_without_a_call() -> None:
    """A window of two pixels in steps of three along one axis: they are no product of a step."""
    text = staged(1, 2).replace("A[vy * 2 + vdy, vx * 2 + vdx, vc]", "A[vy * 2, vx + vdx, vc] + A[vy * 2, vx, vc]")
    notebook = evaluate(read_document(text))
    assert notebook.schedule is not None
    (finding,) = found(notebook.schedule)
    assert finding.severity == "info" and finding.fixes == ()


def test_a_reader_through_a_view_has_no_finding() -> None:
    view = """
            V = T.match_buffer(A[vy * 2 + vdy, vx * 2 + vdx, 0:32], (32,), "float16", offset_factor=1)
"""
    text = staged(1, 2).replace("            with T.init():", f"{view}            with T.init():", 1)
    text = text.replace("A[vy * 2 + vdy, vx * 2 + vdx, vc])", "V[vc])")
    text = text[: text.index("sch.transform_layout")]
    notebook = evaluate(read_document(text))
    assert notebook.schedule is not None and notebook.error is None
    assert "match_buffer(A_local_vtcm[" in to_script(notebook.schedule.func)
    assert found(notebook.schedule) == []


@pytest.mark.parametrize("text", [STAGED], ids=["vectors"])
def test_copies_of_whole_vectors_have_no_finding(text: str) -> None:
    schedule = Schedule(parse(text).program)
    assert any(isinstance(n, Ramp) for n in walk(schedule.func.body))
    assert found(schedule) == []
