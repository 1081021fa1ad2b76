"""compute_at and reverse_compute_at: the position and domain of moved blocks, and refusals; legal_targets agrees."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.programs.sources import BOX_BLUR, CONV2D, ELEMENTWISE_CHAIN, FUSED_MATMUL_ADD_RELU, MATMUL, MATMUL_RELU
from support.schedules.calls import apply, calls, describe
from support.schedules.targets import assert_confirmed

from tilewright.engine.ir import BlockRealize, For, SeqStmt, build
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import expr_text, parse, to_script


def schedule(text: str = MATMUL_RELU) -> Schedule:
    return Schedule(parse(text).program)


def extents(sch: Schedule, block: str) -> list[int | None]:
    return [build.int_value(f.extent) for f in sch.index.loops_of(block)]


def values(sch: Schedule, block: str) -> list[str]:
    return [expr_text(v) for v in sch.index.realize(block).iter_values]


def statements(sch: Schedule, loop) -> list[str]:
    """The blocks in the statements of a loop, one name a statement."""
    body = sch.index.loop(loop).body
    items = body.seq if isinstance(body, SeqStmt) else (body,)
    return [(s if isinstance(s, BlockRealize) else sch.index.child_blocks(s)[0]).block.name for s in items]


def tiled_relu(sch: Schedule, factor: int):
    i, j = sch.get_loops("relu")
    i0, i1 = sch.split(i, [None, factor])
    j0, j1 = sch.split(j, [None, factor])
    sch.reorder(i0, j0, i1, j1)
    return i0, j0, i1, j1


def test_compute_at_computes_the_needed_region():
    sch = schedule()
    _, j0, _, _ = tiled_relu(sch, 32)
    sch.compute_at("matmul", j0)
    assert extents(sch, "matmul") == [4, 3, 32, 32, 64]
    assert values(sch, "matmul") == ["i_0 * 32 + ax0", "j_0 * 32 + ax1", "ax2"]
    assert build.is_true(sch.index.realize("matmul").predicate)
    assert sch.verify().status == "tested"


def test_compute_at_of_uneven_tiles_predicates_the_domain():
    sch = schedule()
    _, j0, _, _ = tiled_relu(sch, 60)
    sch.compute_at("matmul", j0)
    assert extents(sch, "matmul") == [3, 2, 60, 60, 64]
    assert expr_text(sch.index.realize("matmul").predicate) == "i_0 * 60 + ax0 < 128 and j_0 * 60 + ax1 < 96"
    assert sch.verify().status == "tested"


def test_compute_at_of_a_stencil_recomputes_the_halo():
    sch = schedule(BOX_BLUR)
    y, _, _ = sch.get_loops("y_blur")
    y0, _ = sch.split(y, [None, 16])
    sch.compute_at("x_blur", y0)
    assert extents(sch, "x_blur") == [4, 18, 64, 3]
    assert sch.verify().status == "tested"


def test_compute_at_of_padding_in_a_reduction_computes_one_element():
    sch = schedule(CONV2D.replace("14", "4").replace("15", "5").replace("16", "6").replace("8", "3"))
    sch.compute_at("pad", sch.get_loops("conv")[-1])
    assert extents(sch, "pad") == extents(sch, "conv")
    assert sch.verify().status == "tested"


def test_compute_at_may_preserve_unit_loops():
    sch = schedule(ELEMENTWISE_CHAIN)
    i, j = sch.get_loops("C")
    sch.compute_at("B", j, preserve_unit_loops=True)
    assert extents(sch, "B") == [64, 48, 1, 1]
    assert statements(sch, j) == ["B", "C"]
    assert sch.get_loops("C") == [i, j]


def test_reverse_compute_at_places_a_consumer_after_its_producer():
    sch = schedule(ELEMENTWISE_CHAIN)
    i, j = sch.get_loops("B")
    sch.reverse_compute_at("C", i)
    assert extents(sch, "C") == [64, 48]
    assert statements(sch, i) == ["B", "C"]
    sch.reverse_compute_at("D", i)
    assert statements(sch, i) == ["B", "C", "D"]
    assert sch.get_loops("B") == [i, j]
    assert sch.verify().status == "tested"


def test_reverse_compute_at_of_a_relu_keeps_the_meaning():
    sch = schedule()
    i, j, _ = sch.get_loops("matmul")
    i0, i1 = sch.split(i, [None, 60])
    j0, j1 = sch.split(j, [None, 32])
    sch.reorder(i0, j0, i1, j1)
    sch.reverse_compute_at("relu", j0)
    assert extents(sch, "relu") == [3, 3, 60, 32]
    assert sch.verify().status == "tested"


def test_moved_reduction_of_a_row_is_whole_in_each_iteration():
    sch = schedule()
    i, _ = sch.get_loops("relu")
    sch.compute_at("matmul", i)
    assert extents(sch, "matmul") == [128, 96, 64]
    assert sch.verify().status == "tested"


def test_reduction_moved_to_its_producer_adds_each_term_once():
    sch = schedule(MATMUL)
    copy = sch.cache_read("C", 0, "local")
    sch.reverse_compute_at("C", sch.get_loops(copy)[1])
    assert statements(sch, sch.get_loops(copy)[1]) == [copy, "C"]
    assert extents(sch, "C") == [128, 128, 128]
    assert sch.verify().status == "tested"


@pytest.mark.parametrize(
    ("index", "order"), [(-1, ["A", "B", "C"]), (-2, ["B", "A", "C"]), (0, ["B", "A", "C"]), (1, ["A", "B", "C"])]
)
def test_index_selects_the_position_of_a_moved_block(index: int, order: list[str]):
    sch = schedule(MATMUL)
    a, b = sch.cache_read("C", 0, "local"), sch.cache_read("C", 1, "local")
    i = sch.get_loops("C")[0]
    sch.compute_at(a, i)
    sch.compute_at(b, i, index=index)
    assert [n[0] for n in statements(sch, i)] == order
    assert sch.verify().status == "tested"


def test_threads_that_share_a_tile_fill_all_of_it():
    sch = schedule(MATMUL)
    i, j, k = sch.get_loops("C")
    copy = sch.cache_read("C", 0, "shared")
    sch.reorder(i, j, k)
    _, i1 = sch.split(i, [None, 32])
    sch.bind(i1, "threadIdx.x")
    sch.compute_at(copy, j)
    assert extents(sch, copy) == [4, 32, 128, 32, 128]
    assert sch.verify().status == "tested"


def two_sums(sch: Schedule):
    """The matmul with k outermost; relu is to move under it."""
    i, j, k = sch.get_loops("matmul")
    sch.reorder(k, i, j)
    return k, i, j


REFUSALS = {
    "reduction loop of the producer": (
        MATMUL_RELU,
        "partial-sum",
        lambda s: s.reverse_compute_at("relu", s.get_loops("matmul")[2]),
    ),
    "under a reduction loop": (MATMUL_RELU, "partial-sum", lambda s: s.reverse_compute_at("relu", two_sums(s)[1])),
    "its own loop": (MATMUL_RELU, "loop-around-block", lambda s: s.compute_at("matmul", s.get_loops("matmul")[0])),
    "output": (MATMUL_RELU, "output-block", lambda s: s.compute_at("relu", s.get_loops("matmul")[0])),
    "not a consumer": (
        ELEMENTWISE_CHAIN,
        "not-all-consumers",
        lambda s: s.compute_at("B", s.get_loops("D")[0]),
    ),
    "not a producer": (
        ELEMENTWISE_CHAIN,
        "not-all-producers",
        lambda s: s.reverse_compute_at("D", s.get_loops("B")[0]),
    ),
    "neighbours are needed": (
        BOX_BLUR,
        "region-not-solvable",
        lambda s: s.reverse_compute_at("y_blur", s.get_loops("x_blur")[0]),
    ),
    "before its consumer": (
        ELEMENTWISE_CHAIN,
        "consumer-before",
        lambda s: s.reverse_compute_at("B", s.get_loops("D")[0]),
    ),
    "only block": (MATMUL, "loop-around-block", lambda s: s.reverse_compute_at("C", "k")),
    "decomposed": (
        MATMUL_RELU,
        "not-complete",
        lambda s: (
            s.decompose_reduction("matmul", s.get_loops("matmul")[2]),
            s.compute_at("matmul", s.get_loops("relu")[0]),
        ),
    ),
    "bad index": (MATMUL_RELU, "bad-index", lambda s: s.compute_at("matmul", s.get_loops("relu")[0], index=1)),
    "no such loop": (MATMUL_RELU, "unknown-loop", lambda s: s.compute_at("matmul", "z")),
    "no such block": (MATMUL_RELU, "unknown-block", lambda s: s.compute_at("mat", "k")),
    "the root": (MATMUL_RELU, "root-block", lambda s: s.compute_at("root", "k")),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_an_illegal_move_is_refused_with_its_code(name):
    text, code, call = REFUSALS[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        call(sch)
    assert refused.value.code == code
    assert refused.value.refusal.message


def test_fix_of_a_refused_partial_sum_is_the_loop_outside():
    sch = schedule()
    _, j, k = sch.get_loops("matmul")
    with pytest.raises(ScheduleError) as refused:
        sch.reverse_compute_at("relu", k)
    assert refused.value.refusal.fix == ("sch.reverse_compute_at('relu', j)",)
    sch.reverse_compute_at("relu", j)
    assert sch.verify().status == "tested"


PARTIAL = """from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    C = T.sblock_alloc_buffer((8,))
    for i, k in T.grid(8, 5):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(8, k)
            T.reads(A[vi, vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(8):
        with T.sblock("D"):
            vi = T.axis.spatial(8, i)
            T.reads(C[vi])
            T.writes(D[vi])
            D[vi] = C[vi]
"""


def test_moving_a_reduction_over_part_of_its_domain_is_refused():
    sch = schedule(PARTIAL)
    with pytest.raises(ScheduleError) as refused:
        sch.compute_at("C", sch.get_loops("D")[0])
    assert refused.value.code == "partial-domain"


OUTER_SUM = """from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), D: T.Buffer((8, 8), "float32")):
    X = T.sblock_alloc_buffer((8,))
    Y = T.sblock_alloc_buffer((8,))
    for i in range(8):
        with T.sblock("X"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(X[vi])
            X[vi] = A[vi] + T.float32(1)
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(Y[vi])
            Y[vi] = A[vi] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi], Y[vj])
            T.writes(D[vi, vj])
            D[vi, vj] = X[vi] + Y[vj]
