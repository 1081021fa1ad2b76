"""The rules that derive a space over the whole program: the lines that each writes, and the legality of every derived schedule."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profile import IS_DEEP
from support.programs.real_programs import REAL
from support.programs.sources import ROWS
from support.tile_kernels import kernel

import tilewright
from tilewright.engine.explore import (
    SCHEDULE_RULES,
    DerivedSpace,
    EvaluationRequest,
    Evaluator,
    ScheduleRule,
    derive_space,
    deriving_space,
)
from tilewright.engine.explore.derive.draft import Group, ScheduleDraft
from tilewright.engine.explore.derive.flow import GroupFlow
from tilewright.engine.explore.derive.groups import Members, partitions, tilings
from tilewright.engine.explore.derive.table import apply_rules
from tilewright.engine.explore.space.tiling_target import TilingTargetError
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

HAND = Path(__file__).parents[3] / "hand"
NPU = "dual-bank-npu"


@cache
def program(name: str) -> PrimFunc:
    """A small program, or that of a notebook in tests/hand ("hand/rows/softmax")."""
    if name.startswith("hand/"):
        found = tilewright.load(HAND.parent / f"{name}.py").program
    else:
        found = parse(ROWS if name == "rows" else REAL[name].text).program
    assert isinstance(found, PrimFunc)
    return found


@cache
def derived(name: str, machine: str = NPU) -> DerivedSpace:
    return derive_space(program(name), load_machine(machine))


def draft(name: str, tiled: tuple[str, ...], codes: str, machine: str = NPU) -> ScheduleDraft:
    """The draft of one group of all blocks after the rules of these codes."""
    found = ScheduleDraft(program(name), load_machine(machine), {}, "sch", None)
    members = found.index.block_names[1:]
    (part,) = apply_rules(found, [Group(members, tiled)], [r for r in SCHEDULE_RULES if r.code in codes.split()])
    return part


def lines(found: ScheduleDraft) -> str:
    return found.builder.text


def test_blocks_depend_on_the_loops_of_their_consumers() -> None:
    index = Schedule(program("attention")).index
    flow = GroupFlow(index, index.block_names[1:])
    assert flow.of_block("S") == {"i"}  # its columns are summed over whole rows of P
    assert flow.of_block("O") == {"i", "j"}
    k = next(r.buffer for r in index.block("S").reads if r.buffer.name == "K")
    assert flow.of_block_read("S", k) == frozenset()


def test_iterators_of_which_a_reader_needs_all_are_not_divided() -> None:
    text = """
@T.prim_func(s_tir=True)
def gate(X: T.Buffer((32, 16), "float32"), Y: T.Buffer((32,), "float32")):
    L = T.sblock_alloc_buffer((32, 16))
    M = T.sblock_alloc_buffer((32,))
    for i, e in T.grid(32, 16):
        with T.sblock("L"):
            vi, ve = T.axis.remap("SS", [i, e])
            L[vi, ve] = X[vi, ve] * T.float32(2)
    for i, e in T.grid(32, 16):
        with T.sblock("M"):
            vi, ve = T.axis.remap("SR", [i, e])
            with T.init():
                M[vi] = T.float32(0)
            M[vi] = T.max(M[vi], L[vi, ve])
    for i, e in T.grid(32, 16):
        with T.sblock("Y"):
            vi, ve = T.axis.remap("SR", [i, e])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + L[vi, ve] * M[vi]
