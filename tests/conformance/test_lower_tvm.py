"""Lowering gives what TVM's passes give: on programs scheduled by hand pass by pass, on random ones as far as both place buffers alike."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from support.calls import apply, calls, describe
from support.programs import programs
from support.sources import ELEMENTWISE_CHAIN, MATMUL, MATMUL_RELU, box_blur
from support.tvm_oracle import assert_same_program, tvm, tvm_parse

from tilewright.engine.ir import For, PrimFunc, allocated_buffers, walk_stmts
from tilewright.engine.lower import PASSES, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm

S, X = tvm.s_tir.transform, tvm.tirx.transform
THEIRS = {
    "LowerInitBlock": S.LowerInitBlock,
    "PlanAndUpdateBufferAllocationLocation": S.PlanAndUpdateBufferAllocationLocation,
    "ConvertBlocksToOpaque": S.ConvertBlocksToOpaque,
    "CompactBufferAllocation": S.CompactBufferAllocation,
    "LowerMatchBuffer": S.LowerMatchBuffer,
    "LowerOpaqueBlock": S.LowerOpaqueBlock,
    "FlattenBuffer": X.FlattenBuffer,
    "StmtSimplify": X.StmtSimplify,
    "RemoveNoOp": X.RemoveNoOp,
}
"""All passes but InjectDoubleBuffer: TVM's does nothing here, and fails on buffers of two axes."""

ALLOCATION_NOTES = 'annotations={"buffer_allocated_addr": [], "buffer_data_alignment": 64}'


def tvm_lowered(mod, until: str):
    for step in PASSES:
        if step.name in THEIRS:
            mod = THEIRS[step.name]()(mod)
        if step.name == until:
            return mod
    raise AssertionError(until)


def without_notes(mod):
    """TVM notes address and alignment at each allocation; we keep the alignment in the buffer."""
    return tvm_parse(mod.script().replace(", " + ALLOCATION_NOTES, ""))


def without_regions(text: str) -> str:
    """Without the regions of the blocks that only own buffers: TVM reads them off again. (Ours are tighter where indices are clamped.)"""
    return re.sub(r'(with T.sblock\(""\):)\n\s*T.reads\(.*\)\n\s*T.writes\(.*\)', r"\1", text)


def assert_lowers_alike(func: PrimFunc, until: str) -> None:
    ours, theirs = to_script(lower(func, until)), tvm_lowered(tvm_parse(to_script(func)), until)
    names = [p.name for p in PASSES]
    if names.index(until) >= names.index("FlattenBuffer"):
        # TVM flattens parameters too.
        ours, theirs = to_script(lower(func)), tvm_lowered(tvm_parse(to_script(func)), "RemoveNoOp")
        ours = X.RemoveNoOp()(X.StmtSimplify()(X.FlattenBuffer()(tvm_parse(ours)))).script()
    if names.index(until) >= names.index("LowerOpaqueBlock"):
        theirs = without_notes(theirs)
    assert_same_program(without_regions(ours), tvm_parse(without_regions(theirs.script())))


def tiled_matmul_relu(s):
    matmul, relu = s.get_block("matmul"), s.get_block("relu")
    i, j, k = s.get_loops(matmul)
    i0, i1 = s.split(i, [None, 16])
    j0, j1 = s.split(j, [None, 20])
    k0, k1 = s.split(k, [None, 8])
    s.reorder(i0, j0, k0, i1, j1, k1)
    s.compute_at(s.cache_read(matmul, 0, "local"), k0)
    s.reverse_compute_at(relu, j0)


def decomposed(s):
    tiled_matmul_relu(s)
    s.decompose_reduction(s.get_block("matmul"), s.get_loops(s.get_block("matmul"))[2])


def on_threads(s):
    matmul = s.get_block("C")
    i, j, k = s.get_loops(matmul)
    i0, i1 = s.split(i, [None, 16])
    k0, k1 = s.split(k, [None, 8])
    s.reorder(i0, i1, j, k0, k1)
    s.bind(i0, "blockIdx.x")
    s.bind(i1, "threadIdx.x")
    s.compute_at(s.cache_read(matmul, 0, "shared"), k0)
    s.compute_at(s.cache_read(matmul, 1, "local"), k0)
    s.reverse_compute_at(s.cache_write(matmul, 0, "local"), j)


def packed(s):
    copy = s.cache_read(s.get_block("C"), 0, "shared")
    s.transform_layout(copy, ("write", 0), lambda i, j: [i // 16, j // 16, i % 16, j % 16])
    i, _ = s.split(s.get_loops(s.get_block("C"))[0], [None, 16])
    s.compute_at(copy, i)


def blurred_at(depth):
    def calls(s):
        s.compute_inline(s.get_block("padded"))
        s.compute_inline(s.get_block("y_blur"))
        s.compute_at(s.get_block("x_blur"), s.get_loops(s.get_block("box_blur"))[depth])
        s.transform_layout(s.get_block("x_blur"), ("write", 0), lambda y, x, c: [x, c, y])

    return calls


def blurred_in_tiles(s):
    y, x, _ = s.get_loops(s.get_block("box_blur"))
    y0, y1 = s.split(y, [None, 9])
    x0, x1 = s.split(x, [None, 7])
    s.reorder(y0, x0, y1, x1)
    s.compute_at(s.get_block("y_blur"), x0)
    s.compute_at(s.get_block("x_blur"), x0)
    s.compute_inline(s.get_block("padded"))


CASES = {
    "as it is": (MATMUL_RELU, lambda s: None),
    "tiled": (MATMUL_RELU, tiled_matmul_relu),
    "decomposed": (MATMUL_RELU, decomposed),
    "on threads": (MATMUL, on_threads),
    "packed": (MATMUL, packed),
    "blurred at the row": (box_blur(), blurred_at(0)),
    "blurred at the pixel": (box_blur(), blurred_at(1)),
    "blurred in tiles": (box_blur(), blurred_in_tiles),
    "a chain in rows": (
        ELEMENTWISE_CHAIN,
        lambda s: [s.compute_at(s.get_block(b), s.get_loops(s.get_block("D"))[0]) for b in ("C", "B")],
    ),
}


@pytest.mark.parametrize("until", THEIRS)
@pytest.mark.parametrize("name", CASES)
def test_given_a_schedule_when_lowered_then_as_tvm(name, until):
    names = [p.name for p in PASSES]
    if name == "on threads" and names.index(until) >= names.index("LowerOpaqueBlock"):
        pytest.skip("TVM makes launch_thread attributes of thread loops here")
    text, steps = CASES[name]
    schedule = Schedule(parse(text).program)
    steps(schedule)
    assert_lowers_alike(schedule.func, until)


@settings(max_examples=max(1, settings.default.max_examples // 4))  # an example runs a dozen of TVM's passes
@given(programs(), st.data())
def test_given_a_random_schedule_when_lowered_then_as_tvm(program, data):
    schedule = Schedule(program)
    for _ in range(data.draw(st.integers(1, 6))):
        try:
            apply(schedule, data.draw(calls(schedule)))
        except ScheduleError:
            continue
        note(describe(schedule.trace.steps[-1]))
    func = schedule.func
    assume(not any(b.axis_separators for b in allocated_buffers(func.body)))
    untils = ["PlanAndUpdateBufferAllocationLocation", "CompactBufferAllocation"]
    if not any(isinstance(f, For) and f.thread_tag for f in walk_stmts(func.body)):
        untils.append("LowerOpaqueBlock")
    for until in untils:
        note(f"{until}\n{to_script(lower(func, until))}")
        assert_lowers_alike(func, until)
