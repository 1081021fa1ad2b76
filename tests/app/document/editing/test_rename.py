"""Loops and blocks renamed in the text: the places of their names, the refusals, and an unchanged program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.app.components.esm import STATIC
from tilewright.app.document import (
    DocumentError,
    Notebook,
    editable_name,
    evaluate,
    load_document,
    read_document,
    renamed,
)
from tilewright.engine.ir import For, Var, loops_and_blocks

EXAMPLE = STATIC / "examples" / "place_the_copies.py"

NAMED_BY_THE_PROGRAM = """# %% workload
@T.prim_func(s_tir=True)
def scaled(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 16):  # ä
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
# %% schedule
sch = tilewright.Schedule(scaled)
i, j = sch.get_loops("C")
fused = sch.fuse(i, j)
"""


@pytest.fixture
def notebook() -> Notebook:
    return evaluate(load_document(EXAMPLE))


def handle(notebook: Notebook, name: str, number: int = 0) -> Var | str:
    assert notebook.schedule is not None
    found = [
        s.loop_var if isinstance(s, For) else s.block.name
        for s in loops_and_blocks(notebook.schedule.func.body)
        if (s.loop_var.name if isinstance(s, For) else s.block.name) == name
    ]
    return found[number]


def changed(before: Notebook, after: Notebook) -> list[str]:
    """The lines of the new text that were not in the old one."""
    old = before.document.text.splitlines()
    return [line.strip() for line in after.document.text.splitlines() if line not in old]


def test_renaming_a_loop_changes_the_name_in_its_split_and_its_variable(notebook: Notebook) -> None:
    after = renamed(notebook, handle(notebook, "ko"), "kk")
    assert changed(notebook, after) == [
        'kk, ki = sch.split(k, factors=[None, 64], names=["kk", "ki"])',
        "sch.reorder(mo, no, kk, mi, ni, ki)",
    ]
    assert after.error is None
    assert isinstance(handle(after, "kk"), Var)


def test_renaming_a_block_changes_its_string_lookups_and_variable(notebook: Notebook) -> None:
    after = renamed(notebook, handle(notebook, "C"), "product")
    assert 'with T.sblock("product"):' in changed(notebook, after)
    assert 'product = sch.get_block("product")' in changed(notebook, after)
    assert 'AL = sch.cache_read(product, 0, "local.vtcm")' in changed(notebook, after)
    assert handle(after, "product") == "product"


def test_renaming_a_block_that_a_call_named_changes_its_variable(notebook: Notebook) -> None:
    copy = handle(notebook, "A_local.vtcm")
    assert editable_name(notebook, copy) == "AL"
    after = renamed(notebook, copy, "staged")
    assert changed(notebook, after) == ['staged = sch.cache_read(C, 0, "local.vtcm")']
    assert after.names["staged"] == "A_local.vtcm"


def test_renaming_a_loop_that_a_call_named_adds_a_split_into_one(notebook: Notebook) -> None:
    after = renamed(notebook, handle(notebook, "ax0", 2), "rows")
    assert changed(notebook, after)[-1] == '(rows,) = sch.split(ax0, factors=[None], names=["rows"])'
    assert isinstance(after.names["rows"], Var)
    assert after.names["rows"] is handle(after, "rows")


def test_only_the_second_of_two_equal_loop_names_is_renamed() -> None:
    before = evaluate(read_document(NAMED_BY_THE_PROGRAM.replace("fused = sch.fuse(i, j)\n", "")))
    after = renamed(before, handle(before, "j", 1), "columns")
    assert changed(before, after) == [
        "for i, columns in T.grid(8, 16):  # ä",
        'vi, vj = T.axis.remap("SS", [i, columns])',
        'i, columns = sch.get_loops("C")',
    ]


def test_a_fused_loop_without_a_name_gets_one() -> None:
    before = evaluate(read_document(NAMED_BY_THE_PROGRAM))
    after = renamed(before, before.names["fused"], "all")
    assert changed(before, after)[-1] == 'fused = sch.fuse(i, j, name="all")'


def test_a_split_without_names_gets_names_for_all_loops() -> None:
    text = NAMED_BY_THE_PROGRAM.replace("fused = sch.fuse(i, j)", "j0, j1 = sch.split(j, [4, None])")
    before = evaluate(read_document(text))
    after = renamed(before, before.names["j1"], "lanes")
    assert changed(before, after) == ['j0, j1 = sch.split(j, [4, None], names=["j_0", "lanes"])']


@pytest.mark.parametrize(
    ("name", "new", "code"),
    [
        ("ko", "ki", "name-taken"),
        ("ko", "C", "name-taken"),
        ("ko", "AL", "name-taken"),
        ("ko", "sch", "name-taken"),
        ("ko", "two words", "bad-name"),
        ("ko", "for", "bad-name"),
        ("ko", "1st", "bad-name"),
        ("ko", "x); import os", "bad-name"),
    ],
)
def test_an_invalid_name_is_refused_with_a_code(notebook: Notebook, name: str, new: str, code: str) -> None:
    with pytest.raises(DocumentError) as caught:
        renamed(notebook, handle(notebook, name), new)
    assert caught.value.refusal.code == code


def test_a_name_used_elsewhere_in_the_program_is_refused() -> None:
    before = evaluate(read_document(NAMED_BY_THE_PROGRAM.replace("fused = sch.fuse(i, j)\n", "")))
    with pytest.raises(DocumentError, match="uses the name"):
        renamed(before, handle(before, "j"), "vi")


def test_a_rename_that_breaks_an_unrelated_string_is_refused() -> None:
    text = NAMED_BY_THE_PROGRAM.replace("fused = sch.fuse(i, j)", 'sch.annotate(sch.get_block("B"), "B", 1)')
    before = evaluate(
        read_document(
            text.replace("sch.annotate(sch.get_block", "B = sch.get_block").replace('("B"), "B", 1)', '("B")')
        )
    )
    assert before.error is None
    with pytest.raises(DocumentError):
        renamed(before, "B", "C")


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", sorted((STATIC / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_every_line_of_an_example_applies_after_each_rename(path: Path) -> None:
    before = evaluate(load_document(path))
    assert before.schedule is not None
    for stmt in loops_and_blocks(before.schedule.func.body):
        if stmt is before.schedule.func.body:
            continue
        found = stmt.loop_var if isinstance(stmt, For) else stmt.block.name
        try:
            after = renamed(before, found, "renamed_thing")
        except DocumentError as error:
            assert error.refusal.code == "cannot-rename"
            continue
        assert after.error is None
        assert len(after.steps) >= len(before.steps)
        assert "renamed_thing" in after.document.text
