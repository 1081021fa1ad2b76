"""Losses of an export for TVM: the program that TVM runs, and the pipelines that keep the slots."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs.sources import MATMUL
from support.sessions.notebooks import with_lines

from tilewright.app.document import Notebook, evaluate, load_document, read_document
from tilewright.engine.export import COSTLY, program_without, step_text, to_tvm_python, tvm_losses, with_pipelines
from tilewright.engine.hwsim import Machine, simulate
from tilewright.engine.ir import TilewrightError, structural_equal
from tilewright.engine.schedule import Schedule

HAND = Path(__file__).parents[2] / "hand"
EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


def example(name: str) -> tuple[Schedule, Machine]:
    return opened(evaluate(load_document(EXAMPLES / f"{name}.py")))


def opened(notebook: Notebook) -> tuple[Schedule, Machine]:
    assert notebook.error is None and notebook.schedule is not None and notebook.machine is not None
    return notebook.schedule, notebook.machine


def scheduled(*lines: str) -> Schedule:
    return opened(evaluate(read_document(with_lines(*lines))))[0]


def items(schedule: Schedule, version: str) -> dict[str, tuple[str, ...]]:
    return {loss.kind: loss.items for loss in tvm_losses(schedule, version)}


def test_slots_without_a_pipeline_are_lost() -> None:
    schedule, _ = example("vtcm_double_buffer")
    buffers = ("A_local.vtcm", "B_local.vtcm")
    newest, older = items(schedule, "0.27"), items(schedule, "0.25")
    assert newest["slots"] == older["slots"] == newest["separators"] == buffers
    assert "separators" not in older
    assert newest["names"] == ("mo", "mi", "no", "ni", "ko", "ki")


def test_program_without_slots_is_the_one_without_the_call() -> None:
    lines = ('AL = sch.cache_read(C, 0, "local")', "sch.compute_at(AL, i)")
    with_slots = scheduled(*lines, "sch.double_buffer(AL, slots=3, banks=(0, 1, 2))")
    assert items(with_slots, "0.27")["slots"] == items(with_slots, "0.27")["banks"] == ("A_local",)
    assert structural_equal(program_without(with_slots.func, COSTLY), scheduled(*lines).func)


def test_call_that_a_version_lacks_is_named_with_its_reason() -> None:
    schedule = scheduled('AL = sch.cache_read(C, 0, "local")', "sch.set_layout(AL, 0, (1, 128))")
    (call,) = items(schedule, "0.27")["calls"]
    assert call.startswith("set_layout: ") and call.removeprefix("set_layout: ") in to_tvm_python(schedule)


def test_a_schedule_of_tvm_calls_loses_nothing() -> None:
    plain = Schedule(MATMUL)
    plain.split(plain.get_loops(plain.get_block("C"))[1], factors=[None, 16])
    assert tvm_losses(plain) == ()
    with pytest.raises(TilewrightError, match="no Apache TVM"):
        tvm_losses(scheduled(), "soon")


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["vtcm_double_buffer", "gemmini_gemm", "vta_gemm"])
def test_pipelines_keep_the_slots_and_the_cycles(name: str) -> None:
    schedule, machine = example(name)
    lost = simulate(program_without(schedule.func, ["slots"]), machine)
    kept = with_pipelines(schedule)[0]
    assert "slots" not in items(kept, "0.27")
    assert [step_text(s) for s in kept.trace.steps[len(schedule.trace) :]] == ["sch.pipeline(ko, [0, 0, 1])"]
    now = simulate(program_without(kept.func, ["slots"]), machine)
    assert now.cycles == simulate(schedule.func, machine).cycles < lost.cycles
    assert kept.check().status in ("proved", "tested")


def test_nothing_is_added_where_no_slots_are_lost() -> None:
    assert with_pipelines(example("vtcm_two_halves")[0]) == ()
    assert with_pipelines(scheduled()) == ()


def test_pipelines_of_fewer_buffers_may_fit() -> None:
    schedule, machine = opened(evaluate(load_document(HAND / "gemm" / "gemmini_requantized.py")))
    whole, *fewer = with_pipelines(schedule)
    added = [[step_text(s) for s in one.trace.steps[len(schedule.trace) :]] for one in (whole, *fewer)]
    assert added[0] == ["sch.pipeline(io, [0, 0, 1])", "sch.pipeline(jo, [0, 1])"] and len(added[1]) == 1
    reports = [simulate(program_without(one.func, COSTLY), machine) for one in (whole, *fewer)]
    assert reports[0].overflow_bytes and any(not report.overflow_bytes for report in reports[1:])


def test_pipeline_around_the_loop_of_alternate_slots_keeps_none() -> None:
    schedule, _ = opened(evaluate(load_document(HAND / "gemm" / "gemmini_int8.py")))
    piped = schedule.copy()
    piped.pipeline("jo", [0, 1])
    assert items(piped, "0.27")["slots"] == ("A_local.scratchpad", "C_local.accumulator")
