"""The layout picker's values: every shown metric is simulated on the program after the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.sessions.pages import painted

from tilewright.app.actions.calls import CallOnRow
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import SelectRow, ShowLayout, ViewStep, act
from tilewright.app.jobs.analyses.layouts import layout_analysis
from tilewright.app.state.derived import Store
from tilewright.app.state.model import Look, State
from tilewright.app.views.labels.buffer_ids import buffer_ids
from tilewright.app.views.labels.numbers import grouped
from tilewright.app.views.layouts import layout_value
from tilewright.app.views.layouts.grid import MIXED
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.hwsim import Report, placement_of

PADDED = "sch.storage_align(A_shared, 0, 0, 32, 1)\n"


def example(name: str, buffer: str, without: str = "") -> State:
    (found,) = (e for e in load_examples() if e.name == name)
    assert without in found.text
    state = act(State(), OpenText(found.text.replace(without, "") if without else found.text, found.title))
    return act(state, SelectRow(buffer=buffer))


def unpadded() -> State:
    return example("bank_conflicts", "A_shared", PADDED)


def value_of(state: State, store: Store) -> dict[str, Any]:
    """The picker's value after its background analysis."""
    store.simulated(state)
    while (work := layout_analysis(state, store)) is not None:
        work.run(store)
    value = layout_value(state, store, 0)
    assert value is not None
    return value


def applied(state: State, call: dict[str, Any]) -> State:
    after = act(state, CallOnRow(call.method, call.target, call.arguments))
    assert after.notice is None, after.notice
    return after


def typed(state: State, text: str) -> State:
    return act(state, ShowLayout(Look(draft=text)))


def card(value: dict[str, Any], key: str) -> dict[str, Any]:
    return next(c for c in value.cards if c.key == key)


def figure(card: dict[str, Any], name: str) -> str:
    return next(value for label, value, *_ in card.figures if label == name)


def lost(report: Report, name: str) -> tuple[int, int]:
    rows = [row for row in report.conflicts if name in row.buffers]
    return max((row.degree for row in rows), default=1), sum(row.cycles for row in rows)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "buffer", "without"),
    [
        ("bank_conflicts", "A_shared", PADDED),
        ("vtcm_double_buffer", "A_local.vtcm", ""),
        pytest.param("what_moves_what", "B", "", marks=pytest.mark.slow),
        pytest.param("cache_blocking", "A", "", marks=pytest.mark.slow),
        ("box_blur", "x_blur", ""),
    ],
)
def test_card_metrics_are_simulated_on_the_applied_program(name: str, buffer: str, without: str) -> None:
    state, store = painted(example(name, buffer, without))
    value = value_of(state, store)
    assert value.cards[0].key == "now" and len(value.cards) >= 2
    tried = 0
    for shown in value.cards:
        assert not shown.waiting
        if shown.refused is not None or shown.call is None:
            continue
        after = applied(state, shown.call)
        report = store.simulated(after)
        assert isinstance(report, Report) and after.moment is not None
        placement = placement_of(report.program, buffer_ids(store.costed(after, after.moment.schedule))[buffer])
        assert placement is not None
        degree, cycles = lost(report, placement.buffer.name)
        assert tuple(shown.rank) == (report.cycles, cycles, placement.placement.total_bytes)
        if report.caches is None:
            assert figure(shown, "conflicts") == ("none" if degree == 1 else f"×{degree}")
        else:
            own = [row for row in report.caches.rows if row.cache == "L1" and row.buffer == buffer]
            assert figure(shown, "misses") == grouped(sum(row.read_misses + row.write_misses for row in own))
        tried += 1
        # The line in the notebook is the shown one, except for the variable of the block.
        assert after.notebook is not None
        line = after.notebook.steps[-1].text.replace("tilewright.", "")
        assert line.partition("(")[0] == shown.call.text.partition("(")[0]
        assert line.partition(", ")[2] == shown.call.text.partition(", ")[2]
    assert tried


