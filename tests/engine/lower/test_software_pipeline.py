"""Software pipelines: prologue, body and epilogue, the versions of buffers, and illegal overlaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st
from support.programs.sources import HEADER, matmul

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import AXIS_SEPARATOR, Allocate, AttrStmt, For, PrimFunc, allocated_buffers, build, walk_stmts
from tilewright.engine.lower import LowerError, allocations, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script


def program(body: str, trips: int | str = 8, notes: str = "") -> PrimFunc:
    """A loop over `trips` with `body` in it: B and D are new in each iteration."""
    text = f"""@T.prim_func(s_tir=True)
def f(A: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int32")):
    for i in T.serial({trips}, annotations={{{notes}}}):
        with T.sblock(""):
            B = T.sblock_alloc_buffer((1,), "int32")
            D = T.sblock_alloc_buffer((1,), "int32")
"""
    lines = "".join(f"            {line}\n" for line in body.strip("\n").splitlines())
    found = parse(HEADER + text + lines).program
    assert isinstance(found, PrimFunc)
    return found


def block(name: str, store: str, reads: str, writes: str) -> str:
    return f'with T.sblock("{name}"):\n    T.reads({reads})\n    T.writes({writes})\n    {store}\n'


LOAD = block("load", "B[0] = A[i]", "A[i]", "B[0]")
DOUBLE = block("double", "D[0] = B[0] * 2", "B[0]", "D[0]")
STORE = block("store", "C[i] = D[0] + 1", "D[0]", "C[i]")
CHAIN = LOAD + DOUBLE + STORE


def annotated(stages: list[int], orders: list[int], more: str = "") -> str:
    return f'"software_pipeline_stage": {stages}, "software_pipeline_order": {orders}{more}'


def lines(func: PrimFunc) -> list[str]:
    text = to_script(lower(func))
    return [line.strip() for line in text.partition("def ")[2].splitlines()[1:] if line.strip()]


def assert_same_results(func: PrimFunc, *, until: str | None = None) -> None:
    inputs = random_inputs(func)
    found = run(lower(func, until), inputs)
    for name, array in run(func, inputs).items():
        np.testing.assert_array_equal(found[name], array)


def test_load_of_two_stages_runs_one_iteration_ahead():
    func = program(CHAIN, notes=annotated([0, 1, 1], [0, 1, 2]))
    assert lines(func) == [
        'B = T.alloc_buffer((2,), "int32")',
        'D = T.alloc_buffer((1,), "int32")',
        "B[0] = A[0]",
        "for i in range(7):",
        "B[(i + 1) % 2] = A[i + 1]",
        "D[0] = B[i % 2] * 2",
        "C[i] = D[0] + 1",
        "D[0] = B[1] * 2",
        "C[7] = D[0] + 1",
    ]
    assert_same_results(func)


VERSIONS = {
    "all in one stage": ([0, 0, 0], [0, 1, 2], (1, 1)),
    "a load ahead": ([0, 1, 1], [0, 1, 2], (2, 1)),
    "a load ahead, after its use": ([0, 1, 1], [2, 0, 1], (1, 1)),
    "a load two ahead": ([0, 2, 2], [0, 1, 2], (3, 1)),
    "each in a stage": ([0, 1, 2], [0, 1, 2], (2, 2)),
    "each in a stage, last first": ([0, 1, 2], [2, 1, 0], (1, 1)),
    "a store far behind": ([0, 1, 4], [0, 1, 2], (2, 4)),
}


@pytest.mark.parametrize("name", VERSIONS)
@pytest.mark.parametrize("trips", [1, 2, 3, 8])
def test_versions_are_those_that_are_live(name, trips):
    stages, orders, versions = VERSIONS[name]
    func = program(CHAIN, trips, annotated(stages, orders))
    sizes = {b.name: build.int_value(b.shape[0]) for b in allocated_buffers(lower(func))}
    if trips > max(stages):
        assert (sizes["B"], sizes["D"]) == versions
    assert_same_results(func)
    assert_same_results(func, until="InjectSoftwarePipeline")


def test_short_loops_of_symbolic_size_are_right_too():
    text = (
        HEADER
        + f"""@T.prim_func(s_tir=True)
def f(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n,), "int32")
    for i in T.serial(n, annotations={{{annotated([0, 3], [0, 1])}}}):
        with T.sblock(""):
            B = T.sblock_alloc_buffer((1,), "int32")
            with T.sblock("load"):
                T.reads(A[i])
                T.writes(B[0])
                B[0] = A[i]
            with T.sblock("store"):
                T.reads(B[0])
                T.writes(C[i])
                C[i] = B[0] + 1
