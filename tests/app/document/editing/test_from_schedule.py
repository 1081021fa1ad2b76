"""A notebook of a schedule built in Python has the same handles."""

from __future__ import annotations

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK

import tilewright
from tilewright.app.document import apply_call, evaluate, read_document
from tilewright.app.document.editing.from_schedule import notebook_of_schedule
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.adopt import call_of
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import structural_equal
from tilewright.engine.schedule import Schedule


def scheduled(text: str) -> Schedule:
    found = evaluate(read_document(text))
    assert found.error is None and found.schedule is not None
    return found.schedule


@pytest.mark.parametrize("example", load_examples(), ids=lambda example: example.name)
def test_the_text_of_a_schedule_rebuilds_it_step_by_step(example) -> None:
    schedule = scheduled(example.text)
    notebook = notebook_of_schedule(schedule, load_machine("dual-bank-npu"))
    again = evaluate(notebook.document)
    assert again.error is None and again.schedule is not None
    assert structural_equal(again.schedule.mod, schedule.mod)
    assert len(notebook.states) == len(schedule.trace) + 1 == len(notebook.steps) + 1
    for moment, state in zip(notebook.states, schedule.states, strict=True):
        assert moment.schedule.states[-1] is state


def test_the_schedule_follows_a_call_and_keeps_its_handles() -> None:
    schedule = scheduled(MATMUL_NOTEBOOK)
    loop = schedule.get_loops("C")[-1]
    after = apply_call(notebook_of_schedule(schedule), call_of("unroll", (loop,)))
    assert after.error is None and after.document.text.rstrip().endswith("sch.unroll(ki)")
    assert after.schedule is not None
    schedule.go_to(after.schedule)
    assert schedule.get(loop).kind == "unrolled"


SCHEDULED = scheduled(MATMUL_NOTEBOOK)

SIZED = """from tilewright.script import tirx as T

@T.prim_func(s_tir=True)
def double(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.sblock("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(2)
"""


def test_sizes_of_the_schedule_are_the_notebooks() -> None:
    notebook = notebook_of_schedule(Schedule(tilewright.parse(SIZED)), sizes={"n": 64})
    assert notebook.sizes == {"n": 64} == evaluate(notebook.document).sizes


def test_a_schedule_of_too_many_calls_is_shown_without_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """More calls than a notebook may have."""
    monkeypatch.setattr("tilewright.app.document.calls.MAX_STEPS", 3)
    schedule = SCHEDULED.copy()
    notebook = notebook_of_schedule(schedule)
    assert (
        notebook.steps == () and notebook.schedule is not None and notebook.schedule.states[-1] is schedule.states[-1]
    )
    after = apply_call(notebook, call_of("unroll", (schedule.get_loops("C")[-1],)))
    assert after.error is None and after.schedule is not None
    schedule.go_to(after.schedule)
    assert schedule.trace.steps[-1].method == "unroll"