"""


def test_moving_with_inputs_of_different_iterations_is_refused():
    sch = schedule(OUTER_SUM)
    with pytest.raises(ScheduleError) as refused:
        sch.reverse_compute_at("D", sch.get_loops("X")[0])
    assert refused.value.code == "region-not-solvable"


REUSED_CELL = """from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    S = T.sblock_alloc_buffer((1,))
    B = T.sblock_alloc_buffer((8,))
    for i in range(8):
        with T.sblock("S"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(S[0])
            S[0] = A[vi] * T.float32(2)
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            T.reads(S[0])
            T.writes(B[vi])
            B[vi] = S[0]
    for i in range(8):
        with T.sblock("D"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi])
            T.writes(D[vi])
            D[vi] = B[vi]
"""


def test_moving_the_reader_of_an_overwritten_element_is_refused():
    sch = schedule(REUSED_CELL)
    for move in (lambda: sch.compute_at("B", sch.get_loops("D")[0]), lambda: sch.compute_inline("B")):
        with pytest.raises(ScheduleError) as refused:
            move()
        assert refused.value.code == "not-final"


# Copies in reduction loops


def copied_matmul(*order: int) -> tuple[Schedule, str]:
    """A matmul whose result is copied, with its loops in this order."""
    sch = schedule(MATMUL)
    copy = sch.cache_write("C", 0, "local")
    loops = sch.get_loops("C")
    if order:
        sch.reorder(*(loops[n] for n in order))
    return sch, copy


@pytest.mark.parametrize(("order", "depth"), [((), 2), ((2, 0, 1), 0), ((2, 0, 1), 1), ((0, 2, 1), 1)])
def test_copy_moved_into_the_reduction_overwrites_partial_sums(order, depth):
    sch, copy = copied_matmul(*order)
    sch.reverse_compute_at(copy, sch.get_loops("C")[depth])
    assert sch.check().status == "proved"


def fused_with_k(sch: Schedule, copy: str):
    return sch.reverse_compute_at(copy, sch.fuse(*sch.get_loops("C")[1:]))


def with_a_reader(sch: Schedule, copy: str):
    k = sch.get_loops("C")[2]
    second = sch.cache_write(copy, 0, "local")
    sch.reverse_compute_at(copy, k)
    sch.reverse_compute_at(second, k)


@pytest.mark.parametrize("move", [fused_with_k, with_a_reader])
def test_copy_that_leaves_partial_sums_is_refused(move):
    sch, copy = copied_matmul()
    with pytest.raises(ScheduleError) as refused:
        move(sch, copy)
    assert refused.value.code in ("partial-sum", "not-final")


def test_moving_a_consumer_names_a_partial_sum():
    sch = schedule()
    with pytest.raises(ScheduleError) as refused:
        sch.reverse_compute_at("relu", sch.get_loops("matmul")[2])
    assert refused.value.refusal.found == "'k' drives 'vk': at k = 0 the sum lacks the terms of later iterations"


# legal_targets


@pytest.mark.parametrize("text", [MATMUL_RELU, ELEMENTWISE_CHAIN, BOX_BLUR, CONV2D, FUSED_MATMUL_ADD_RELU])
def test_every_loop_has_a_verdict_that_the_call_confirms(text):
    sch = schedule(text)
    for block in sch.index.block_names:
        if block == "root":
            continue
        targets = sch.legal_targets(block)
        assert [t.loop for t in targets] == [f.loop_var for f in sch.index.loops]
        for target in targets:
            assert_confirmed(sch, block, target)


def test_reason_of_an_illegal_loop_points_at_it():
    sch = schedule()
    targets = {t.loop: t for t in sch.legal_targets("relu")}
    i, j, k = sch.get_loops("matmul")
    assert targets[i].legal and targets[j].legal and targets[i].primitive == "reverse_compute_at"
    refusal = targets[k].refusal
    assert refusal is not None
    assert refusal.code == "partial-sum"
    assert any(isinstance(n, For) and n.loop_var is k for n in refusal.nodes)
    assert refusal.fix == ("sch.reverse_compute_at('relu', j)",)


# Laws


@given(programs(), st.data())
def test_law_verdicts_on_targets_agree_with_the_calls(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(0, 4))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    block = data.draw(st.sampled_from([n for n in sch.index.block_names if n != "root"]))
    note(to_script(sch.mod))
    for target in sch.legal_targets(block):
        assert_confirmed(sch, block, target)


@given(programs(), st.data())
def test_law_moves_to_legal_loops_keep_the_meaning(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(0, 3))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    for _ in range(data.draw(st.integers(1, 3))):
        blocks = [n for n in sch.index.block_names if n != "root"]
        block = data.draw(st.sampled_from(blocks))
        legal = [t for t in sch.legal_targets(block) if t.legal]
        if not legal:
            continue
        target = data.draw(st.sampled_from(legal))
        getattr(sch, target.primitive)(block, target.loop)
        note(describe(sch.trace.steps[-1]))
        note(to_script(sch.mod))
        verdict = sch.verify()
        assert verdict.status == "tested", verdict.detail