@pytest.mark.slow
def test_padding_is_the_fastest_layout_for_a_column_in_one_bank() -> None:
    value = value_of(unpadded(), Store())
    now, padded, swizzled = (card(value, key) for key in ("now", "padded 1", "swizzled"))
    assert figure(now, "conflicts") == "×32" and figure(padded, "conflicts") == figure(swizzled, "conflicts") == "none"
    assert padded.best and not now.best and padded.trend == "better"
    columns = {c.key: c.thumb.shades[0::32] for c in (now, padded, swizzled)}
    assert len(set(columns["now"])) == 1
    assert len(set(columns["padded 1"])) == len(set(columns["swizzled"])) == 32
    # A swizzle wastes nothing, padding one float a row.
    assert swizzled.rank[2] == now.rank[2] == 32 * 32 * 4
    assert padded.rank[2] == 32 * 33 * 4


@pytest.mark.slow
def test_a_piecewise_swizzle_keeps_copies_whole_with_fewer_conflicts() -> None:
    value = value_of(unpadded(), Store())
    now, fine, wide = (card(value, key) for key in ("now", "swizzled", "swizzled wide"))
    assert wide.key == "swizzled wide" and figure(wide, "conflicts") == "×4"
    # Sixteen bytes stay together: the copy is listed in fewer runs than one of single floats.
    assert wide.rank[0] < now.rank[0] < fine.rank[0]


@pytest.mark.slow
def test_an_access_shows_its_lanes_banks_and_turns() -> None:
    value = value_of(unpadded(), Store())
    fill, read = value.uses
    assert (fill.block, fill.written, fill.kind) == ("A_shared", True, "dma")
    assert (read.block, read.written, read.kind, read.worst) == ("B", False, "vector", 32)
    assert read.count == len(read.steps) == 32 and read.all
    second = read.steps[1]
    assert second.taken == [1, 32, 32] and second.hits == [(1, 32, 0)] and second.degree == 32
    assert fill.steps[3].taken == [96, 1, 32] and fill.steps[3].degree == 1


def test_rows_of_operands_accessed_together_are_shown() -> None:
    value = value_of(example("what_moves_what", "B"), Store())
    write = next(use for use in value.uses if use.written)
    step = write.steps[0]
    assert step.degree == 2 and step.others == ["A_local"]
    # 64 lanes of four bytes are eight rows of 32, of each operand.
    assert [sum(hit[n] for hit in step.hits) for n in (1, 2)] == [8, 8]


@pytest.mark.slow
def test_each_grid_cell_has_its_address_and_bank() -> None:
    grid = value_of(unpadded(), Store()).grid
    assert (grid.rows, grid.columns, grid.scale, grid.unit, grid.unit_count) == (32, 32, 1, "bank", 32)
    assert grid.addresses == [4 * n for n in range(1024)]
    assert grid.units == [n % 32 for n in range(1024)]


def test_a_large_buffer_is_shown_in_a_window_or_scaled() -> None:
    state, store = painted(example("bank_conflicts", "A"))
    grid = value_of(state, store).grid
    assert (grid.rows, grid.columns, grid.height, grid.width, grid.scale) == (256, 256, 64, 64, 1)
    moved = act(state, ShowLayout(Look(row=100, column=30)))
    there = value_of(moved, store).grid
    assert there.addresses[0] == (100 * 256 + 30) * 4 and there.addresses[64] == (101 * 256 + 30) * 4
    beyond = value_of(act(state, ShowLayout(Look(row=10_000, column=10_000))), store).grid
    assert (beyond.row, beyond.column) == (192, 192)
    whole = value_of(act(state, ShowLayout(Look(across=256))), store).grid
    assert (whole.scale, whole.height, whole.width) == (4, 64, 64)
    assert whole.addresses[1] == 16 and whole.addresses[64] == 4 * 256 * 4


