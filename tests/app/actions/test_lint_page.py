"""Lints on the page: found after the paint, shown with their fixes, applied by one click, reverted by undo."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK, small_blur
from support.sessions.pages import painted

from tilewright.app.actions.cell_actions import RemoveItem
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ApplyFix, ApplyFoundFix, Undo, ViewStep, act
from tilewright.app.jobs.analyses.next_steps import lint_analysis
from tilewright.app.jobs.on_demand import next_analysis
from tilewright.app.protocol.messages import decode
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.labels.values import Change
from tilewright.app.views.next.suggestions import offered_fix
from tilewright.app.views.problems.lints import Linted, lints_entry, lints_now
from tilewright.app.views.problems.value import Problems, problem_marks, problems_value
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.hwsim import Report
from tilewright.engine.lint import Fix, LintFinding


def example(name: str) -> State:
    (found,) = (e for e in load_examples() if e.name == name)
    return act(State(), OpenText(found.text, found.title))


def studied(state: State, store: Store) -> State:
    """The state after all analyses."""
    store.simulated(state)
    work = lint_analysis(state, store)
    assert work is not None
    work.run(store)
    return state


@cache
def studied_example(name: str) -> tuple[State, Store]:
    """An example after all analyses. Tests only add to the store."""
    store = Store()
    return studied(example(name), store), store


@cache
def studied_blur() -> tuple[State, Store]:
    store = Store()
    return studied(act(State(), OpenText(small_blur())), store), store


def problem(state: State, store: Store, code: str) -> dict[str, Any]:
    (found,) = (p for p in problems_value(state, store).problems if p.code == code)
    return found


def applied(state: State, store: Store, fix: dict[str, Any]) -> State:
    """The state after a click on the button of a fix."""
    intent = decode({"kind": "fix", "calls": fix.calls, "replaces": fix.replaces})
    assert isinstance(intent, ApplyFix)
    found = offered_fix(state, store, intent.calls, intent.replaces)
    return act(state, intent if found is None else ApplyFoundFix(found))


def text(state: State) -> str:
    assert state.notebook is not None
    return state.notebook.document.text


@pytest.mark.slow
def test_a_finding_before_linting_has_no_fix() -> None:
    state, store = painted(example("fused_matmul_relu_roundtrip"))
    assert problems_value(state, store).looking
    trip = problem(state, store, "round-trip")
    assert trip.fixes == [] and trip.rows == ["mm_local", "mm_local_1"] and trip.place == "mm"


@pytest.mark.slow
def test_fixes_name_their_changes() -> None:
    state, store = studied_example("fused_matmul_relu_roundtrip")
    assert not problems_value(state, store).looking
    (best, other) = problem(state, store, "round-trip").fixes
    assert best.calls == ('sch.compute_inline("mm_local_1")', 'sch.compute_inline("mm_local")')
    assert best.change == Change("−43\u202f%", "better")
    assert best.detail.replace("\u202f", " ") == "5 260 → 3 004 cycles, local 3.625 KiB → 3.562 KiB"
    assert other.calls == ('sch.set_scope("mm_local", 0, "local")',) and best.applicable and other.applicable


@pytest.mark.slow
def test_fixes_of_an_overflow_report_whether_the_program_fits() -> None:
    state, store = studied_example("place_the_copies")
    fixes = problem(state, store, "capacity-overflow").fixes
    assert fixes and {f.change.text for f in fixes} <= {"fits", "nearer to fitting", "still does not fit"}
    for fix in fixes:
        assert "→" not in fix.detail.split(", ")[0] or "KiB" in fix.detail.split(", ")[0]
        assert ("does not fit" in fix.detail) == (fix.change.text != "fits")
    assert fixes[0].change.trend == "better"


@pytest.mark.slow
def test_warning_with_the_largest_saving_is_first() -> None:
    state, store = painted(act(State(), OpenText(small_blur())))
    store.simulated(state)
    entry = lints_entry(state, store)
    assert entry is not None
    small, none, large = (
        LintFinding(f"saves-{n}", "warning", "", fixes=(Fix((), 100, 100 - n, ()),) if n else ()) for n in (5, 0, 60)
    )
    fitting = LintFinding("ends-overflow", "warning", "", fixes=(Fix((), 100, 900, (), fits=True, fitted=False),))
    store.keep(entry, Linted((small, none, fitting, large), is_complete=True))
    codes = [p.code for p in problems_value(state, store).problems if p.severity == "warning"]
    assert codes == ["ends-overflow", "saves-60", "saves-5", "saves-0"]


@pytest.mark.slow
def test_a_fix_removes_its_finding_and_undo_restores_it() -> None:
    state, store = studied_example("fused_matmul_relu_roundtrip")
    fix = problem(state, store, "round-trip").fixes[0]
    fixed = applied(state, store, fix)
    assert fixed.notice is None
    assert "sch.compute_inline(mm_back)\nsch.compute_inline(matmul_local)\n" in text(fixed), (
        "in the notebook's variables"
    )
    studied(fixed, store)
    assert problems_value(fixed, store) == Problems([], looking=False)
    report = store.simulated(fixed)
    assert isinstance(report, Report) and report.cycles == 3_004
    back = act(fixed, Undo())
    assert text(back) == text(state)
    assert problem(back, store, "round-trip").fixes[0] == fix, "remembered: nothing is looked for again"
    assert lint_analysis(back, store) is None


@pytest.mark.slow
def test_a_fix_removes_the_misplacing_compute_at_line() -> None:
    state, store = studied_blur()
    (fix,) = problem(state, store, "recompute").fixes
    assert fix.calls == () and fix.replaces == 'sch.compute_at("x_blur", x)'
    fixed = applied(state, store, fix)
    assert "sch.compute_at(x_blur, x)" in text(state) and "sch.compute_at(x_blur, x)" not in text(fixed)
    assert len(text(fixed).splitlines()) == len(text(state).splitlines()) - 1
    studied(fixed, store)
    assert problems_value(fixed, store).problems == []
    assert text(act(fixed, Undo())) == text(state)


@pytest.mark.slow
def test_an_uneven_split_is_fixed_by_another() -> None:
    state, store = painted(act(State(), OpenText(MATMUL_NOTEBOOK.replace("[None, 32]", "[None, 48]"))))
    studied(state, store)
    guard = problem(state, store, "guard")
    fix = next(f for f in guard.fixes if f.replaces)
    assert fix.calls == ('ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"])',)
    assert set(guard.rows) == {"C", "ko", "ki"}
    fixed = applied(state, store, fix)
    assert (
        fixed.notice is None
        and "[None, 32]" in text(fixed)
        and "sch.reorder(i, ko, j, ki)  # ki stays inside" in text(fixed)
    )


@pytest.mark.slow
def test_an_earlier_step_lists_findings_without_applying_fixes() -> None:
    state, store = painted(example("fused_matmul_relu_roundtrip"))
    assert state.shown is not None
    back = studied(act(state, ViewStep(len(state.shown.states) - 2)), store)
    fixes = problem(back, store, "round-trip").fixes
    assert fixes and not any(fix.applicable for fix in fixes)


@pytest.mark.slow
def test_a_fix_of_another_program_is_refused() -> None:
    state, store = studied_blur()
    (fix,) = problem(state, store, "recompute").fixes
    other = act(state, RemoveItem(len(state.shown.steps) - 1 if state.shown is not None else 0))
    refused = applied(other, store, fix)
    assert refused.notice is not None and refused.notice.code == "stale-fix"
    assert text(refused) == text(other)


EXAMPLES = [
    pytest.param(
        e.name, marks=() if e.name in ("place_the_copies", "fused_matmul_relu_roundtrip") else pytest.mark.slow
    )
    for e in load_examples()
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_row_that_a_finding_points_at_is_marked(name: str) -> None:
    state, store = studied_example(name)
    problems = problems_value(state, store).problems
    severities = [p.severity for p in problems]
    assert severities == sorted(severities, key=("error", "warning", "info").index), "the worst first"
    marks = problem_marks(problems)
    assert {row for p in problems for row in p.rows} == set(marks)
    for mark in marks.values():
        assert mark.severity == mark.messages[0].severity and all(m.text for m in mark.messages)


@pytest.mark.slow
def test_known_lints_need_no_study_and_a_stopped_one_keeps_its_findings() -> None:
    state, store = painted(example("place_the_copies"))
    store.simulated(state)
    study = next_analysis(state, store)
    assert study is not None and study.entry.name == "lints"
    pieces = study.pieces()
    first = next(piece for piece in pieces if piece is not None)
    store.keep(study.entry, first)
    pieces.close()  # type: ignore[attr-defined]
    linted = lints_now(state, store)
    assert isinstance(linted, Linted) and not linted.is_complete
    assert next_analysis(state, store) is not None, "begun anew"
    studied(state, store)
    assert next_analysis(state, store) is None
    (overflow,) = problems_value(state, store).problems
    assert overflow.severity == "error" and overflow.fixes[0].calls == (
        'sch.compute_at("A_local.vtcm", mo)', 'sch.compute_at("B_local.vtcm", no)',
    )  # fmt: skip


def test_a_scope_unknown_to_the_machine_is_refused_with_fixes() -> None:
    lines = 'A_shared = sch.cache_read(C, 0, "shared")\n'
    state, store = painted(act(State(), OpenText(MATMUL_NOTEBOOK.replace("\n# %% report", f"{lines}\n# %% report"))))
    untried = problem(state, store, "unknown-scope").fixes
    assert [fix.change for fix in untried] == [None]
    studied(state, store)
    fixes = problem(state, store, "unknown-scope").fixes
    assert fixes and fixes[0].detail and fixes[0].calls[0] == 'sch.set_scope("A_shared", 0, "local.vtcm")'
    fixed = applied(state, store, fixes[0])
    assert isinstance(store.simulated(fixed), Report)


def test_an_opaque_statement_is_reported_as_a_problem() -> None:
    text = """
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        with T.sblock("A"):
            v = T.axis.spatial(8, i)
            A[v] = T.float32(0)
    while A[0] < T.float32(3):
        A[0] = A[0] + T.float32(1)
"""
    state, store = painted(act(State(), OpenText(text, "f")))
    (found,) = problems_value(state, store).problems
    assert found.severity == "error" and found.code == "while-loop"
