"""The changes of a step in the tree, from the two programs."""

from __future__ import annotations

import pytest
from support.sessions.notebooks import with_lines

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ViewStep, act
from tilewright.app.document import evaluate, read_document
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.tree.rows import tree_rows
from tilewright.app.views.tree.structure import StructureChange, marked_rows, structure_changes


def changes_of(*lines: str) -> list[str]:
    """The changes of the last of `lines`, after the sample's four steps."""
    notebook = evaluate(read_document(with_lines(*lines)))
    assert notebook.error is None, notebook.error
    before, after = (state.schedule.func for state in notebook.states[-2:])
    return [f"{change.sign} {change.text}" for change in structure_changes(before, after)]


AL = 'AL = sch.cache_read(C, 0, "local.vtcm")'


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("io, ii = sch.split(i, factors=[None, 16])",), ["+ loops i_0 8, i_1 16", "− loop i"]),
        (("sch.reorder(j, i)",), ["→ loops reordered: j, ko, i, ki"]),
        (("sch.vectorize(j)",), ["~ loop j: vectorized, was serial"]),
        (('sch.annotate(i, "x", 1)',), ["~ loop i: x = 1"]),
        (
            (AL,),
            [
                "+ block A_local.vtcm", "~ block C: reads A_local.vtcm instead of A", "+ loops ax0 128, ax1 128",
                "+ buffer A_local.vtcm in local.vtcm",
            ],
        ),
        ((AL, "sch.compute_at(AL, ko)"), ["→ block A_local.vtcm into loop ko", "+ loop ax0 32", "− loops ax0, ax1"]),
        ((AL, 'sch.set_scope(AL, 0, "local.acc")'), ["~ buffer A_local.vtcm: in local.acc, was in local.vtcm"]),
        ((AL, "sch.compute_at(AL, ko)", "sch.double_buffer(AL)"), ["~ block A_local.vtcm: double buffered"]),
        (
            (AL, 'sch.transform_layout(AL, ("write", 0), lambda i, k: [k, i])'),
            ["~ block A_local.vtcm: A_local.vtcm[v1, v0], was [v0, v1]", "~ block C: A_local.vtcm[vk, vi], was [vi, vk]"],
        ),
        (("init = sch.decompose_reduction(C, ko)",), ["+ block C_init", "~ block C: its init removed; reads C"]),
        (("sch.get_loops(C)",), []),
    ],
)  # fmt: skip
def test_the_changes_of_a_step_are_listed(lines: tuple[str, ...], expected: list[str]) -> None:
    found = changes_of(*lines)
    if expected and expected[0].startswith("+ block C_init"):
        assert found[:2] == expected[:2]
    else:
        assert found == expected


@pytest.mark.slow
def test_every_changing_step_of_the_examples_lists_changes() -> None:
    silent: list[str] = []
    for example in load_examples():
        notebook = evaluate(read_document(example.text))
        for step, before, after in zip(notebook.steps, notebook.states, notebook.states[1:], strict=False):
            changes = structure_changes(before.schedule.func, after.schedule.func)
            rows = {row.id for row in tree_rows(after.schedule.func)}
            assert all(set(change.rows) <= rows for change in changes)
            if before.schedule.func is not after.schedule.func and not changes:
                silent.append(step.text)
            if before.schedule.func is after.schedule.func:
                assert changes == ()
    assert not silent


def test_rows_of_a_viewed_step_have_a_badge() -> None:
    state, store = act(State(), OpenText(with_lines(AL, "sch.compute_at(AL, ko)"))), Store()
    assert state.moment is not None
    rows = tree_rows(state.moment.schedule.func)
    assert marked_rows(rows, state, store) is rows, "nothing is marked while nothing was chosen"
    viewed = act(state, ViewStep(6))
    assert viewed.moment is not None
    rows = tree_rows(viewed.moment.schedule.func)
    marked = marked_rows(rows, viewed, store)
    assert marked is marked_rows(rows, viewed, store), "the same list, so that nothing is drawn anew"
    badges = {row.id: row.badges[0].text for row in marked if row.badges != by_id(rows)[row.id].badges}
    assert badges == {"A_local.vtcm": "→ moved", "ax0": "+ new"}
    assert all(not row.badges or row.badges[0].text != "→ moved" for row in rows)


def by_id(rows: list[dict[str, object]]) -> dict[object, dict[str, object]]:
    return {row.id: row for row in rows}


def test_equal_programs_have_no_changes() -> None:
    notebook = evaluate(read_document(with_lines()))
    func = notebook.states[-1].schedule.func
    assert structure_changes(func, func) == ()
    assert StructureChange("+", "x").rows == ()