@pytest.mark.slow
def test_cells_of_several_banks_are_marked() -> None:
    state, store = painted(unpadded())
    tall = applied(state, card(value_of(state, store), "padded 1").call)
    # 64 cells hold a tile of 32; a small one is shown in fewer.
    small = value_of(act(tall, ShowLayout(Look(across=8))), store).grid
    assert (small.height, small.width, small.scale) == (8, 8, 1) and MIXED not in small.units
    state = example("vtcm_two_halves", "A_local.vtcm")
    grid = value_of(state, store).grid
    assert grid.unit == "block" and grid.scale == 2
    assert set(grid.units) == {0, 1}


@pytest.mark.sample(1)
@pytest.mark.parametrize("key", ["padded 1", "swizzled", "tiled 16", "order [1, 0]"])
def test_a_hovered_card_previews_the_applied_layout(key: str) -> None:
    state, store = painted(unpadded())
    before = value_of(state, store)
    shown = card(before, key)
    grid = value_of(act(state, ShowLayout(Look(preview=shown.key))), store).grid
    assert grid.preview == shown.title and before.grid.preview == ""
    after = applied(state, shown.call)
    real = store.simulated(after)
    assert isinstance(real, Report) and after.moment is not None
    placement = placement_of(real.program, buffer_ids(store.costed(after, after.moment.schedule))["A_shared"])
    assert placement is not None
    # The first rows of the tile, where the call says that they go.
    i, j = np.indices((32, 32))
    place = {
        "padded 1": (i, j),
        "swizzled": (i, j // 32, j % 32 ^ i % 32),
        "tiled 16": (i // 16, j // 16, i % 16, j % 16),
        "order [1, 0]": (j, i),
    }[key]
    addresses = placement.addresses(place)
    assert grid.addresses == addresses.address.reshape(-1).tolist()
    assert grid.units == addresses.unit.reshape(-1).tolist()


def test_an_unknown_preview_leaves_the_grid_unchanged() -> None:
    state, store = painted(unpadded())
    assert value_of(act(state, ShowLayout(Look(preview="no such"))), store).grid.preview == ""
    # A typed map has a preview, too.
    text = "lambda i, j: [j, i]"
    now = act(state, ShowLayout(Look(draft=text, preview=f"custom {text}")))
    grid = value_of(now, store).grid
    assert grid.preview == "custom map" and grid.addresses[1] == 32 * 4


@pytest.mark.slow
def test_the_chosen_slot_is_shown() -> None:
    state, store = painted(example("vtcm_double_buffer", "A_local.vtcm"))
    first, second = (value_of(act(state, ShowLayout(Look(slot=n))), store).grid for n in (0, 1))
    assert (first.slots, set(first.units), set(second.units)) == (2, {0}, {1})


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("lambda i, j: [i", "syntax"),
        ("lambda i: [i]", "bad-index-map"),
        ("lambda i, j: [i, 0]", "not-bijective"),
        ("lambda i, j: [i, j // 2]", "not-bijective"),
        ("lambda i, j: [i // 3, i % 3, j]", "layout-needs-padding"),
        ("__import__('os').getcwd()", ""),
        ("lambda i, j: [open('x'), j]", ""),
        ("(" * 900, ""),
        ("lambda i, j: [i, j]); import os; (", ""),
        ("lambda i, j: [i,\x00 j]", ""),
    ],
)
def test_a_wrong_typed_map_is_reported_and_changes_nothing(text: str, code: str) -> None:
    state, store = painted(unpadded())
    draft = value_of(typed(state, text), store).draft
    assert draft.status == "wrong" and draft.card is None
    assert code in draft.error.code and draft.error.message
    if code == "syntax":
        # The error is the user's open bracket, not one that Tilewright added.
        assert draft.column == text.index("[") + 1 and draft.error.message == "'[' was never closed"


@pytest.mark.slow
def test_a_map_with_unused_addresses_offers_zeros() -> None:
    state, store = painted(unpadded())
    draft = value_of(typed(state, "lambda i, j: [i // 3, i % 3, j]"), store).draft
    after = applied(state, draft.padded)
    assert after.moment is not None
    shape = buffer_ids(after.moment.schedule.func)["A_shared"].shape
    assert len(shape) == 3


