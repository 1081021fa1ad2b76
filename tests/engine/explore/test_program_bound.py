"""The lower bound of a program holds for every schedule: handwritten, derived, and on slow engines."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profile import IS_DEEP
from support.programs.sources import ROWS

import tilewright
from tilewright.engine.analysis import loads_of
from tilewright.engine.explore import DerivedSpace, EvaluationRequest, Evaluator, derive_space
from tilewright.engine.explore.bounds.operations import lasting_operations
from tilewright.engine.explore.bounds.program_bound import program_bound
from tilewright.engine.explore.bounds.touched import touched
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import BufferLoad, BufferStore, PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

HAND = Path(__file__).parents[2] / "hand"
NOTEBOOKS = sorted(HAND.rglob("*.py"), key=lambda file: file.stem)


@cache
def derived(name: str) -> tuple[PrimFunc, DerivedSpace]:
    program = parse(ROWS).program if name == "rows" else tilewright.load(next(HAND.rglob(f"{name}.py"))).program
    assert isinstance(program, PrimFunc)
    return program, derive_space(program, load_machine("dual-bank-npu"))


FAST = ("transpose", "gemm_odd", "softmax", "gemmini_int8")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "file",
    [pytest.param(f, id=f.stem, marks=[] if f.stem in FAST else pytest.mark.slow) for f in NOTEBOOKS],
)
def test_a_hand_schedule_needs_at_least_the_bound(file: Path) -> None:
    notebook = tilewright.load(file)
    assert notebook.schedule is not None and notebook.machine is not None and isinstance(notebook.program, PrimFunc)
    bound = program_bound(notebook.program, notebook.machine)
    assert 0 < bound.cycles <= tilewright.simulate(notebook.schedule, notebook.machine).cycles
    assert bound.movement > 0


@pytest.mark.slow
@settings(deadline=None, max_examples=200 if IS_DEEP else 10)
@given(name=st.sampled_from(["edges", "matvec", "rotary", "conv1x1"] if IS_DEEP else ["rows"]), data=st.data())
def test_derived_schedule_needs_at_least_the_bound(name: str, data: st.DataObject) -> None:
    program, found = derived(name)
    machine = load_machine("dual-bank-npu")
    point = tuple(data.draw(st.integers(0, len(hole.values) - 1)) for hole in found.space.holes)
    outcome = Evaluator(found.space, machine, ("cycles",)).tried(EvaluationRequest(0, point))
    if outcome.figures is not None:
        assert outcome.figures.cycles >= program_bound(program, machine).cycles


def test_parts_of_a_gemm_bound_are_its_bytes_and_tiles() -> None:
    program = tilewright.load(HAND / "gemm" / "gemm_tall.py").program
    assert isinstance(program, PrimFunc)
    bound = program_bound(program, load_machine("dual-bank-npu"))
    assert bound.movement == -(-(2048 * 256 * 2 + 256 * 64 * 2 + 2048 * 64 * 4) // 26)
    matrix = 2048 * 256 * 64 // 1024
    assert 0.9 * matrix < bound.work <= matrix


def test_softmax_needs_a_vector_for_each_step_of_its_functions() -> None:
    program = tilewright.load(HAND / "rows" / "softmax.py").program
    assert isinstance(program, PrimFunc)
    vectors = 512 * 384 // 32
    work = program_bound(program, load_machine("dual-bank-npu")).work
    assert (
        0.7 * 26 * vectors < work <= 28 * vectors
    )  # exp and div need 12 each, the sum and the maximum 1; the scalar core helps


SQUARES = """
@T.prim_func(s_tir=True)
def squares(X: T.Buffer((64, 512), "float16"), Y: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 512):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", X[vi, vk])
"""


def test_sums_of_squares_fill_the_diagonal_of_tiles() -> None:
    machine = load_machine("dual-bank-npu")
    sch = Schedule(parse(SQUARES).program)
    sch.cache_read("Y", "X", "local.vtcm")
    sch.cache_write("Y", 0, "local.vtcm")
    busy = tilewright.simulate(sch, machine).engines["matrix"].busy
    setup = next(e.setup_cycles for e in machine.engines if e.name == "matrix")
    tiles = 64 * 512 // 32
    assert busy - setup == tiles
    # The vector unit may do a part.
    assert 0.75 * tiles < program_bound(parse(SQUARES).program, machine).work <= tiles
    derived = derive_space(parse(SQUARES).program, machine)
    assert "Y on matrix: a product" in derived.decisions


def test_unread_elements_and_branch_choices_do_not_count() -> None:
    text = """
@T.prim_func(s_tir=True)
def padded(X: T.Buffer((10,), "float32"), Y: T.Buffer((4,), "float32")):
    P = T.sblock_alloc_buffer((16,))
    for i in T.serial(16):
        with T.sblock("P"):
            vi = T.axis.spatial(16, i)
            P[vi] = T.if_then_else(3 <= vi and vi < 13, X[vi - 3], T.float32(0))
    for i in T.serial(4):
        with T.sblock("Y"):
            vi = T.axis.spatial(4, i)
            Y[vi] = T.exp(P[vi * 2])
