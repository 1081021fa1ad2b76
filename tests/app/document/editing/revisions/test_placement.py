"""Moves of placed blocks: the step that placed a block gets another loop, and the later lines are applied again."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.app.components.esm import STATIC
from tilewright.app.document import Notebook, evaluate, read_document
from tilewright.app.document.editing.revisions.later_lines import LATER_STEPS, Revised
from tilewright.app.document.editing.revisions.placement import Method, StepPlacement, placement_of
from tilewright.app.document.editing.revisions.relocation import Relocation
from tilewright.app.document.editing.revisions.revise import revise
from tilewright.app.document.editing.revisions.steps import last_step
from tilewright.engine.ir import TilewrightError, Var, structural_equal
from tilewright.engine.schedule import Schedule

EXAMPLES = (
    "box_blur", "explore_tiles", "fused_matmul_relu", "gemmini_gemm", "place_the_copies", "vtcm_double_buffer", "vtcm_two_halves",
    "what_moves_what",
)  # fmt: skip


@cache
def opened(name: str) -> Notebook:
    text = Path(STATIC, "examples", f"{name}.py").read_text(encoding="utf-8")
    notebook = evaluate(read_document(text))
    assert notebook.error is None
    return notebook


def placed(notebook: Notebook, block: str) -> StepPlacement:
    found = placement_of(notebook, block)
    assert found is not None
    return found


def loop_called(notebook: Notebook, name: str) -> Var:
    assert notebook.schedule is not None
    return notebook.schedule.copy().get_loop(name)


def relocation(notebook: Notebook, *blocks: str, method: Method | None = None) -> Relocation:
    return Relocation(notebook, len(notebook.states) - 1, blocks, method)


def moved(notebook: Notebook, block: str, name: str) -> Revised:
    return relocation(notebook, block).moved(loop_called(notebook, name))


def program(notebook: Notebook) -> object:
    assert notebook.error is None and notebook.schedule is not None
    return notebook.schedule.mod


def test_moving_a_block_outward_changes_only_its_loop_argument() -> None:
    before = opened("vtcm_double_buffer")
    after = moved(before, "A_local.vtcm", "no").accepted()
    assert after.document.text == before.document.text.replace("sch.compute_at(AL, ko)", "sch.compute_at(AL, no)")
    assert len(after.steps) == len(before.steps)


def test_moving_back_restores_the_text() -> None:
    before = opened("vtcm_double_buffer")
    after = moved(before, "A_local.vtcm", "mo").accepted()
    assert moved(after, "A_local.vtcm", "ko").accepted().document.text == before.document.text


def test_a_step_moves_behind_the_line_that_creates_its_loop() -> None:
    text = opened("vtcm_double_buffer").document.text.rstrip("\n")
    before = evaluate(
        read_document(
            text.replace("# %% report", "# %% schedule\nk0, k1 = sch.split(ki, factors=[2, None])\n\n# %% report")
        )
    )
    assert before.error is None
    name = before.names["k0"].name
    after = moved(before, "A_local.vtcm", name).accepted()
    lines = [step.text for step in after.steps]
    assert lines.index("sch.compute_at(AL, k0)") == lines.index("k0, k1 = sch.split(ki, factors=[2, None])") + 1
    assert "sch.compute_at(AL, ko)" not in lines


def test_get_loops_lines_find_the_same_loops() -> None:
    before = opened("vtcm_two_halves")
    after = moved(before, "A_local.vtcm", "mo").accepted()
    assert "mo, am, ak = sch.get_loops(AL)" in [step.text for step in after.steps]
    assert "mo, no, ko, am, ak = sch.get_loops(AL)" in [step.text for step in before.steps]


def test_failing_later_steps_are_named_and_can_be_disabled() -> None:
    before = opened("fused_matmul_relu")
    revised = moved(before, "compute", "i0")
    assert [step.text for step in revised.lost] == ["sch.double_buffer(bias_local)"]
    assert "sch.compute_at(bias_local, i0)" in [step.text for step in revised.notebook.steps]
    with pytest.raises(TilewrightError) as refused:
        revised.accepted()
    assert refused.value.code == LATER_STEPS
    assert "no loop iterations could overlap" in refused.value.refusal.found
    after = revised.accepted(switch_off=True)
    assert after.error is None and "# off: sch.double_buffer(bias_local)" in after.document.text


def test_a_move_that_the_step_refuses_changes_nothing() -> None:
    before = opened("fused_matmul_relu")
    with pytest.raises(TilewrightError) as refused:
        moved(before, "compute", "k_outer")
    assert refused.value.code == "partial-sum"


@pytest.mark.slow
def test_repair_calls_precede_the_step() -> None:
    before = opened("fused_matmul_relu")
    move, loop = relocation(before, "compute"), loop_called(before, "i1_inner")
    found = move.repair(loop)
    assert [str(call) for call in found.calls] == ["sch.reorder(i1_inner, k_outer, k_inner)"] and not found.blocks
    texts = [step.text for step in move.moved(loop, repair=True).notebook.steps]
    at = texts.index("sch.reverse_compute_at(compute, i1_inner)")
    assert texts[at - 1].startswith("sch.reorder(i1_inner")


def test_a_block_that_no_step_placed_has_no_placement() -> None:
    assert placement_of(opened("vtcm_double_buffer"), "C") is None


def test_another_argument_changes_only_its_text() -> None:
    text = opened("vtcm_double_buffer").document.text
    line = next(
        s.text for s in opened("vtcm_double_buffer").steps if s.call.method == "split" and "k" in s.call.targets[0]
    )
    spaced = line.replace(", ", ",  ") + "  # of k"
    before = evaluate(read_document(text.replace(line, spaced)))
    step = last_step(before, len(before.states) - 1, ("split",), before.names["ko"])
    assert step is not None
    factors = list(step.call.kwargs.get("factors") or step.call.args[1])
    wanted = [None if f is None else f // 2 for f in factors]
    after = revise(before, step.index, {"factors": wanted}).accepted()
    old = next(str(f) for f in factors if f is not None)
    assert after.document.text == before.document.text.replace(spaced, spaced.replace(old, str(int(old) // 2), 1))


def test_slots_are_written_as_a_keyword() -> None:
    before = opened("fused_matmul_relu")
    step = last_step(before, len(before.states) - 1, ("double_buffer",), "x_local")
    assert step is not None
    after = revise(before, step.index, {"slots": 3}).accepted()
    assert "sch.double_buffer(x_local, slots=3)" in after.document.text
    assert revise(after, step.index, {"slots": 2}).accepted().schedule is not None


@cache
def moves() -> list[tuple[str, str, str, int]]:
    return [
        (name, block, verdict.loop.name, number)
        for name, notebook in zip(EXAMPLES, map(opened, EXAMPLES), strict=True)
        if notebook.schedule is not None
        for block in notebook.schedule.index.block_names[1:]
        if (placement := placement_of(notebook, block)) is not None
        for number, verdict in enumerate(placement.targets())
        if verdict.target.legal and placement.spot(verdict.loop) is not None
    ]


@pytest.mark.slow
@settings(deadline=None)
@given(st.deferred(lambda: st.sampled_from(moves())))
def test_law_a_moved_notebook_equals_its_text_and_the_direct_schedule(
    move: tuple[str, str, str, int],
) -> None:
    """The notebook after a move equals its text parsed again; without lost lines, it also equals the same calls made directly on a
    schedule, and the move back restores the first program."""
    name, block, _, number = move
    before = opened(name)
    placement = placed(before, block)
    verdict = placement.targets()[number]
    spot = placement.spot(verdict.loop)
    assert spot is not None
    revised = relocation(before, block, method=verdict.target.primitive).moved(verdict.loop)
    after = revised.notebook
    assert structural_equal(program(evaluate(read_document(after.document.text))), program(after))
    assert after.schedule is not None
    assert structural_equal(after.schedule.replayed().mod, program(after))
    if revised.lost or spot.position != placement.step.index:
        return  # a step behind other lines places its block behind theirs
    same = [loop.loop_var for loop in after.schedule.index.loops if loop.loop_var.name == placement.loop.name]
    if len(same) == 1 and placed(after, block).spot(same[0]) is not None:
        returned = relocation(after, block, method=placement.method).moved(same[0])
        assert not returned.lost and structural_equal(program(returned.notebook), program(before))


def test_law_a_verdict_equals_that_of_the_schedule_without_the_step() -> None:
    """A target is legal exactly if the call is accepted before the step, on the loops that exist there."""
    for name, block in {(name, block) for name, block, _, _ in moves()}:
        placement = placed(opened(name), block)
        earlier: Schedule = placement.before.schedule
        for verdict in placement.targets():
            if verdict.loop is placement.loop or not earlier.index.has_loop(verdict.loop):
                continue
            accepted = False
            for method in ("compute_at", "reverse_compute_at"):
                try:
                    getattr(earlier.copy(), method)(block, verdict.loop)
                except TilewrightError:
                    continue
                accepted = True
            assert verdict.target.legal == accepted, (name, block, verdict.loop.name)