"""
    index = Schedule(parse(text).program).index
    flow = GroupFlow(index, index.block_names[1:])
    row, expert = (iv.var for iv in index.block("L").iter_vars)
    assert flow.of_block("L") == {"i", "e"}
    assert flow.of_iterator("L", row) == {"i"} and flow.of_iterator("L", expert) == frozenset()


def test_each_product_has_its_own_group() -> None:
    index = Schedule(program("hand/rows/attention")).index
    whole, apart = partitions(index)
    assert whole == (Members(index.block_names[1:]),)
    assert [group.last for group in apart] == ["S", "O"]
    assert ("i",) in tilings(index, apart[1]) and ("j", "i") in tilings(index, apart[1])


def test_engine_choice_of_products_and_depthwise_layers() -> None:
    assert "annotate" not in lines(draft("gemm_int8", ("i",), "engine"))
    found = draft("depthwise", ("h",), "engine")
    assert lines(found).endswith('sch.annotate("D", "engine", "vector")')
    assert found.engines["D"].name == "vector"


def test_tile_sizes_are_whole_engine_tiles() -> None:
    assert 'choose("tile i", [32, 64, 128, 256, 512, 1024, 2048])' in lines(
        draft("hand/gemm/gemm_tall", ("i",), "engine tile")
    )
    assert "sch.reorder(j_o, i_o, i_i, j_i)" in lines(draft("hand/grid/transpose", ("j", "i"), "engine tile"))
    assert [v.name for v in draft("hand/grid/transpose", ("j", "i"), "engine tile").loops.values()] == ["j_o", "i_o"]


def test_fuse_producers_run_at_their_innermost_relevant_loop() -> None:
    found = draft("softmax", ("i", "j"), "engine tile fuse")
    assert 'sch.compute_at("power", i_o)' in lines(found) and 'sch.compute_at("largest", i_o)' in lines(found)


def test_scope_of_a_buffer_between_engines_is_common() -> None:
    text = lines(draft("hand/rows/attention", ("i",), "engine tile fuse scope memory"))
    assert 'sch.set_scope("S", 0, "local.acc")' in text and 'sch.set_scope("P", 0, "local.vtcm")' in text
    hole = 'S_scope = tilewright.choose("S scope", ["local.acc", "local.vtcm"])\nsch.set_scope("S", 0, S_scope)'
    assert hole in text and "P_scope" not in text


def test_memory_choices_follow_the_calls_that_move_blocks() -> None:
    every = " ".join(r.code for r in SCHEDULE_RULES)
    calls = [line for line in lines(draft("softmax", ("i",), every)).splitlines() if line.startswith("sch.")]
    moves = max(n for n, line in enumerate(calls) if "compute_at" in line or "cache_" in line)
    chosen = [n for n, line in enumerate(calls) if "_scope)" in line]
    assert chosen and moves < min(chosen) and max(chosen) < calls.index("sch.pipeline(i_o, stages)")


def test_blocks_with_separate_ports_hold_one_slot_each() -> None:
    found = draft("hand/gemm/gemmini_int8", ("j", "i"), "engine tile stage store", "gemmini")
    text = lines(found)
    assert 'A_banks = tilewright.choose("A banks", [[0, 1], None])\nsch.double_buffer(A_in, banks=A_banks)' in text
    assert 'choose("B banks", [[2, 3], None])' in text
    assert "sch.double_buffer(C, banks=C_banks, slots=C_slots)" in text
    shared = draft("hand/gemm/gemm_tall", ("i",), "engine tile stage store")  # blocks with shared ports
    assert "banks" not in lines(shared)


def test_padding_is_filled_and_copied_in_place() -> None:
    found = draft("conv2d", ("h",), "engine tile fuse scope padding")
    assert 'pad_fill = sch.decompose_padding("pad", pad_loop)' in lines(found)
    assert found.engines["pad"].name == "dma"


def test_stage_copies_are_shared_by_readers() -> None:
    text = lines(draft("layer_norm", ("i",), "engine tile fuse scope stage"))
    assert 'consumer_blocks=["first", "second", Y])\nsch.compute_at(X_in, i_o)' in text
    assert 'gamma_in = sch.cache_read(Y, "gamma", "local.vtcm")\nbeta_in' in text


def test_store_results_leave_by_tile_from_one_slot_or_two() -> None:
    text = lines(draft("softmax", ("i",), "engine tile fuse scope stage store"))
    assert 'Y_out = sch.cache_write(Y, 0, "local.vtcm")\nsch.reverse_compute_at(Y_out, i_o)' in text
    assert 'choose("Y slots", [2, 1])\nsch.double_buffer(Y, slots=Y_slots)' in text


def test_pipeline_stages_are_a_choice() -> None:
    found = draft("softmax", ("i",), " ".join(r.code for r in SCHEDULE_RULES))
    (hole,) = [line for line in lines(found).splitlines() if line.startswith("stages")]
    assert "[0, 1, 1, 1, 1, 1]" in hole and hole.endswith("[0, 0, 0, 0, 0, 0]])")


def test_rules_state_what_they_require_and_write() -> None:
    assert len({rule.code for rule in SCHEDULE_RULES}) == len(SCHEDULE_RULES)
    assert all(rule.what and rule.title for rule in SCHEDULE_RULES)


@pytest.mark.slow
def test_a_user_rule_is_applied_with_the_others() -> None:
    def unroll_tail(found: ScheduleDraft) -> None:
        """Requires loops around the last block. Line: `unroll` of the innermost one."""
        loop = found.loops_of(found.group.last)[-1].loop_var
        found.builder.name_loops(found.group.last)
        if found.builder.accepts("unroll", loop):
            found.decide(f"{found.group.last} unrolled")

    rule = ScheduleRule("unroll", "An unrolled loop", unroll_tail)
    found = derive_space(program("rows"), load_machine(NPU), rules=(*SCHEDULE_RULES, rule))
    assert "sch.unroll(" in found.text
    assert "Y unrolled" in found.decisions and "# An unrolled loop: Y unrolled." in found.text


@pytest.mark.slow
def test_the_space_explains_itself() -> None:
    found = derived("rows")
    assert found.explanation.startswith(f"{len(found.space.holes)} choices, {found.space.size:,} schedules; ")
    assert any("S" in d and "loop" in d for d in found.decisions)
    assert any(o.startswith("tiles of") for o in found.left_out)
    assert "# Operands copied to the engines: X copied at loop" in found.text
    assert not any(o in found.text for o in found.left_out)


SAMPLED = [
    pytest.param(name, marks=pytest.mark.slow)
    for name in ("conv2d", "softmax", "layer_norm", "attention", "depthwise", "transpose")
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows", *SAMPLED])
def test_default_beats_tiles_of_the_main_block(name: str) -> None:
    machine = load_machine(NPU)
    found = derived(name)
    outcome = Evaluator(found.space, machine, ("cycles",)).tried(EvaluationRequest(0, found.space.default))
    assert outcome.fits and outcome.figures is not None, outcome
    assert found.space.schedule_at(found.space.default).schedule.check().status == "proved"
    before = derive_space(program(name), machine, rules=()).space
    alone = Evaluator(before, machine, ("cycles",)).tried(EvaluationRequest(0, before.default))
    assert not alone.fits or alone.figures is None or outcome.figures.cycles <= alone.figures.cycles


@pytest.mark.slow
@given(st.sampled_from(["softmax", "conv2d", "attention", "depthwise"] if IS_DEEP else ["rows"]), st.integers(0, 2**40))
@settings(max_examples=100 if IS_DEEP else 12, deadline=None)
def test_every_point_is_right_or_refused(name: str, number: int) -> None:
    space = derived(name).space
    point = space.point_at(number % space.size)
    outcome = Evaluator(space, load_machine(NPU), ("cycles",)).tried(EvaluationRequest(0, point))
    assert outcome.status in ("fits", "over", "refused"), outcome
    if outcome.status != "refused":
        assert space.schedule_at(point).schedule.check().status in ("proved", "tested", "unknown")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "conv3x3", "gemm_odd", "softmax", "transpose", "matvec", "rotary", "edges",
        "gemm_vector", "gemmini_conv", "cpu_softmax", "gpu_transpose",
    ],
)  # fmt: skip
def test_derived_schedule_is_near_the_hand_schedule(name: str) -> None:
    notebook = tilewright.load(next(HAND.rglob(f"{name}.py")))
    assert notebook.program is not None and notebook.machine is not None and notebook.schedule is not None
    space = derive_space(notebook.program, notebook.machine).space
    outcome = Evaluator(space, notebook.machine, ("cycles",)).tried(EvaluationRequest(0, space.default))
    assert outcome.fits and outcome.figures is not None
    assert outcome.figures.cycles <= 1.1 * tilewright.simulate(notebook.schedule, notebook.machine).cycles


def test_sums_of_long_rows_may_be_tiled_along_the_row() -> None:
    assert ("i", "k") in tilings(Schedule(program("hand/rows/row_sum")).index, Members(("Y",)))


@pytest.mark.slow
def test_oversized_rows_are_summed_in_tiles() -> None:
    found = derived("hand/rows/row_sum", "gemmini")
    outcome = Evaluator(found.space, load_machine("gemmini"), ("cycles",)).tried(
        EvaluationRequest(0, found.space.default)
    )
    assert outcome.fits and outcome.figures is not None
    assert outcome.figures.cycles < 600_000


def test_program_remains_if_nothing_derived_fits() -> None:
    machine = load_machine(NPU)
    kept = tuple(e for e in machine.engines if e.name in ("dma", "scalar"))
    bare = msgspec.structs.replace(machine, engines=kept)
    only = ScheduleRule(
        "wrong", "A place that no engine reaches", lambda d: d.builder.accepts("set_scope", "S", 0, "local.nowhere")
    )
    found = derive_space(program("rows"), bare, rules=(only,))
    outcome = Evaluator(found.space, bare, ("cycles",)).tried(EvaluationRequest(0, found.space.default))
    assert outcome.fits, outcome.message


@pytest.mark.slow
def test_operands_that_are_read_again_are_copied_from_a_slower_memory() -> None:
    found = draft("conv2d", ("h",), "engine tile grid stage", "hexagon-hvx")
    assert 'cache_read("conv", "pad", "global.vtcm")' in lines(found)


@pytest.mark.parametrize("name", ["rows", pytest.param("conv2d", marks=pytest.mark.slow)])
def test_each_step_has_a_faster_space(name: str) -> None:
    machine = load_machine(NPU)
    spaces = [s for s in deriving_space(program(name), machine) if s is not None]
    cycles = [tilewright.simulate(s.space.schedule_at(s.space.default).schedule, machine).cycles for s in spaces]
    assert len(cycles) > 1 and cycles == sorted(cycles, reverse=True)
    assert spaces[-1].text == derived(name).text


def test_program_with_bound_loops_is_refused() -> None:
    with pytest.raises(TilingTargetError) as caught:
        derive_space(kernel("gemm", M=64, N=64, K=32), load_machine("sm80"))
    assert caught.value.code == "has-threads"
    assert "tilewright explore" in caught.value.refusal.fix[0]


ROTATED = """
@T.prim_func(s_tir=True)
def rotated(X: T.Buffer((256, 768), "float32"), Y: T.Buffer((256, 12, 64), "float32")):
    total = T.sblock_alloc_buffer((256,), "float32")
    scaled = T.sblock_alloc_buffer((256, 12, 64), "float32")
    for t, k in T.grid(256, 768):
        with T.sblock("total"):
            vt, vk = T.axis.remap("SR", [t, k])
            with T.init():
                total[vt] = T.float32(0)
            total[vt] = total[vt] + X[vt, vk] * X[vt, vk]
    for t, h, d in T.grid(256, 12, 64):
        with T.sblock("scaled"):
            vt, vh, vd = T.axis.remap("SSS", [t, h, d])
            scaled[vt, vh, vd] = X[vt, vh * 64 + vd] * total[vt]
    for t, h, d in T.grid(256, 12, 32):
        with T.sblock("low"):
            vt, vh, vd = T.axis.remap("SSS", [t, h, d])
            Y[vt, vh, vd] = scaled[vt, vh, vd] - scaled[vt, vh, vd + 32]
    for t, h, d in T.grid(256, 12, 32):
        with T.sblock("high"):
            vt, vh, vd = T.axis.remap("SSS", [t, h, d])
            Y[vt, vh, vd + 32] = scaled[vt, vh, vd + 32] + scaled[vt, vh, vd]
"""
"""Two blocks write halves of the rows: only sketches with tiles inside of tiles fit."""


@pytest.mark.slow
def test_a_stop_does_not_end_a_derivation_before_a_schedule_fits() -> None:
    assert derive_space(parse(ROTATED).program, load_machine(NPU), stop=lambda: True).space.holes


@pytest.mark.sample(1)
@pytest.mark.parametrize("polls", [1, 100])
def test_stopped_derivation_ends_with_a_schedule_that_fits(polls: int) -> None:
    polled = 0

    def stop() -> bool:
        nonlocal polled
        polled += 1
        return polled >= polls

    space = derive_space(program("rows"), load_machine(NPU), stop=stop).space
    outcome = Evaluator(space, load_machine(NPU), ("cycles",)).tried(EvaluationRequest(0, space.default))
    assert outcome.fits
    # A poll for each way to group the blocks, one for its best sketch, and one at the end.
    assert polls <= polled <= polls + 8