"""
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    index = Schedule(program).index
    body = index.block("P").body
    assert isinstance(body, BufferStore)
    (found,) = loads_of(body.value)
    assert touched(index.block("P"), *found) == 10
    assert touched(index.block("P"), BufferLoad(body.buffer, body.indices)) == 16
    read = index.block("Y").body
    assert isinstance(read, BufferStore)
    assert [touched(index.block("Y"), *one) for one in loads_of(read.value)] == [4]
    bound = program_bound(program, load_machine("dual-bank-npu"))
    assert bound.movement == 1  # four floats of Y; some of P are not needed, so X does not count


def test_bound_of_a_division_is_the_best_split_of_two_engines() -> None:
    text = """
@T.prim_func(s_tir=True)
def ratio(X: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32"), Z: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.sblock("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = X[vi, vj] / Y[vi, vj]
"""
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    vector, scalar = 12 / 32, 2
    best = 64 * 64 / (1 / vector + 1 / scalar)
    assert best <= program_bound(program, load_machine("dual-bank-npu")).work < best + 1


def test_unread_rows_of_padding_do_not_count() -> None:
    text = """
@T.prim_func(s_tir=True)
def pool(X: T.Buffer((32, 12), "float32"), Y: T.Buffer((16, 4), "float32")):
    P = T.sblock_alloc_buffer((34, 14))
    for i, j in T.grid(34, 14):
        with T.sblock("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(1 <= vi and vi < 33 and 1 <= vj and vj < 13, X[vi - 1, vj - 1], T.float32(-1e30))
    for i, j, p, q in T.grid(16, 4, 3, 3):
        with T.sblock("Y"):
            vi, vj, vp, vq = T.axis.remap("SSRR", [i, j, p, q])
            with T.init():
                Y[vi, vj] = T.float32(-1e30)
            Y[vi, vj] = T.max(Y[vi, vj], P[vi * 2 + vp, vj * 2 + vq])
"""
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    read = 32 * 8  # windows cover 33 rows and 9 columns of P: all rows of X, and 8 of its columns
    assert program_bound(program, load_machine("dual-bank-npu")).movement == -(-(read + 16 * 4) * 4 // 26)


def test_operations_of_a_choice_count_where_they_happen() -> None:
    text = """
@T.prim_func(s_tir=True)
def scan(X: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32")):
    S = T.sblock_alloc_buffer((64, 64))
    for i, j in T.grid(64, 64):
        with T.sblock("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = T.if_then_else(vj >= 32, T.exp(X[vi, vj]) + X[vi, vj - 32], X[vi, vj])
    for i, j in T.grid(64, 64):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.if_then_else(vj >= 16, S[vi, vj] + S[vi, vj - 16], S[vi, vj])
"""
    index = Schedule(parse(text).program).index
    counted = []
    for name in ("S", "Y"):
        body = index.block(name).body
        assert isinstance(body, BufferStore)
        counted.append([(one.rated, one.iterations) for one in lasting_operations(index.block(name), body.value)])
    assert counted == [[("", 64 * 32), ("exp", 64 * 32)], [("", 64 * 48)]]
    bound = program_bound(index.func, load_machine("dual-bank-npu"))
    assert bound.movement == -(-2 * 64 * 64 * 4 // 26), "the two reads of S cover all of it"


def test_what_becomes_the_start_of_a_sum_does_not_count_and_other_functions_of_a_sum_do() -> None:
    text = """
@T.prim_func(s_tir=True)
def sums(A: T.Buffer((64, 64), "float32"), b: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    S = T.sblock_alloc_buffer((64,))
    for i, k in T.grid(64, 64):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i in T.serial(64):
        with T.sblock("Y"):
            vi = T.axis.spatial(64, i)
            Y[vi] = {value}
"""
    machine = load_machine("dual-bank-npu")
    joined, kept = (
        program_bound(parse(text.replace("{value}", value)).program, machine).work
        for value in ("S[vi] + T.exp(b[vi])", "T.exp(S[vi]) + b[vi]")
    )
    assert joined < kept


@pytest.mark.parametrize(("start", "elements"), [(8, 16), (4, 8)])
def test_parts_of_a_result_count_together_if_they_are_apart(start: int, elements: int) -> None:
    text = f"""
@T.prim_func(s_tir=True)
def parts(A: T.Buffer((8,), "float32"), Y: T.Buffer((16,), "float32")):
    for i in T.serial(8):
        with T.sblock("low"):
            vi = T.axis.spatial(8, i)
            Y[vi] = T.exp(A[vi])
    for i in T.serial(8):
        with T.sblock("high"):
            vi = T.axis.spatial(8, i)
            Y[vi + {start}] = A[vi] * T.float32(2)
"""
    bound = program_bound(parse(text).program, load_machine("dual-bank-npu"))
    assert bound.movement == -(-(8 + elements) * 4 // 26)