"""
    )
    func = parse(text).program
    assert isinstance(func, PrimFunc)
    lowered = lower(func)
    for size in (1, 2, 3, 4, 9):
        inputs = {"A": np.arange(size, dtype=np.int32)}
        np.testing.assert_array_equal(run(lowered, inputs)["C"], inputs["A"] + 1)


def test_asynchronous_stages_have_queues_and_waits():
    func = program(CHAIN, notes=annotated([0, 1, 1], [0, 1, 2], ', "software_pipeline_async_stages": [0]'))
    notes = [(s.key, build.int_value(s.value)) for s in walk_stmts(lower(func)) if isinstance(s, AttrStmt)]
    started, waits = [("async_commit_queue_scope", 0), ("async_scope", 1)], ("async_wait_queue_scope", 0)
    in_flight = "async_wait_inflight_count"
    assert notes == [*started, *started, waits, (in_flight, 1), waits, (in_flight, 0)]
    assert_same_results(func)
    assert to_script(parse(to_script(lower(func))).program) == to_script(lower(func))


REFUSED = {
    "a use before its load": (CHAIN, annotated([1, 0, 0], [0, 1, 2]), "broken-dependence"),
    "a use before its load in one stage": (CHAIN, annotated([0, 0, 0], [1, 0, 2]), "broken-dependence"),
    "an overwriting before the use": (
        LOAD + STORE.replace("D", "B") + LOAD.replace("load", "again"),
        annotated([0, 1, 0], [0, 1, 2]),
        "broken-dependence",
    ),
    "what the next iteration reads": (
        block("load", "B[0] = C[i]", "C[i]", "B[0]")
        + block("store", "C[i + 1] = B[0] + A[i]", "A[i], B[0]", "C[i + 1]"),
        annotated([0, 1], [0, 1]),
        "broken-dependence",
    ),
    "what an earlier iteration still reads": (
        block("load", "B[0] = A[i]", "A[i]", "B[0]")
        + block("store", "C[i] = C[i + 1] + B[0]", "C[i + 1], B[0]", "C[i]")
        + block("clear", "C[i + 9] = 0", "", "C[i + 9]"),
        annotated([0, 1, 0], [0, 1, 2]),
        "",
    ),
    "too few stages": (CHAIN, annotated([0, 1], [0, 1, 2]), "pipeline-size"),
    "one place twice": (CHAIN, annotated([0, 1, 1], [0, 1, 1]), "pipeline-order"),
    "no stages": (CHAIN, '"software_pipeline_order": [0, 1, 2]', "half-a-pipeline"),
    "one statement": (block("copy", "C[i] = A[i]", "A[i]", "C[i]"), annotated([0], [0]), "pipeline-body"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_stages_that_break_a_dependence_are_refused(name):
    body, notes, code = REFUSED[name]
    func = program(body, notes=notes)
    if not code:
        return assert_same_results(func)
    with pytest.raises(LowerError) as caught:
        lower(func)
    assert caught.value.code == code
    return None


def test_a_parallel_loop_is_no_pipeline():
    text = to_script(program(CHAIN, notes=annotated([0, 1, 1], [0, 1, 2]))).replace("T.serial", "T.parallel")
    func = parse(text).program
    assert isinstance(func, PrimFunc)
    with pytest.raises(LowerError) as caught:
        lower(func)
    assert caught.value.code == "pipeline-loop"


# From a schedule.


def staged(layout=None) -> tuple[Schedule, str]:
    """A matmul with A staged at k_0 and its copy there."""
    sch = Schedule(parse(matmul(64, 32, 256)).program)
    compute = sch.get_block("C")
    m, n, k = sch.get_loops(compute)
    ko, ki = sch.split(k, factors=[None, 64])
    sch.reorder(ko, m, n, ki)
    copy = sch.cache_read(compute, 0, "local.vtcm")
    sch.compute_at(copy, ko)
    if layout is not None:
        sch.transform_layout(copy, ("write", 0), layout)
    return sch, copy


def test_pipelining_a_staged_tile_makes_two_versions():
    sch, _ = staged(lambda m, k: [k // 64 % 2, AXIS_SEPARATOR, m, k // 128, k % 64])
    loop = sch.get_loops("C")[0]
    sch.pipeline(loop, [0, 1])
    notes = {key: [v.value for v in value] for key, value in sch.index.loop(loop).annotations}
    assert notes == {"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}
    (found,) = allocations(sch.func)
    assert (found.slots, [build.int_value(e) for e in found.lowered.shape], found.lowered.axis_separators) == (
        2,
        [2, 4096],
        (1,),
    )
    assert_same_results(sch.func)
    flat = [s for s in walk_stmts(lower(sch.func)) if isinstance(s, For) and s.loop_var.name == loop.name]
    assert [build.int_value(f.extent) for f in flat] == [3]


@pytest.mark.parametrize(
    ("body", "notes", "found"),
    [
        (REFUSED["what the next iteration reads"][0], [0, 1], "'store' at i = 0 and 'load' at i = 1 access C[1]"),
        (CHAIN.replace("B[0]", "B[i // 40]"), [1, 0, 0], "access B[0]"),
    ],
)
def test_broken_dependence_names_an_element_and_its_iterations(body, notes, found):
    with pytest.raises(LowerError) as caught:
        lower(program(body, notes=annotated(notes, list(range(len(notes))))))
    assert caught.value.code == "broken-dependence" and found in caught.value.refusal.found


def test_reversed_stages_are_refused_with_a_fix():
    sch, copy = staged()
    loop = sch.get_loops("C")[0]
    before = sch.mod
    with pytest.raises(ScheduleError) as caught:
        sch.pipeline(loop, [1, 0])
    refusal = caught.value.refusal
    assert refusal.code == "broken-dependence"
    assert [getattr(n, "name", "") for n in refusal.nodes] == [copy, "C"]
    assert copy in refusal.message and "'C'" in refusal.message
    assert ("at " in refusal.found and "access " in refusal.found) or "undecided: " in refusal.found
    assert sch.mod is before
    with pytest.raises(ScheduleError) as caught:
        sch.pipeline(loop, [0, 1], order=[0, 0])
    assert caught.value.code == "pipeline-order"
    with pytest.raises(ScheduleError) as caught:
        sch.pipeline(loop, [0, 1, 1])
    assert caught.value.code == "pipeline-size"


def test_rising_stages_are_proposed_for_three_falling_ones():
    func = program(CHAIN)
    sch = Schedule(func)
    with pytest.raises(ScheduleError) as caught:
        sch.pipeline("i", [0, 1, 0])
    assert caught.value.refusal.fix == ("sch.pipeline(i, stages=[0, 1, 1])",)


@pytest.mark.slow
def test_prologue_of_a_nested_pipeline_overlaps_too():
    text = (
        HEADER
        + """@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 16), "int32"), C: T.Buffer((8, 16), "int32")):
    S = T.sblock_alloc_buffer((8, 16), "int32")
    L = T.sblock_alloc_buffer((8, 16), "int32")
    for i in range(8):
        for x in range(16):
            with T.sblock("S"):
                vi, vx = T.axis.remap("SS", [i, x])
                S[vi, vx] = A[vi, vx]
        for j in range(16):
            with T.sblock("L"):
                vi, vj = T.axis.remap("SS", [i, j])
                L[vi, vj] = S[vi, vj] * 2
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = L[vi, vj] + 1
"""
    )
    for stages, order in (([0, 1], None), ([0, 0, 1, 1], [0, 2, 1, 3]), ([0, 1, 1, 1], [3, 0, 1, 2])):
        sch = Schedule(parse(text).program)
        i, j = sch.get_loops("C")
        sch.pipeline(j, [0, 1])
        sch.pipeline(i, stages, order)
        assert_same_results(sch.func)
        assert {a.buffer.name: a.slots for a in allocations(sch.func)}["S"] == (1 if order == [3, 0, 1, 2] else 2)


# Slots in banks.


def test_banks_of_a_double_buffer_are_kept_in_any_layout():
    sch, copy = staged()
    sch.double_buffer(copy, banks=("local.vtcm[1]", "local.vtcm[0]"))
    (found,) = allocations(sch.func)
    assert (found.slots, [build.int_value(e) for e in found.lowered.shape], found.lowered.axis_separators) == (
        2,
        [2, 4096],
        (1,),
    )
    (allocate,) = [s for s in walk_stmts(lower(sch.func)) if isinstance(s, Allocate)]
    assert 'annotations={"slot_banks": {"A_local.vtcm": [1, 0]}}' in to_script(lower(sch.func))
    assert allocate.buffers[0].axis_separators == (1,)
    assert_same_results(sch.func)


@pytest.mark.parametrize("banks", [("local.acc[0]", "local.vtcm[0]"), (-1, 0), ("vtcm", "vtcm"), (0,)])
def test_banks_of_another_memory_are_refused(banks):
    sch, copy = staged()
    with pytest.raises(ScheduleError) as caught:
        sch.double_buffer(copy, banks=banks)
    assert caught.value.code == "bad-bank"


# The law: accepted stages keep the meaning.


@st.composite
def carried(draw: st.DrawFn) -> PrimFunc:
    """Statements that read and write three arrays at different steps and offsets, in random stages."""
    count = draw(st.integers(2, 4))
    place = st.tuples(st.sampled_from("XYZ"), st.sampled_from((0, 1, 1, 2)), st.integers(0, 4))
    text = "@T.prim_func(s_tir=True)\ndef f(" + ", ".join(f'{n}: T.Buffer((32,), "int32")' for n in "XYZ") + "):\n"
    stages = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    orders = draw(st.permutations(range(count)))
    text += f"    for i in T.serial({draw(st.integers(1, 8))}, annotations={{{annotated(stages, list(orders))}}}):\n"
    for n in range(count):
        target, source = (f"{name}[i * {step} + {offset}]" for name, step, offset in (draw(place), draw(place)))
        lines = block(f"s{n}", f"{target} = {source} * 3 + {n}", source, target).splitlines()
        text += "".join(f"        {line}\n" for line in lines)
    found = parse(HEADER + text).program
    assert isinstance(found, PrimFunc)
    return found


@given(carried())
def test_law_accepted_stages_keep_the_meaning(func):
    note(to_script(func))
    try:
        lowered = lower(func)
    except LowerError as error:
        event(error.code)
        assert error.code == "broken-dependence"
        return
    event("accepted")
    inputs = {n: np.arange(32, dtype=np.int32) * (k + 1) for k, n in enumerate("XYZ")}
    found = run(lowered, inputs)
    for name, array in run(func, inputs).items():
        np.testing.assert_array_equal(found[name], array)