def test_a_valid_typed_map_has_a_simulated_card() -> None:
    state, store = painted(unpadded())
    now = typed(state, "lambda i, j: [i // 8, j // 8, i % 8, j % 8]")
    before = layout_value(now, store, 0)
    assert before is not None and before.draft.status == "checking"
    draft = value_of(now, store).draft
    assert draft.status == "right"
    report = store.simulated(applied(now, draft.card.call))
    assert isinstance(report, Report) and draft.card.rank[0] == report.cycles


@pytest.mark.slow
def test_a_typed_swizzle_is_checked_element_by_element() -> None:
    state, store = painted(unpadded())
    good = value_of(typed(state, "lambda i, j: [i, j // 32, j % 32 ^ i % 32]"), store).draft
    assert good.status == "right" and good.card.call.arguments["assume_injective_transform"] is True
    bad = value_of(typed(state, "lambda i, j: [i, j // 32, j % 16 ^ i % 32]"), store).draft
    assert bad.status == "wrong" and bad.error.code == "not-bijective"


def test_an_offset_swizzle_is_checked_and_shown_by_name() -> None:
    state, store = painted(unpadded())
    draft = value_of(state, store).draft
    names, (rows, columns) = draft.names, draft.extents
    offset = f"({names[0]} * {columns} + {names[1]})"
    swizzled = f"({offset} ^ {offset} // {columns} % 8)"
    text = f"lambda {', '.join(names)}: [{swizzled} // {columns} % {rows}, {swizzled} % {columns}]"
    state = typed(state, text)
    found = value_of(state, store)
    assert found.draft.status == "right", found["draft"]
    assert figure(found.draft.card, "conflicts")
    grid = found.grid
    assert len(grid.axes) == 2 and len(set(grid.axes)) == 2
    assert grid.base == grid.addresses[0]


@pytest.mark.parametrize(
    ("name", "buffer", "without"), [("bank_conflicts", "A_shared", PADDED), ("vtcm_double_buffer", "B_local.vtcm", "")]
)
def test_an_accepted_setting_is_shown(name: str, buffer: str, without: str) -> None:
    state, store = painted(example(name, buffer, without))
    seen = 0
    for control in value_of(state, store).controls:
        for option in getattr(control, "options", ()):
            if option.call is None:
                continue
            after = act(state, CallOnRow(option.call.method, option.call.target, option.call.arguments))
            assert after.notice is None, (option, after.notice)
            if control.id in ("scope", "slots"):
                there = layout_value(after, store, 0)
                assert there is not None
                again = next(c for c in there.controls if c.id == control.id)
                assert again.value == option.value
            seen += 1
    assert seen >= 4


@pytest.mark.slow
def test_the_scope_shows_which_memory_fits() -> None:
    state, store = painted(example("place_the_copies", "A_local.vtcm"))
    (scope,) = (c for c in value_of(state, store).controls if c.id == "scope")
    notes = {option.value: option.note for option in scope.options}
    assert notes["global"].startswith("fits") and notes["local.acc"].startswith("too large")
    parameter = value_of(act(state, SelectRow(buffer="A")), store)
    (scope,) = (c for c in parameter.controls if c.id == "scope")
    assert "cache_read" in scope.blocked


def test_padding_can_be_removed() -> None:
    state, store = painted(example("bank_conflicts", "A_shared"))
    (padding,) = (c for c in value_of(state, store).controls if c.id == "padding")
    assert "mod 32" in padding.value
    off = next(o for o in padding.options if o.value == "none").call
    report = store.simulated(applied(state, off))
    assert isinstance(report, Report) and lost(report, "A_shared")[0] == 32


def test_reuse_and_traffic_cover_the_whole_run() -> None:
    facts = {name: value for name, value, _ in value_of(example("place_the_copies", "A_local.vtcm"), Store()).facts}
    assert facts["live tile"] == "256 × 512" and facts["reuse"] == "×8"
    assert facts["written"] == "512\u202fKiB" and facts["read"] == "4\u202fMiB"


