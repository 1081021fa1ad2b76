"""Pipelines under later calls: stages follow the parts of the loop, and calls that would prevent lowering are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from support.profile import few
from support.programs.intrins import cut_out
from support.schedules.calls import apply, calls
from support.schedules.meaning import Meaning
from support.schedules.targets import assert_answers_confirmed

from tilewright.engine.ir import IntImm
from tilewright.engine.lower import LowerError, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

CHAIN = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(X: T.Buffer((8, 16), "float32"), Y: T.Buffer((8, 16), "float32"), Z: T.Buffer((8, 16), "float32")):
    A = T.sblock_alloc_buffer((8, 16), "float32")
    B = T.sblock_alloc_buffer((8, 16), "float32")
    C = T.sblock_alloc_buffer((8, 16), "float32")
    D = T.sblock_alloc_buffer((8, 16), "float32")
    for i, j in T.grid(8, 16):
        with T.sblock("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = X[vi, vj] + 1.0
    for i in range(8):
        for j in range(16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 3.0
        for j in range(16):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * 4.0
    for i, j in T.grid(8, 16):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = D[vi, vj] + 5.0
    for i, j in T.grid(8, 16):
        with T.sblock("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = D[vi, vj] - 6.0
"""


def piped(stages: list[int], order: list[int] | None = None) -> Schedule:
    sch = Schedule(parse(CHAIN).program)
    sch.pipeline(sch.get_loops("B")[0], stages, order)
    return sch


def noted(sch: Schedule, block: str = "C") -> dict[str, list[int]]:
    """The stages and orders of the loop around a block."""

    def numbers(value: Any) -> list[int]:
        return [v.value for v in value if isinstance(v, IntImm)]

    (loop, *_) = sch.index.loops_of(block)
    return {key.removeprefix("software_pipeline_"): numbers(value) for key, value in loop.annotations}


def assert_sound(sch: Schedule) -> None:
    meaning = Meaning(parse(CHAIN).program)
    assert meaning.fault_of(sch) == ""
    assert meaning.fault_of(sch, lower(sch.func)) == ""


def test_producer_moved_into_a_pipeline_runs_with_its_consumer():
    sch = piped([0, 1, 2])
    sch.compute_at("A", sch.get_loops("B")[0])
    assert noted(sch) == {"stage": [0, 0, 1, 2], "order": [0, 1, 2, 3]}
    assert_sound(sch)


def test_consumers_moved_into_a_pipeline_run_with_their_producer():
    sch = piped([0, 1, 2])
    loop = sch.get_loops("B")[0]
    sch.reverse_compute_at("Y", loop)
    sch.reverse_compute_at("Z", loop)
    assert noted(sch) == {"stage": [0, 1, 2, 2, 2], "order": [0, 1, 2, 3, 4]}
    assert_sound(sch)


def test_block_moved_into_a_pipeline_keeps_the_order_of_others():
    sch = piped([0, 1, 1], [2, 0, 1])
    sch.reverse_compute_at("Y", sch.get_loops("B")[0])
    assert noted(sch) == {"stage": [0, 1, 1, 1], "order": [3, 0, 1, 2]}
    assert_sound(sch)


def test_inlining_in_a_pipeline_keeps_the_stages_of_others():
    sch = piped([0, 1, 2])
    sch.compute_inline("C")
    assert noted(sch, "B") == {"stage": [0, 2], "order": [0, 1]}
    assert_sound(sch)


def test_a_copy_made_in_a_pipeline_has_a_stage():
    sch = piped([0, 1, 2])
    sch.cache_read("D", 0, "local")
    assert len(noted(sch)["stage"]) == 4
    assert_sound(sch)


def test_calls_inside_the_parts_of_a_pipeline_keep_the_stages():
    sch = piped([0, 1, 2])
    sch.split(sch.get_loops("C")[1], [None, 4])
    sch.vectorize(sch.get_loops("C")[2])
    assert noted(sch) == {"stage": [0, 1, 2], "order": [0, 1, 2]}
    assert_sound(sch)


def test_copy_in_a_part_that_works_on_views_has_its_own_stage():
    sch = piped([0, 1, 2])
    row = sch.get_loops("C")[1]
    sch.tensorize(row, cut_out(sch, row))
    assert len(noted(sch, "B")["stage"]) == 3
    sch.cache_read("C_1", 0, "local")
    assert len(noted(sch, "B")["stage"]) == 4
    assert_sound(sch)


def test_loops_outside_of_a_pipeline_are_none():
    sch = piped([0, 1, 2])
    sch.reverse_compute_at("B", sch.get_loops("A")[0], preserve_unit_loops=True, keep_tiling=True)
    assert [f.annotations for f in sch.index.loops_of("B")] == [(), (), ()]
    assert noted(sch) == {"stage": [1, 2], "order": [0, 1]}
    assert_sound(sch)


REFUSED: dict[str, Callable[[Schedule], object]] = {
    "its loop made parallel": lambda s: s.parallel(s.get_loops("B")[0]),
    "one part left": lambda s: (s.compute_inline("B"), s.compute_inline("C")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_emptying_a_pipeline_is_refused_with_its_fix(name: str):
    sch = piped([0, 1, 2])
    with pytest.raises(ScheduleError) as refused:
        REFUSED[name](sch)
    assert refused.value.code == "stale-pipeline"
    assert "pipeline over loop 'i" in str(refused.value)
    assert [call.method for call in refused.value.refusal.repair] == ["unannotate", "unannotate"]
    assert_sound(sch)


def test_pipeline_without_its_annotations_restricts_no_call():
    sch = piped([0, 1, 2])
    loop = sch.get_loops("B")[0]
    sch.unannotate(loop, "software_pipeline_stage")
    sch.unannotate(loop, "software_pipeline_order")
    sch.parallel(loop)
    assert_sound(sch)


@few(4)
@given(st.sampled_from([([0, 1, 2], None), ([0, 0, 1], [1, 0, 2]), ([0, 1, 1], [2, 0, 1])]), st.data())
def test_law_pipelines_can_be_lowered_after_accepted_calls(given_stages, data):
    try:
        sch = piped(*given_stages)
    except ScheduleError:
        return
    meaning = Meaning(parse(CHAIN).program)
    for _ in range(data.draw(st.integers(1, 4))):
        call = data.draw(calls(sch))
        if call[0] in ("annotate", "unannotate"):
            continue
        try:
            apply(sch, call)
        except ScheduleError:
            continue
        note(f"{call}\n{to_script(sch.func)}")
        try:
            flat = lower(sch.func)
        except LowerError as error:
            raise AssertionError(f"accepted, and not lowered: {error}") from error
        if not sch.layouts:
            assert meaning.fault_of(sch, flat) == ""


@pytest.mark.slow
@few(2)  # each needs every loop
@given(st.data())
def test_law_verdicts_on_pipelines_agree_with_the_calls(data):
    sch = piped([0, 1, 2])
    for _ in range(data.draw(st.integers(0, 2))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    assert_answers_confirmed(sch, data.draw(st.sampled_from(sch.index.block_names[1:])))
