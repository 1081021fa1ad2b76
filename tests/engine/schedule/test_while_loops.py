"""Programs with `while` loops are run, and calls change only what one iteration of them runs."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.while_programs import CARRIED, GEMM, TILES

from tilewright.engine.execute import ExecuteError, operation_count, run, verify
from tilewright.engine.execute.program import execute
from tilewright.engine.export import to_c
from tilewright.engine.hwsim import MachineError, load_machine, simulate
from tilewright.engine.ir import PrimFunc, TilewrightError
from tilewright.engine.lower import LowerError, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script


def function(text: str) -> PrimFunc:
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    return program


def test_a_while_loop_runs_as_long_as_its_condition_holds() -> None:
    given = np.arange(512, dtype="float32").reshape(16, 32)
    assert (run(function(TILES), {"A": given})["B"] == given + 1).all()
    short = execute(function(TILES.replace("tile[0] < 16", "tile[0] < 10")), {"A": given})["B"]
    assert (short.written == (np.arange(16) < 10)[:, None]).all()


def test_an_endless_loop_ends_with_the_limit_of_operations() -> None:
    endless = function(TILES.replace("tile[0] + 4", "tile[0] % 4"))
    with pytest.raises(ExecuteError, match="more than"):
        execute(endless, {"A": np.zeros((16, 32), "float32")}, limit=10_000_000)
    assert operation_count(endless) is None
    assert verify(endless, endless, limit=10_000_000).status == "unknown"


def test_loops_below_a_while_loop_are_scheduled() -> None:
    sch = Schedule(function(GEMM))
    i, j, k = sch.get_loops("gemm")
    j0, j1 = sch.split(j, factors=[None, 3])
    k0, k1 = sch.split(k, factors=[None, 8])
    sch.reorder(j0, k0, i, k1, j1)
    sch.decompose_reduction("gemm", k0)
    sch.vectorize(j1)
    sch.bind(sch.fuse(*sch.get_loops("store")), "threadIdx.x")
    sch.set_scope("gemm", 0, "shared")
    sch.transform_layout("gemm", ("write", 0), lambda a, b: [b, a])
    assert sch.verify(sizes={"n": 3}).status == "tested"
    assert sch.check().status == "tested"


def test_a_nested_block_without_a_while_loop_has_all_calls() -> None:
    sch = Schedule(function(GEMM))
    sch.compute_at(sch.cache_read("gemm", 0, "shared"), sch.get_loops("gemm")[0])
    assert sch.verify().status == "tested"


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.split(s.get_loops("work")[0], [2, None]),
        lambda s: s.parallel(s.get_loops("work")[0]),
        lambda s: s.cache_read("copy", 0, "shared"),
        lambda s: s.cache_write("copy", 0, "shared"),
        lambda s: s.compute_inline("copy"),
        lambda s: s.blockize(s.get_loops("copy")[0]),
        lambda s: s.transform_layout("copy", ("write", 0), lambda i, j: [i // 5, j, i % 5], 0.0),
        lambda s: s.annotate(s.get_loops("copy")[0], "software_pipeline_stage", [0]),
        lambda s: s.double_buffer("copy"),
    ],
)
def test_given_a_while_loop_below_when_called_then_refused(call) -> None:
    sch = Schedule(function(TILES))
    before = sch.func
    with pytest.raises(ScheduleError) as caught:
        call(sch)
    assert caught.value.refusal.code == "while-loop"
    assert sch.func is before


def test_given_a_pipeline_when_a_while_loop_is_there_then_calls_are_refused() -> None:
    stages = 'in T.serial(32, annotations={"software_pipeline_stage": [0], "software_pipeline_order": [0]})'
    sch = Schedule(function(TILES.replace("in range(32)", stages)))
    with pytest.raises(ScheduleError) as caught:
        sch.split(sch.get_loops("copy")[0], [2, None])
    assert caught.value.refusal.code == "while-loop"


def test_no_target_is_legal_in_a_scope_with_a_while_loop() -> None:
    assert not any(target.legal for target in Schedule(function(TILES)).legal_targets("copy"))


def test_lowering_simulation_proof_and_c_refuse_a_while_loop() -> None:
    parsed = parse(TILES)
    func = parsed.program
    assert isinstance(func, PrimFunc)
    sch = Schedule(func)
    attempts = (
        (LowerError, lambda: lower(func)),
        (LowerError, lambda: sch.plan),
        (MachineError, lambda: simulate(func, load_machine("cpu-core"))),
        (TilewrightError, lambda: to_c(func)),
    )
    for kind, attempt in attempts:
        with pytest.raises(kind) as caught:
            attempt()
        assert caught.value.refusal.code == "while-loop"
        assert parsed.positions[caught.value.refusal.nodes[0]]
    assert "while loop" in sch.prove().detail


def test_the_text_of_a_while_loop_is_kept() -> None:
    assert to_script(function(to_script(function(GEMM)))) == to_script(function(GEMM))


@pytest.mark.parametrize("block", ["C", "Aw", "Bw", "zero"])
def test_calls_in_a_block_that_a_while_loop_repeats_keep_the_results(block: str) -> None:
    calls = (
        lambda s: s.compute_inline(block),
        lambda s: s.reverse_compute_inline(block),
        lambda s: s.compute_at(block, s.get_loops("C")[0]),
        lambda s: s.compute_at(block, s.get_loops("Bw")[0]),
        lambda s: s.reverse_compute_at(block, s.get_loops("Aw")[0]),
        lambda s: s.cache_read(block, 0, "shared"),
        lambda s: s.cache_write(block, 0, "shared"),
        lambda s: s.transform_layout(block, ("write", 0), lambda *axes: [*axes[::-1]]),
        lambda s: s.reindex(block, ("read", 0)),
        lambda s: s.parallel(s.get_loops(block)[0]),
        lambda s: s.loop_partition(s.get_loops(block)[0], [3, None]),
        lambda s: s.merge(s.get_loops("C")[0], s.get_loops(block)[0]),
    )
    accepted = 0
    for call in calls:
        sch = Schedule(function(CARRIED))
        try:
            call(sch)
        except ScheduleError:
            continue
        accepted += 1
        assert sch.verify().status == "tested"
    assert accepted >= 3
