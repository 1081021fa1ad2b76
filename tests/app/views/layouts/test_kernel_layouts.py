"""The layout picker of a TileLang kernel: its choices are entries of `T.annotate_layout` in the kernel's text."""

from __future__ import annotations

from typing import Any

from tilewright.app.actions.calls import CallOnRow
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import SelectRow, Undo, act
from tilewright.app.jobs.analyses.layouts import layout_analysis
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.layouts import layout_value
from tilewright.app.views.shell.gallery import FOLDER

GEMM = (FOLDER / "tilelang_gemm.py").read_text()
LINE = "T.annotate_layout({A_shared: tilelang.layout.make_linear_layout(A_shared)})"


def picker(state: State) -> Any:
    store = Store()
    store.simulated(state)
    while (work := layout_analysis(state, store)) is not None:
        work.run(store)
    return layout_value(state, store, 0)


def opened(text: str) -> State:
    return act(act(State(), OpenText(text)), SelectRow(buffer="A_shared"))


def cycles(card: Any) -> str:
    return next(value for name, value, *_ in card.figures if name == "cycles")


def test_a_card_is_an_entry_of_the_text_with_the_cycles_that_it_shows() -> None:
    state = opened(GEMM)
    cards = {card.key: card for card in picker(state).cards}
    linear = cards["linear"]
    assert cycles(cards["now"]) == "711\u202f656" and linear.trend == "worse"
    after = act(state, CallOnRow(linear.call.method, linear.call.target, linear.call.arguments))
    assert after.notice is None and after.notebook is not None and LINE in after.notebook.document.text
    now = picker(act(after, SelectRow(buffer="A_shared")))
    assert cycles(next(card for card in now.cards if card.current)) == cycles(linear)
    control = next(c for c in now.controls if c.label == "Layout")
    assert control.value == "linear" and next(o for o in control.options if o.value == "linear").call is None
    again = act(after, Undo())
    assert again.notebook is not None and again.notebook.document.text == GEMM


def test_a_layout_that_the_compiler_refuses_for_a_product_is_refused() -> None:
    cards = {card.key: card for card in picker(opened(GEMM.replace('"sm80"', '"sm90"'))).cards}
    assert cards["linear"].refused.code == "layout-refused"
    assert "two operations need different layouts" in cards["linear"].refused.message
    assert cards["quarter_bank_swizzled"].refused is None


def test_slots_are_set_in_the_text_on_every_machine() -> None:
    text = (FOLDER / "ascend_gemm_cores.py").read_text().partition('sch.double_buffer("A_L0_copy")')[0]
    serial = text.replace("T.Pipelined(K // K_L1, num_stages=2)", "T.serial(K // K_L1)")
    state = act(act(State(), OpenText(serial)), SelectRow(buffer="A_L1"))
    slots = next(c for c in layout_value(state, Store(), 0).controls if c.label == "Slots")  # pyright: ignore[reportOptionalMemberAccess]
    (two,) = [o.call for o in slots.options if o.value == "2"]
    after = act(state, CallOnRow(two.method, two.target, two.arguments))
    assert after.notice is None and after.notebook is not None
    assert "T.Pipelined(K // K_L1, num_stages=2)" in after.notebook.document.text
