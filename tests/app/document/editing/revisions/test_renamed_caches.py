"""Later lines follow a cache, a block or a loop whose name an edit of an earlier line changes."""

from __future__ import annotations

import pytest

from tilewright.app.document import Notebook, evaluate, read_document
from tilewright.app.document.editing.revisions.follow import followed
from tilewright.app.document.editing.revisions.revise import revise
from tilewright.app.document.editing.revisions.statement import with_names

TEXT = """# %% workload
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
# %% schedule
sch = tilewright.Schedule(matmul)
i, j, k = sch.get_loops("C")
ko, ki = sch.split(k, factors=[None, 16], names=["ko", "ki"])
sch.cache_read("C", 0, "local")
AL = sch.get_block("A_local")
sch.compute_at("A_local", "ko")
sch.transform_layout("C", "A_local", lambda a, b: [b, a])
sch.annotate("A_local", "note", "A_local")
sch.cache_read("C", "A_local", "shared")
sch.get_block("A_local_shared")
"""


def opened(text: str) -> Notebook:
    notebook = evaluate(read_document(text))
    assert notebook.error is None
    return notebook


FOLLOWED = (
    TEXT.replace('0, "local")', '0, "shared")')
    .replace('"A_local"', '"A_shared"')
    .replace('"A_local_shared"', '"A_shared_shared"')
)
FOLLOWED = FOLLOWED.replace('"note", "A_shared"', '"note", "A_local"')


def test_later_lines_follow_a_new_scope_of_a_cache() -> None:
    before = opened(TEXT)
    step = next(step for step in before.steps if step.text == 'sch.cache_read("C", 0, "local")')
    after = revise(before, step.index, {"storage_scope": "shared"}).accepted()
    assert after.document.text == FOLLOWED
    assert after.error is None


def test_later_lines_follow_a_typed_scope() -> None:
    before = opened(TEXT)
    typed = read_document(TEXT.replace('0, "local")', '0, "shared")'))
    assert evaluate(typed, before).error is not None
    assert followed(before, evaluate(typed, before), typed).document.text == FOLLOWED


def test_later_lines_follow_a_renamed_block() -> None:
    before = opened(TEXT)
    typed = read_document(TEXT.replace('T.sblock("C")', 'T.sblock("product")'))
    after = followed(before, evaluate(typed, before), typed)
    assert after.error is None
    expected = TEXT.replace('T.sblock("C")', 'T.sblock("product")').replace('("C"', '("product"')
    assert after.document.text == expected


def test_later_lines_follow_renamed_loops() -> None:
    before = opened(TEXT)
    typed = read_document(TEXT.replace('names=["ko", "ki"]', 'names=["k_outer", "ki"]'))
    after = followed(before, evaluate(typed, before), typed)
    assert after.error is None and 'sch.compute_at("A_local", "k_outer")' in after.document.text


@pytest.mark.parametrize(
    "edit",
    [
        ('"ko")', '"gone")'),
        ("factors=[None, 16]", "factors=[None, 16, 3]"),
        ('get_block("A_local")', 'get_block("A_loc")'),
    ],
)
def test_an_edit_that_breaks_a_line_otherwise_stays_as_typed(
    edit: tuple[str, str],
) -> None:
    before = opened(TEXT)
    typed = read_document(TEXT.replace(*edit, 1))
    after = followed(before, evaluate(typed, before), typed)
    assert after.error is not None and after.document.text == typed.text


def test_lines_that_still_apply_do_not_change() -> None:
    before = opened(TEXT)
    typed = read_document(TEXT + 'sch.annotate("C", "more", 1)\n')
    assert followed(before, evaluate(typed, before), typed).document.text == typed.text


def test_renaming_replaces_only_references_in_each_statement() -> None:
    text = 'k = sch.get_loops("C")[2]\nsch.compute_at("A", "k")\nsch.annotate("A", "A", "A")'
    expected = 'k = sch.get_loops("P")[2]\nsch.compute_at("B", "k")\nsch.annotate("B", "A", "A")'
    assert with_names(text, {"A": "B", "C": "P"}) == expected
