"""The space derived from a program and a machine: a schedule as a person would write it, every point legal or refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.profile import IS_DEEP
from support.programs.gemms import CONVOLUTION, GEMM
from support.programs.sources import matmul

import tilewright
from tilewright.engine.analysis import ProgramIndex
from tilewright.engine.explore import (
    DerivedSpace,
    EvaluationRequest,
    Evaluator,
    Settings,
    TilingTargetError,
    derive_space,
    explore,
    pinned,
    search_from,
    space_of,
    start_of_search,
)
from tilewright.engine.explore.space.tiling_target import find_tiling_target
from tilewright.engine.hwsim import MatrixEngine, load_machine, preset_names, read_machine, simulate
from tilewright.engine.ir import PrimFunc, structural_equal
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, read_calls

TEMPLATES = Path(__file__).parents[3] / "static" / "templates"

PROGRAMS = {
    "gemm": GEMM.format(m=128, n=64, k=64, dtype="int8"),
    "large gemm": GEMM.format(m=512, n=512, k=512, dtype="int8"),
    "uneven gemm": GEMM.format(m=98, n=70, k=33, dtype="int8"),
    "convolution": CONVOLUTION.format(h=16, w=16, c=16, fh=3, fw=3, f=32, oh=14, ow=14, s=1),
    "strided": CONVOLUTION.format(h=17, w=17, c=16, fh=3, fw=3, f=32, oh=8, ow=8, s=2),
    "1x1": CONVOLUTION.format(h=14, w=14, c=32, fh=1, fw=1, f=32, oh=14, ow=14, s=1),
    "float": matmul(64, 64, 64),
    "relu": next(
        cell for cell in (TEMPLATES / "matmul_relu.py").read_text().split("# %%") if cell.startswith(" workload")
    ).partition("\n")[2],
}
BOTH = ("gemmini", "dual-bank-npu")


@cache
def program(name: str) -> PrimFunc:
    found = parse(PROGRAMS[name]).program
    assert isinstance(found, PrimFunc)
    return found


@cache
def derived(name: str, machine: str) -> DerivedSpace:
    """The space around the main block alone; tests/engine/explore/derive/test_derive_rules.py has the spaces of the rules."""
    return derive_space(program(name), load_machine(machine), rules=())


SAMPLED = [
    pytest.param(name, machine, marks=pytest.mark.slow)
    for name in ("gemm", "uneven gemm", "convolution", "strided", "1x1", "float")
    for machine in BOTH
    if (name, machine) not in (("gemm", "gemmini"), ("uneven gemm", "dual-bank-npu"))
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "machine"), [("gemm", "gemmini"), ("uneven gemm", "dual-bank-npu"), *SAMPLED])
def test_default_runs_on_the_machine_and_is_right(name: str, machine: str) -> None:
    auto = derived(name, machine)
    outcome = Evaluator(auto.space, load_machine(machine), ("cycles",)).tried(EvaluationRequest(0, auto.space.default))
    assert outcome.fits, outcome
    assert auto.space.schedule_at(auto.space.default).schedule.check().status in ("proved", "tested")
    # On the matrix engine, not on the scalar engine.
    report = simulate(auto.space.schedule_at(auto.space.default).schedule.described, load_machine(machine))
    assert {k.engine for k in report.tasks if k.block == auto.space.schedule_at(auto.space.default).names["C"]} <= {
        "array",
        "matrix",
    }


@pytest.mark.slow
def test_epilogue_of_a_product_runs_tile_by_tile() -> None:
    machine = load_machine("dual-bank-npu")
    auto = derived("relu", "dual-bank-npu")
    report = simulate(auto.space.schedule_at(auto.space.default).schedule.described, machine)
    assert {k.block: k.engine for k in report.tasks}["relu"] == "vector"
    assert not [f for f in report.findings if f.severity == "error"]
    # The product is stored only after the relu.
    assert {t.buffer for t in report.traffic if t.destination == "global"} == {"D"} or len(report.traffic) == 3


@pytest.mark.sample(1)
@pytest.mark.parametrize("machine", preset_names())
def test_every_machine_has_a_choice(machine: str) -> None:
    auto = derived("float", machine)
    assert auto.space.size > 1 or machine == "tpu-v1"  # its array holds the whole product
    outcome = Evaluator(auto.space, load_machine(machine), ("cycles",)).tried(EvaluationRequest(0, auto.space.default))
    assert outcome.status in ("fits", "over"), outcome


def test_the_text_is_the_space() -> None:
    auto = derived("gemm", "gemmini")
    again = space_of(program("gemm"), read_calls(auto.text))
    assert [h.texts for h in again.holes] == [h.texts for h in auto.space.holes]
    assert auto.text.startswith(
        "# Tiles of the main block: tiles of C: loops i, j, k.\n"
        'C = sch.get_block("C")\ni, j, k = sch.get_loops(C)\n'
        'root, i_all = sch.split(i, factors=[1, None], names=["root", "i_all"])\ntile_i = tilewright.choose("tile i", ['
    )
    assert structural_equal(
        again.schedule_at(again.default).schedule.func, auto.space.schedule_at(auto.space.default).schedule.func
    )


@pytest.mark.slow
def test_operands_that_fit_may_be_copied_whole_before_the_loops() -> None:
    small, large = derived("gemm", "gemmini"), derived("large gemm", "gemmini")
    places = {hole.name: hole.texts for hole in small.space.holes}
    assert places["A at"][-1] == places["B at"][-1] == '"root"'
    assert "root" not in large.text  # 256 KiB each, in a scratchpad of 256 KiB
    whole = {"A at": "root", "B at": "root", "A slots": 1, "B slots": 1}
    outcome = Evaluator(small.space, load_machine("gemmini"), ("cycles",)).tried(
        EvaluationRequest(0, small.space.point_of(whole))
    )
    assert outcome.fits and outcome.figures is not None, outcome
    read = 128 * 64 + 64 * 64
    assert outcome.figures.traffic_bytes == read + 4 * 128 * 64


def test_python_runs_the_text_as_it_is_read() -> None:
    """`python file.py` runs the lines unchanged: layouts are lambdas there, orders are lists."""
    auto = derived("gemm", "gemmini")
    names = {"sch": Schedule(program("gemm")), "tilewright": tilewright}
    exec(auto.text, names)
    found = names["sch"]
    assert isinstance(found, Schedule)
    assert structural_equal(found.func, auto.space.schedule_at(auto.space.default).schedule.func)


@pytest.mark.slow
@given(
    st.sampled_from(["gemm", "convolution", "strided"] if IS_DEEP else ["gemm"]),
    st.sampled_from(BOTH),
    st.integers(0, 2**40),
)
@settings(max_examples=400 if IS_DEEP else 12)
def test_points_are_right_or_refused(name: str, machine: str, number: int) -> None:
    auto = derived(name, machine)
    point = auto.space.point_at(number % auto.space.size)
    outcome = Evaluator(auto.space, load_machine(machine), ("cycles",)).tried(EvaluationRequest(0, point))
    assert outcome.status in ("fits", "over", "refused"), outcome
    if outcome.status == "refused":
        assert outcome.code == "no-loop-to-overlap", outcome
    else:
        assert auto.space.schedule_at(point).schedule.check().status in ("proved", "tested", "unknown")


@pytest.mark.parametrize("machine", ["gemmini", pytest.param("dual-bank-npu", marks=pytest.mark.slow)])
def test_a_short_search_ends_at_least_as_fast_as_its_start(machine: str) -> None:
    auto = derived("gemm", machine)
    study = explore(auto.space, load_machine(machine), Settings(trials=16, batch=8))
    first, best = study.trials[0].outcome.figures, study.best
    assert first is not None and best is not None and best.outcome.figures is not None
    assert best.outcome.figures.cycles <= first.cycles
    assert best.outcome.figures.cycles == min(
        t.outcome.figures.cycles for t in study.trials if t.outcome.fits and t.outcome.figures
    )
    assert study.offers[0].verdict.status in ("proved", "tested")


@pytest.mark.slow
def test_tiles_that_exceed_a_small_memory_are_not_proposed() -> None:
    small = load_machine("gemmini").replace("memories.accumulator.capacity_bytes", 2048)
    auto = derive_space(program("gemm"), small, rules=())
    tiles = {h.name: h.values for h in auto.space.holes if h.name.startswith("tile")}
    assert max(v for v in tiles.get("tile i", (16,)) if isinstance(v, int)) <= 32
    assert Evaluator(auto.space, small, ("cycles",)).tried(EvaluationRequest(0, auto.space.default)).fits


def test_tiles_use_the_faster_matrix_engine() -> None:
    machine = load_machine("dual-bank-npu")
    matrix = machine.engine("matrix")
    assert isinstance(matrix, MatrixEngine)
    wide = replace(matrix, name="wide", tile_columns=2 * matrix.tile_columns)
    machine = replace(machine, engines=(*machine.engines, wide))
    assert find_tiling_target(ProgramIndex(program("gemm")), machine).engine is wide


def test_a_program_without_tiles_is_refused() -> None:
    text = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "int32")):
    with T.sblock("whole"):
        T.reads()
        T.writes(A[0:4])
        A[0] = 1
"""
    with pytest.raises(TilingTargetError, match="no-main-block"):
        derive_space(parse(text).program, load_machine("gemmini"))


