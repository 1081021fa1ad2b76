"""A step that no longer applies: its dependencies, the changes before it, and the resolutions."""

from __future__ import annotations

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.document import DocumentError, Notebook, append_call, evaluate, read_document
from tilewright.app.document.editing.conflicts import (
    Need,
    StepChange,
    conflict_of,
    put_back,
    repaired,
    skip_conflicts,
    stop_at,
)
from tilewright.app.document.editing.suggestions import culprit, suggestion, with_suggestion
from tilewright.app.document.items import move_item, remove_item, replace_item, schedule_items, switch_off
from tilewright.app.state.model import State

SPLIT = 'ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"])'
GOOD = evaluate(read_document(with_lines("sch.vectorize(j)", "sch.unroll(ki)", "sch.parallel(i)")))
"""Steps: C, i j k, split, reorder, vectorize, unroll, parallel."""


def after(document: object) -> Notebook:
    return evaluate(document, GOOD)  # pyright: ignore[reportArgumentType]


def test_applicable_steps_have_no_conflict() -> None:
    assert GOOD.error is None
    assert conflict_of(GOOD, GOOD) is None


def test_a_removed_step_conflicts_with_its_dependents_and_can_return() -> None:
    notebook = after(remove_item(GOOD.document, 2))
    conflict = conflict_of(notebook, GOOD)
    assert conflict is not None and conflict.applied_before
    assert (conflict.step, conflict.item, conflict.waiting) == (2, 2, 3)
    assert [need.name for need in conflict.needs] == ["ko", "ki"]
    assert {need.made_by for need in conflict.needs} == {SPLIT}
    assert conflict.changes == (StepChange("removed", SPLIT, 2),)
    assert put_back(notebook.document, GOOD, 2).text == GOOD.document.text


def test_putting_back_a_disabled_step_enables_it() -> None:
    notebook = after(switch_off(GOOD.document, 2))
    conflict = conflict_of(notebook, GOOD)
    assert conflict is not None and conflict.changes == (StepChange("off", SPLIT, 2),)
    assert put_back(notebook.document, GOOD, 2).text == GOOD.document.text


def test_removing_one_of_equal_lines_is_not_a_move() -> None:
    query = "outer = sch.get_loops(C)[0]"
    good = evaluate(read_document(with_lines(query, "sch.unroll(ki)", query, "sch.parallel(outer)")))
    assert good.error is None
    (first, _) = [step.index for step in good.steps if step.text == query]
    last = good.steps[-1].index
    for edit, kind in ((remove_item, "removed"), (switch_off, "off")):
        document = edit(replace_item(good.document, last, "sch.parallel(lost)"), first)
        conflict = conflict_of(evaluate(document, good), good)
        assert conflict is not None
        assert [(change.kind, change.text) for change in conflict.changes[:1]] == [(kind, query)]
        assert "moved" not in {change.kind for change in conflict.changes}


def test_a_step_moved_above_its_dependency_names_the_new_place() -> None:
    notebook = after(move_item(GOOD.document, 5, 1))
    conflict = conflict_of(notebook, GOOD)
    assert conflict is not None
    assert conflict.needs == (Need("ki", SPLIT, 3),)
    assert conflict.changes == (StepChange("moved", "sch.unroll(ki)", 5),)
    mended = move_item(notebook.document, conflict.item, 3, after=True)
    assert evaluate(mended).error is None


def test_the_conflict_of_an_edited_step_shows_both_texts() -> None:
    new = 'ko, kj = sch.split(k, factors=[None, 32], names=["ko", "kj"])'
    conflict = conflict_of(after(replace_item(GOOD.document, 2, new)), GOOD)
    assert conflict is not None and conflict.changes == (StepChange("edited", f"{SPLIT} → {new}", 2),)


def test_a_changed_workload_is_named_as_the_cause() -> None:
    notebook = after(read_document(GOOD.document.text.replace('T.sblock("C")', 'T.sblock("Q")')))
    conflict = conflict_of(notebook, GOOD)
    assert conflict is not None and conflict.step == 0
    assert [change.kind for change in conflict.changes] == ["workload"]


def test_a_line_that_never_applied_is_an_error_not_a_conflict() -> None:
    conflict = conflict_of(after(read_document(with_lines("sch.vectorize(x)"))), GOOD)
    assert conflict is not None and not conflict.applied_before
    assert conflict.needs == (Need("x"),)


def test_skipping_conflicts_applies_every_applicable_line() -> None:
    notebook = skip_conflicts(after(remove_item(GOOD.document, 2)))
    assert notebook.error is None
    assert [step.text for step in notebook.steps][2:] == ["sch.vectorize(j)", "sch.parallel(i)"]
    off = [item.text for item in schedule_items(notebook.document) if not item.on]
    assert off == ["sch.reorder(i, ko, j, ki)", "sch.unroll(ki)"]


def test_stopping_at_a_conflict_disables_it_and_later_lines() -> None:
    document = stop_at(remove_item(GOOD.document, 2), 2)
    notebook = evaluate(document)
    assert notebook.error is None and len(notebook.steps) == 2
    assert sum(not item.on for item in schedule_items(document)) == 4


def test_repair_calls_of_a_refusal_precede_the_step() -> None:
    chain = act(State(), OpenText(ELEMENTWISE_CHAIN)).notebook
    assert chain is not None
    document = append_call(append_call(chain.document, 'i = sch.get_loops("D")[0]'), 'sch.compute_at("B", i)')
    mended = repaired(evaluate(document))
    assert mended.error is None
    assert [step.text for step in mended.steps][1:] == ['sch.compute_inline("C")', 'sch.compute_at("B", i)']


def test_a_refusal_without_a_repair_cannot_be_repaired() -> None:
    with pytest.raises(DocumentError) as caught:
        repaired(evaluate(read_document(with_lines("sch.parallel(k)", "sch.fuse(i, k)"))))
    assert caught.value.code == "no-repair"


@pytest.mark.parametrize(
    ("line", "name", "near"),
    [
        ("sch.vectorise(j)", "vectorise", "vectorize"),
        ("sch.unroll(kii)", "kii", "ki"),
        ("sch.reorder(i,\n    kko, j)", "kko", "ko"),
        ("sch.zzzzzz(j)", "zzzzzz", None),
    ],
)
def test_an_unknown_name_is_underlined_with_a_suggestion(line: str, name: str, near: str | None) -> None:
    notebook = evaluate(read_document(with_lines(line)))
    assert notebook.error is not None
    place = culprit(notebook, notebook.error)
    assert place is not None
    text = notebook.document.text.split("\n")[place.line - 1]
    assert text[place.column - 1 : place.end_column - 1] == name
    proposed = suggestion(notebook, notebook.error)
    assert (proposed.new if proposed else None) == near
    if proposed is not None:
        assert with_suggestion(notebook.document, proposed).text == notebook.document.text.replace(name, proposed.new)


def test_a_misspelt_machine_gets_a_suggestion() -> None:
    notebook = evaluate(read_document(MATMUL_NOTEBOOK.replace("dual-bank-npu", "dual-bank-np")))
    assert notebook.error is not None
    proposed = suggestion(notebook, notebook.error)
    assert proposed is not None and proposed.new == "dual-bank-npu"
    assert evaluate(with_suggestion(notebook.document, proposed)).error is None
