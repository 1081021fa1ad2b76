"""Every entry of the tree's menus, opened in a real browser at an applicable row: its form is complete, shows its call, and makes it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.tree_bench import Bench, go_to
from support.programs.intrins import mma

from tilewright.app.views.menus.table import BLOCK_ITEMS, LOOP_ITEMS
from tilewright.app.views.tree.rows import row_ids
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import Var
from tilewright.engine.schedule import Schedule

PROGRAM = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((32, 64), "float32"), B: T.Buffer((64, 32), "float32"), C: T.Buffer((32, 32), "float32"),
         D: T.Buffer((32, 32), "float32"), E: T.Buffer((32, 32), "float32"), O: T.Buffer((30, 32), "float32")):
    S = T.sblock_alloc_buffer((32, 32), "float32", scope="local.vtcm")
    P = T.sblock_alloc_buffer((32, 32), "float32", scope="local.vtcm")
    for i, j, k in T.grid(32, 32, 64):
        with T.sblock("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + A[vi, vk] * B[vk, vj]
    for e, f in T.grid(32, 32):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [e, f])
            D[vi, vj] = S[vi, vj] + E[vi, vj]
    for u, w in T.grid(32, 32):
        with T.sblock("U"):
            vi, vj = T.axis.remap("SS", [u, w])
            C[vi, vj] = C[vi, vj] * T.float32(2)
    for t in range(6):
        for p, q in T.grid(7, 32):
            with T.sblock("P"):
                vi = T.axis.spatial(32, t * 5 + p)
                vj = T.axis.spatial(32, q)
                P[vi, vj] = T.if_then_else(1 <= vj and vj < 31, C[vi, vj - 1], T.float32(0))
        for x, y, z in T.grid(5, 32, 3):
            with T.sblock("O"):
                vi = T.axis.spatial(30, t * 5 + x)
                vj = T.axis.spatial(32, y)
                vz = T.axis.reduce(3, z)
                with T.init():
                    O[vi, vj] = T.float32(0)
                O[vi, vj] = O[vi, vj] + P[vi + vz, vj]
"""

HARDLY = {"double_buffer": "P", "unannotate": "t", "rolling_buffer": "P", "rfactor": "k", "read_at": "t"}
"""Preferred rows for entries that apply to several."""
CALLED = ("rfactor", "reindex", "read_at", "decompose_padding", "fuse_reduction_epilogue", "rolling_buffer",
          "cache_inplace", "merge", "loop_partition", "pipeline", "set_layout")  # fmt: skip
"""Entries that are applied with the arguments that the form proposes."""


def noted(sch: Schedule) -> None:
    sch.annotate("t", "note", 1)
    sch.annotate("D", "note", 1)


def entry_places(bench: Bench) -> list[tuple[str, dict[str, Any]]]:
    """For each entry of the two menus, an applicable row."""
    menus, ids = bench.menus(), row_ids(bench.schedule.func)
    found: list[tuple[str, dict[str, Any]]] = []
    for items, kind in ((LOOP_ITEMS, Var), (BLOCK_ITEMS, str)):
        for item in items:
            rows = [
                (row, entry)
                for row, handle in ids.items()
                if isinstance(handle, kind)
                for entry in menus[row]
                if (entry.method, entry.key) == (item.method, item.key) and not entry.disabled
            ]
            assert rows, f"{item.label} applies nowhere"
            found.append(next((r for r in rows if r[0] == HARDLY.get(item.method)), rows[0]))
    return found


@pytest.fixture
def bench(serve, open_page):
    tree_bench = Bench(PROGRAM, noted, machine=load_machine("dual-bank-npu"), intrinsics={"mma": mma()})
    page = open_page(width=1280, height=800)
    go_to(page, serve(lambda: tree_bench.view(height=780)))
    page.locator('.row[data-id="S"]').wait_for()
    return tree_bench, page


LOOK = """(root) => {
    const clipped = [], sheet = root.getBoundingClientRect();
    if (sheet.x < 0 || sheet.y < 0 || sheet.right > innerWidth || sheet.bottom > innerHeight) clipped.push('the sheet');
    for (const part of root.querySelectorAll('*')) {
        const box = part.getBoundingClientRect();
        if (!box.width || !box.height) continue;
        if (box.left < sheet.left - 1 || box.right > sheet.right + 1 || box.bottom > sheet.bottom + 1)
            clipped.push(`${part.tagName}.${part.className} out of the sheet: ${part.textContent.slice(0, 40)}`);
        if (['LABEL', 'BUTTON', 'H3', 'SPAN'].includes(part.tagName) && part.scrollWidth > part.clientWidth + 1 && part.clientWidth)
            clipped.push(`${part.tagName}.${part.className} cut: ${part.textContent.slice(0, 40)}`);
    }
    return clipped;
}"""


def opened(page: Page, row: str, entry: Any) -> Locator:
    page.locator(f'.row[data-id="{row}"]').focus()
    page.keyboard.press(entry.key)
    form = page.get_by_role("dialog")
    form.wait_for()
    return form


def assert_whole(page: Page, form: Locator, entry: Any) -> None:
    """Nothing of a form is cut off, and it shows its call."""
    if all(item.optional or item.default != "" for item in entry.fields):
        expect(form.locator("code")).to_contain_text(f"sch.{entry.method}(")
    assert page.locator(".sheet").evaluate(LOOK) == [], entry.label
    for item in entry.fields:
        expect(form.get_by_text(item.label).first).to_be_visible()


@pytest.mark.slow
def test_forms_are_complete_and_make_the_calls_they_propose(bench):
    tree_bench, page = bench
    for row, entry in entry_places(tree_bench):
        if entry.method not in CALLED or not entry.fields:
            continue
        before = tree_bench.schedule.func
        form = opened(page, row, entry)
        assert_whole(page, form, entry)
        form.get_by_role("button", name="Apply").click()
        expect(form, entry.label).to_have_count(0)
        assert tree_bench.schedule.func is not before, entry.label
        tree_bench.schedule.undo()
        tree_bench.show()


@pytest.mark.slow
def test_every_form_is_complete_and_shows_its_call(bench, shoot):
    tree_bench, page = bench
    for row, entry in entry_places(tree_bench):
        if not entry.fields:
            continue
        form = opened(page, row, entry)
        assert_whole(page, form, entry)
        shoot(page, f"form-{entry.method}-{entry.key}")
        page.keyboard.press("Escape")
        expect(form).to_have_count(0)
    assert tree_bench.kinds() == []
