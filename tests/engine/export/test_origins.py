"""The schedule step that causes each wait of a report."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.programs.sources import matmul

from tilewright.engine.export import attributed, attributed_to, report_text, step_of, steps_of
from tilewright.engine.hwsim import EngineReport, Origin, Report, Wait, load_machine, simulate
from tilewright.engine.ir import Block, PrimFunc, walk_stmts
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def tiled() -> Schedule:
    """A tiled matmul, its operands and its result staged."""
    sch = Schedule(parse(matmul(64, 64, 64)).program)
    i, j, k = sch.get_loops("C")
    io, _ = sch.split(i, factors=[None, 16])
    ko, _ = sch.split(k, factors=[None, 16])
    sch.reorder(io, ko, j)
    sch.compute_at(sch.cache_read("C", 0, "local.vtcm"), ko)
    sch.compute_at(sch.cache_read("C", 1, "local.vtcm"), ko)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local.acc"), io)
    return sch


def names_in(func: PrimFunc) -> set[str]:
    blocks = [node for node in walk_stmts(func.body) if isinstance(node, Block)]
    return {b.name for b in blocks} | {buffer.name for b in blocks for buffer in b.alloc_buffers}


def reported(sch: Schedule) -> Report:
    return simulate(sch.func, load_machine("dual-bank-npu"))


def every_wait(report: Report) -> list[Wait]:
    return [wait for engine in report.engines.values() for wait in engine.waits]


def test_origin_of_a_wait_is_the_call_of_the_buffer():
    sch = tiled()
    waits = [w for w in every_wait(attributed_to(reported(sch), sch)) if w.buffer]
    assert {w.buffer for w in waits} >= {"B_local.vtcm"}
    for wait in waits:
        assert wait.origin is not None
        before, after = sch.at(wait.origin.step - 1).func, sch.at(wait.origin.step).func
        assert {wait.buffer, wait.block} & (names_in(after) - names_in(before))


def test_the_text_of_an_origin_is_the_traced_call():
    sch = tiled()
    (wait,) = [
        w for w in every_wait(attributed_to(reported(sch), sch)) if (w.cause, w.buffer) == ("data", "B_local.vtcm")
    ]
    assert wait.origin is not None
    assert wait.origin.text == 'sch.cache_read("C", 1, "local.vtcm")'
    assert sch.trace.steps[wait.origin.step - 1].method == "cache_read"


def test_attribution_changes_only_the_origins():
    report = reported(tiled())
    attributed_json, plain = attributed_to(report, tiled()).to_json(), report.to_json()
    for data in (attributed_json, plain):
        for engine in data["engines"].values():
            for wait in engine["waits"]:
                wait.pop("origin")
    assert attributed_json == plain


def test_report_without_a_schedule_has_no_origins():
    report = reported(tiled())
    assert all(w.origin is None for w in every_wait(report))
    assert "brought in by" not in report_text(report)


def test_report_text_names_the_step():
    sch = tiled()
    report = attributed_to(reported(sch), sch)
    (wait,) = [w for w in every_wait(report) if (w.cause, w.buffer) == ("data", "B_local.vtcm")]
    assert wait.origin is not None
    (line,) = [
        line for line in report_text(report).splitlines() if line.startswith("matrix ") and "B_local.vtcm" in line
    ]
    assert line.endswith(f'step {wait.origin.step}: sch.cache_read("C", 1, "local.vtcm")')


def test_parts_of_the_original_program_have_no_step():
    program = parse(matmul(8, 8, 8)).program
    assert isinstance(program, PrimFunc)
    steps = steps_of([program, program, program])
    assert step_of(steps, "C", "C") == 0
    report = attributed(with_wait(Wait("data", "C", "C", 3)), steps, str)
    assert every_wait(report)[0].origin == Origin(0)
    assert "the program" in report_text(report)


@pytest.mark.parametrize(
    "wait", [Wait("issue", "", "queue of dma", 3), Wait("port", "", "C", 3), Wait("unit", "", "C", 3)]
)
def test_waits_without_a_buffer_have_no_step(wait: Wait):
    assert every_wait(attributed(with_wait(wait), {"C": 4}, str))[0].origin is None


def test_task_of_several_blocks_originates_in_their_last_step():
    assert step_of({"C_init": 3, "C": 0, "B": 2}, "B", "C_init + C") == 3
    assert step_of({"C": 0, "B": 2}, "B", "C") == 2
    assert step_of({}, "B", "C") is None


def with_wait(wait: Wait) -> Report:
    """A report with this wait only."""
    report = reported(tiled())
    engine = EngineReport("matrix", 1, 1, {wait.cause: wait.cycles}, (wait,))
    return replace(report, engines={"matrix": engine})


def test_origin_is_the_first_program_with_the_block_or_buffer() -> None:
    sch = tiled()
    programs = [state.mod[sch.func_name] for state in sch.states]
    expected: dict[str, int] = {}
    for step, program in enumerate(programs):
        for name in names_in(program):
            expected.setdefault(name, step)
    assert steps_of(programs) == expected