def test_cancelled_layout_trials_resume() -> None:
    state, store = painted(unpadded())
    work = layout_analysis(state, store)
    assert work is not None
    pieces = work.pieces()
    for _ in range(3):
        work.take(next(pieces), store)
    again = layout_analysis(state, store)
    assert again is not None
    first = next(again.pieces())
    assert len(first.trials) == 3


STRIDED = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32", strides=[128, 1]), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""


def test_a_refused_layout_has_a_reason_and_no_metrics() -> None:
    state, store = painted(act(act(State(), OpenText(STRIDED)), SelectRow(buffer="A")))
    refused = card(value_of(state, store), "order [1, 0]").refused
    assert refused.code == "strided-buffer" and "strides" in refused.message
    assert not card(value_of(state, store), "order [1, 0]").figures


def test_share_of_bursts_of_a_far_column_is_shown() -> None:
    state, store = painted(example("bank_conflicts", "B"))
    facts = {name: value for name, value, _ in value_of(state, store).facts}
    report = store.simulated(state)
    assert isinstance(report, Report)
    rows = [row for row in report.bursts if row.buffer == "B"]
    share = sum(row.wanted_bytes for row in rows) / sum(row.moved_bytes for row in rows)
    assert facts["bursts used"] == f"{100 * share:.0f}\u202f%"


@pytest.mark.slow
def test_at_an_earlier_step_calls_go_to_the_end() -> None:
    state = example("bank_conflicts", "A_shared")
    assert state.shown is not None
    back = act(state, ViewStep(len(state.shown.states) - 2))
    value = value_of(back, Store())
    assert value.fixed and figure(card(value, "now"), "conflicts") == "×32"


def test_a_deleted_buffer_has_no_picker() -> None:
    state = act(unpadded(), SelectRow(buffer="nobody"))
    assert layout_value(state, Store(), 0) is None and layout_analysis(state, Store()) is None


SYMBOLIC = """
M, K = te.var("M"), te.var("K")
A = te.placeholder((M, K), name="A")
B = te.compute((M, K), lambda m, k: A[m, k] + 1.0, name="B")
s = te.create_schedule(B.op)
AL = s.cache_read(A, "local.vtcm", [B])
mo, ko, mi, ki = s[B].tile(*B.op.axis, 64, 128)
s[AL].compute_at(s[B], ko)
"""


def test_symbolic_sizes_offer_halves_of_the_tile_in_each_block() -> None:
    read = act(State(), OpenText(SYMBOLIC)).notebook
    assert read is not None
    line = 'machine = tilewright.machine("dual-bank-npu")\n'
    text = read.document.text.replace(line, line + 'sizes = {"M": 256, "K": 512}\n')
    state = act(act(State(), OpenText(text)), SelectRow(buffer="A_local.vtcm"))
    store = Store()
    half = card(value_of(state, store), "parts 1")
    assert half.title == "[2][…] parts of k" and not half.refused
    after = applied(state, half.call)
    report = store.simulated(after)
    assert isinstance(report, Report)
    assert [m.peak_bytes for name, m in report.memory.items() if name.startswith("local.vtcm[")] == [1 << 14] * 2


def test_axes_have_the_names_of_the_program_and_every_order_of_an_image_is_offered() -> None:
    value = value_of(act(example("box_blur", "x_blur"), ViewStep(3)), Store())
    assert value.grid.axes == ("y", "x", "c")
    assert "order x, c, y" in [c.title for c in value.cards]


def test_a_shared_buffer_of_a_tile_kernel_shows_the_layout_of_the_compiler() -> None:
    value = value_of(*painted(example("tilelang_gemm", "B_shared")))
    facts = {name: (text, about) for name, text, about in value.facts}
    assert facts["stored"] == ("swizzle of 128 bytes", "TileLang's layout: operand of mma")
