"""Moves and menus of the page edit a TileLang kernel in its own text."""

from __future__ import annotations

import pytest

from tilewright.app.actions.calls import CallOnRow
from tilewright.app.actions.drops import Move
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import Undo, act
from tilewright.app.jobs.drop_preview import targets
from tilewright.app.session.queries import menu
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.shell.gallery import FOLDER
from tilewright.app.views.tree.rows import tree_rows

GEMM = (FOLDER / "tilelang_gemm.py").read_text()
ATTENTION = (FOLDER / "tilelang_attention.py").read_text()


def text_of(state: State) -> str:
    assert state.notebook is not None and state.notice is None, state.notice
    return state.notebook.document.text


END = "\n\n# %% schedule"
CALL, GEMM_LINE = "num_stages=3)" + END, "T.gemm(A_shared, B_shared, C_local"
SCOPED = "A_shared = T.alloc_"


@pytest.mark.parametrize(
    ("call", "old", "new"),
    [
        (CallOnRow("kernel_stages", "k", {"stages": 1}), CALL, "num_stages=1)" + END),
        (CallOnRow("kernel_value", "bx", {"name": "block_N", "value": "64"}), CALL, "num_stages=3, block_N=64)" + END),
        (CallOnRow("kernel_scope", "A_shared_copy", {"scope": "local.fragment"}), SCOPED + "shared", SCOPED + "fragment"),
        (CallOnRow("kernel_policy", "gemm", {"policy": "FullRow"}), GEMM_LINE, GEMM_LINE + ", policy=T.GemmWarpPolicy.FullRow"),
        (CallOnRow("kernel_slots", "A_shared_copy", {"slots": 2}), CALL, "num_stages=2)" + END),
        (CallOnRow("kernel_layout", "A_shared_copy", {"buffer": "A_shared", "layout": "linear"}), " " * 12 + "T.clear(C_local)\n",
         " " * 12 + "T.annotate_layout({A_shared: tilelang.layout.make_linear_layout(A_shared)})\n" + " " * 12 + "T.clear(C_local)\n"),
        (CallOnRow("kernel_panel", "bx", {"panel": 8}), " " * 12 + SCOPED, " " * 12 + "T.use_swizzle(8)\n" + " " * 12 + SCOPED),
    ],
)  # fmt: skip
def test_an_entry_of_the_menu_edits_the_text(call: CallOnRow, old: str, new: str) -> None:
    state = act(State(), OpenText(GEMM))
    made = act(state, call)
    assert text_of(made) == GEMM.replace(old, new)
    assert text_of(act(made, Undo())) == GEMM


def test_a_drop_moves_the_statement() -> None:
    state = act(State(), OpenText(ATTENTION))
    found = {entry.loop: entry for entry in targets(state, Store(), ("Q_shared_copy",))}
    assert [loop for loop, entry in found.items() if entry.legal] == ["k"]
    assert found["bx"].code == "already-there"
    made = act(state, Move("Q_shared_copy", "k", "compute_at"))
    assert "                T.copy(Q[by, bx * block_M, 0], Q_shared)\n                T.gemm(" in text_of(made)


def test_refused_edits_say_why_and_change_nothing() -> None:
    state = act(State(), OpenText(GEMM))
    for call, code in (
        (CallOnRow("kernel_order", "gemm", {"side": "earlier"}), "dependence"),
        (CallOnRow("kernel_stages", "k", {"stages": "many"}), "bad-arguments"),
        (Move("A_shared_copy", "bx", "compute_at"), "depends-on-loop"),
    ):
        made = act(state, call)
        assert made.notice is not None and made.notice.code == code
        assert made.notebook is state.notebook


def test_the_menus_of_a_kernel_have_its_edits_first() -> None:
    state = act(State(), OpenText(GEMM))
    assert [e.label for e in menu(state, Store(), "k") if e.group == "Kernel text" and not e.disabled] == ["Stages…"]
    assert [e.label for e in menu(state, Store(), "bx") if e.group == "Kernel text" and not e.disabled] == [
        "Tiles, threads…",
        "Rasterisation…",
    ]
    assert [e.label for e in menu(state, Store(), "gemm") if e.group == "Kernel text" and not e.disabled] == [
        "Order…",
        "Memory…",
        "Warps…",
    ]
    none = act(state, CallOnRow("kernel_stages", "k", {"stages": 0}))
    assert [e.label for e in menu(none, Store(), "k") if e.group == "Kernel text" and not e.disabled] == ["Stages…"]
    scheduled = act(state, CallOnRow("unroll", "ax0", {}))
    assert all(e.group != "Kernel text" for e in menu(scheduled, Store(), "k"))


def test_the_badges_of_stages_and_threads_open_their_forms() -> None:
    state = act(State(), OpenText(GEMM))
    assert state.moment is not None
    rows = {row.id: row for row in tree_rows(state.moment.schedule.func, moment=state.moment)}
    assert rows["k"].revises == ("kernel_stages",) and rows["by"].revises == ("kernel_value",)
    assert rows["k"].badges[0].revises == "kernel_stages"
    scheduled = act(state, CallOnRow("unroll", "ax0", {}))
    assert scheduled.moment is not None
    again = {row.id: row for row in tree_rows(scheduled.moment.schedule.func, moment=scheduled.moment)}
    assert again["k"].revises == ()