@pytest.mark.slow
def test_symbolic_extents_are_tiled_for_given_sizes() -> None:
    text = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 64), "float32")
    B = T.match_buffer(b, (64, 64), "float32")
    C = T.match_buffer(c, (n, 64), "float32")
    for i, j, k in T.grid(n, 64, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    machine = load_machine("dual-bank-npu")
    auto = derive_space(parse(text).program, machine, sizes={"n": 64}, rules=())
    assert auto.space.sizes == {"n": 64} and {"tile i", "tile j"} <= {h.name for h in auto.space.holes}
    study = explore(auto.space, machine, Settings(trials=2, batch=2))
    assert study.best is not None


@pytest.mark.slow
def test_operands_are_copied_twice_through_an_intermediate_memory() -> None:
    deep = read_machine(DEEP)
    auto = derive_space(program("gemm"), deep, rules=())
    assert auto.text.count("cache_read") == 4 and '"shared"' in auto.text and '"local"' in auto.text
    assert Evaluator(auto.space, deep, ("cycles",)).tried(EvaluationRequest(0, auto.space.default)).fits


DEEP = """
name = "deep"
clock_hz = 1_000_000_000

[memories.ddr]
scopes = ["global"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = 16
write_bytes_per_cycle = 16

[memories.l2]
scopes = ["shared"]
capacity_bytes = 1_048_576
read_bytes_per_cycle = 64
write_bytes_per_cycle = 64

[memories.pad]
scopes = ["local"]
capacity_bytes = 65_536
read_bytes_per_cycle = 256
write_bytes_per_cycle = 256

[engines.outer]
kind = "dma"
reads = ["ddr", "l2"]
writes = ["l2", "ddr"]
bytes_per_cycle = 16

[engines.inner]
kind = "dma"
reads = ["l2", "pad"]
writes = ["pad", "l2"]
bytes_per_cycle = 64

[engines.array]
kind = "matrix"
reads = ["pad"]
writes = ["pad"]
tile_rows = 16
tile_columns = 16
tile_depth = 16
cycles_per_tile = 16
element_bytes = 1
"""


def test_a_search_begins_with_what_the_derivation_simulated() -> None:
    machine, given = load_machine("gemmini"), Settings(trials=3)
    start = start_of_search(derived("gemm", "gemmini"), machine, given)
    space = start.space.space
    study = search_from(start, space_of(program("gemm"), read_calls(start.space.text)), machine, given)
    assert study.trials[0].outcome is start.outcome
    name, texts = next((hole.name, hole.texts) for hole in space.holes if len(hole.texts) > 1)
    other = pinned(space, {name: texts[1]})
    assert search_from(start, other, machine, given).trials[0].outcome is not start.outcome
