"""The inspector of a loop, a block, a buffer, and of the whole run without a selection."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions.pages import painted

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import SelectRow, act
from tilewright.app.document import DocumentError
from tilewright.app.protocol.messages import decode
from tilewright.app.state.model import State
from tilewright.app.state.row_ids import row_ids
from tilewright.app.views.inspector.value import inspector_value
from tilewright.app.views.labels.buffer_ids import accesses_of, buffer_ids
from tilewright.app.views.labels.numbers import grouped
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.analysis import ProgramIndex
from tilewright.engine.hwsim import Report
from tilewright.engine.script import parse


def example(name: str) -> State:
    (found,) = (e for e in load_examples() if e.name == name)
    return act(State(), OpenText(found.text, found.title))


def sections(value: dict[str, Any]) -> dict[tuple[str, str], dict[str, str]]:
    return {(part.title, part.kind): {name: text for name, text, _ in part.rows} for part in value.sections}


def test_no_selection_shows_memories_and_their_contents() -> None:
    value = inspector_value(*painted(example("place_the_copies")))
    assert value.kind == "nothing" and value.picker is None
    vtcm = next(m for m in value.memories if m.name == "vtcm")
    assert [b.name for b in vtcm.buffers] == ["A_local.vtcm", "B_local.vtcm"]
    assert all(block.over and block.share == 1.0 for block in vtcm.blocks)
    # The smallest memory comes first.
    assert value.memories[-1].scope == "global"
    assert {"Engines", "Stalls"} <= {part.title for part in value.sections} and value.traffic


def test_the_buffer_list_marks_bank_conflicts() -> None:
    value = inspector_value(*painted(example("what_moves_what")))
    (listed,) = (b for m in value.memories for b in m.buffers if b.id == "B")
    assert listed.note == "conflicts ×3" and listed.tone == "warn"


def test_costs_of_a_loop_are_those_of_its_tasks() -> None:
    state, store = painted(act(example("vtcm_double_buffer"), SelectRow("ko")))
    value = inspector_value(state, store)
    report = store.simulated(state)
    assert value.kind == "loop" and isinstance(report, Report)
    costs = sections(value)["Costs", "busy cycles"]
    below = {"A_local.vtcm", "B_local.vtcm", "C"}
    for engine, text in costs.items():
        cycles = sum(t.cycles for t in report.tasks if t.engine == engine and t.block in below)
        assert text.startswith(f"{grouped(cycles)} ")
    assert set(costs) == {"dma", "matrix"}
    assert sections(value)["ko", "loop"]["inside"] == "mo > no"


def test_a_product_of_a_tile_kernel_shows_its_warps_and_registers() -> None:
    state, store = painted(act(example("tilelang_gemm"), SelectRow("gemm")))
    rows = sections(inspector_value(state, store))["gemm", "block"]
    assert [rows[name] for name in ("threads", "warps", "registers")] == ["128", "2 × 2", "128"]
    assert not {"tl.gemm", "tl.copy"} & rows.keys()


@pytest.mark.parametrize(("machine", "threads"), [("sm80", "128"), ("sm90", "128 + 128")])
def test_the_grid_of_a_tile_kernel_shows_its_threads_and_shared_memory(machine: str, threads: str) -> None:
    (found,) = (e for e in load_examples() if e.name == "tilelang_gemm")
    state, store = painted(act(act(State(), OpenText(found.text.replace('"sm80"', f'"{machine}"'))), SelectRow("bx")))
    (section, *_) = inspector_value(state, store).sections
    rows = {name: (value, hint) for name, value, hint in section.rows}
    assert rows["threads"][0] == threads and rows["shared memory"][0] == "48\u202fKiB"
    assert "A_shared at 0, B_shared at 24,576" in rows["shared memory"][1]


def test_a_block_shows_its_engine_reason_and_buffers() -> None:
    value = inspector_value(*painted(act(example("vtcm_double_buffer"), SelectRow("C"))))
    assert value.kind == "block"
    engine = next(part for part in value.sections if part.kind == "engine")
    assert engine.title == "matrix" and "multiply-accumulate" in engine.note
    assert sections(value)["C", "block"]["writes"] == "C_local.acc[vm, vn]"
    assert {part.buffer for part in value.sections} >= {"A_local.vtcm", "B_local.vtcm", "C_local.acc"}


def test_a_buffer_keeps_the_row_selected_and_leads_back() -> None:
    state = act(act(example("vtcm_double_buffer"), SelectRow("C")), SelectRow(buffer="A_local.vtcm"))
    assert (state.selected, state.buffer) == ("C", "A_local.vtcm")
    value = inspector_value(*painted(state))
    assert value.kind == "buffer" and value.picker.name == "A_local.vtcm"
    assert [crumb.row for crumb in value.crumbs] == ["", "C"]
    assert act(state, SelectRow("C")).buffer == ""


def test_another_buffer_resets_the_view() -> None:
    state = act(example("vtcm_double_buffer"), SelectRow(buffer="A"))
    there = act(state, decode({"kind": "show_layout", "look": {"row": 8, "draft": "lambda i, j: [j, i]"}}))
    assert (there.look.row, act(there, SelectRow(buffer="A")).look.row) == (8, 8)
    assert act(there, SelectRow(buffer="B")).look.row == 0


@pytest.mark.parametrize("look", [{"row": -1}, {"nothing": 1}, {"draft": "x" * 3_000}, {"row": "x"}])
def test_an_invalid_view_is_refused(look: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="the message 'show_layout' has an invalid field 'look'"):
        decode({"kind": "show_layout", "look": look})


def test_a_buffer_in_an_unknown_scope_keeps_its_facts() -> None:
    text = next(e.text for e in load_examples() if e.name == "bank_conflicts").replace('"gpu-sm"', '"vta"')
    state = act(act(State(), OpenText(text)), SelectRow(buffer="A_shared"))
    value = inspector_value(*painted(state))
    assert value.kind == "buffer" and value.picker.grid is None
    assert "shared" in value.picker.note and value.picker.facts
    assert inspector_value(*painted(act(state, SelectRow()))).memories


TWO_OF_A_NAME = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), A_1: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A_1"):
            vi = T.axis.spatial(8, i)
            A_1[vi] = A[vi] + T.float32(1)
"""


def test_buffers_have_a_unique_id_and_blocks() -> None:
    func = parse(TWO_OF_A_NAME).program
    ids = buffer_ids(func)
    assert list(ids) == ["A", "A_1"]
    (written,) = accesses_of(ProgramIndex(func), row_ids(func), ids["A_1"])
    assert (written.block, written.side, written.position, written.argument) == ("A_1", "write", 0, ["write", 0])
