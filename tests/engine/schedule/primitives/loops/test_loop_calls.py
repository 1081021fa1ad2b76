"""split, fuse, reorder and the loop kinds: their results, and a table of refusals."""

from __future__ import annotations

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL

from tilewright.engine.ir import build
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

SCAN = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def scan(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 17), "float32")):
    for i, j in T.grid(8, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj + 1] = B[vi, vj] + A[vi, vj]
"""

WAVEFRONT = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def wavefront(A: T.Buffer((8, 16), "float32"), B: T.Buffer((9, 17), "float32")):
    for i, j in T.grid(8, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi + 1, vj] = B[vi, vj + 1] + A[vi, vj]
"""

DOUBLED = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def doubled(X: T.Buffer((8, 16), "float32"), Y: T.Buffer((8, 16), "float32")):
    S = T.sblock_alloc_buffer((2, 8, 16), "float32")
    for i, j in T.grid(8, 16):
        with T.sblock("load"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[0, vi, vj] = X[vi, vj]
    for d, i, j in T.grid(4, 8, 16):
        with T.sblock("step"):
            vd, vi, vj = T.axis.remap("SSS", [d, i, j])
            S[(vd + 1) % 2, vi, vj] = T.if_then_else(
                vj >= T.shift_left(1, vd),
                S[vd % 2, vi, vj] + S[vd % 2, vi, vj - T.shift_left(1, vd)],
                S[vd % 2, vi, vj],
            )
    for i, j in T.grid(8, 16):
        with T.sblock("store"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = S[0, vi, vj]
"""

SHIFTED = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def shifted(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 2, vj] + T.float32(1)
"""

DECAY = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def decay(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 16):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] * T.float32(0.5) + A[vi, vk]
"""

LAST_WINS = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def last(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 16):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi] = A[vi, vk]
"""


def schedule(text: str = MATMUL) -> Schedule:
    return Schedule(parse(text).program)


def test_split_with_names_names_handles_and_text():
    sch = schedule()
    i, _, _ = sch.get_loops("C")
    io, _ = sch.split(i, factors=[None, 16], names=["io", "ii"])
    assert [v.name for v in sch.get_loops("C")] == ["io", "ii", "j", "k"]
    assert build.int_value(sch.get(io).extent) == 8
    assert "io * 16 + ii" in to_script(sch.mod)
    assert sch.verify().status == "tested"


def test_an_uneven_split_predicates_the_tail():
    sch = schedule()
    sch.split(sch.get_loops("C")[0], factors=[None, 60])
    assert "T.where(i_0 * 60 + i_1 < 128)" in to_script(sch.mod)
    assert sch.verify().status == "tested"


def test_fuse_of_split_loops_simplifies_the_bindings():
    sch = schedule()
    fused = sch.fuse(*sch.split(sch.get_loops("C")[0], factors=[None, 16]))
    assert fused.name == "i_0_i_1_fused"
    assert "T.axis.remap" in to_script(sch.mod), "i_0 * 16 + i_1 of one fused loop is that loop"


def test_reorder_moves_only_the_given_loops():
    sch = schedule()
    i, _, k = sch.get_loops("C")
    sch.reorder(k, i)
    assert [v.name for v in sch.get_loops("C")] == ["k", "j", "i"]
    assert sch.verify().status == "tested"


def test_a_unique_loop_name_is_a_handle():
    sch = schedule()
    sch.unroll("k")
    assert "T.unroll" in to_script(sch.mod)


REFUSALS = {
    "factors do not cover": (MATMUL, "bad-factors", lambda s: s.split("i", [2, 16])),
    "two factors inferred": (MATMUL, "bad-factors", lambda s: s.split("i", [None, None])),
    "factor zero": (MATMUL, "bad-factors", lambda s: s.split("i", [None, 0])),
    "names missing": (MATMUL, "bad-names", lambda s: s.split("i", [None, 2], names=["a"])),
    "names twice": (MATMUL, "bad-names", lambda s: s.split("i", [None, 2], names=["a", "a"])),
    "no predicate wanted": (MATMUL, "needs-predicate", lambda s: s.split("i", [None, 60], disable_predication=True)),
    "split annotated": (MATMUL, "loop-annotated", lambda s: (s.annotate("i", "x", 1), s.split("i", [None, 2]))),
    "fuse apart": (MATMUL, "not-nested", lambda s: s.fuse("i", "k")),
    "reorder twice": (MATMUL, "duplicate-loop", lambda s: s.reorder("i", "i")),
    "reorder across nests": (
        ELEMENTWISE_CHAIN,
        "not-one-chain",
        lambda s: s.reorder(s.get_loops("B")[0], s.get_loops("C")[1]),
    ),
    "reorder a wavefront": (WAVEFRONT, "order-dependent", lambda s: s.reorder("j", "i")),
    "reorder the steps of a scan": (DOUBLED, "order-dependent", lambda s: s.reorder(*reversed(s.get_loops("step")))),
    "parallel scan": (SCAN, "order-dependent", lambda s: s.parallel("j")),
    "reorder what feeds the next row": (SHIFTED, "order-dependent", lambda s: s.reorder("j", "i")),
    "parallel over rows that feed each other": (SHIFTED, "order-dependent", lambda s: s.parallel("i")),
    "parallel where the last one wins": (LAST_WINS, "order-dependent", lambda s: s.parallel("k")),
    "parallel reduction": (MATMUL, "reduction-in-parallel", lambda s: s.parallel("k")),
    "split reduction out of order": (DECAY, "order-dependent", lambda s: s.reorder(*reversed(s.split("k", [4, 4])))),
    "bad thread": (MATMUL, "bad-thread-axis", lambda s: s.bind("i", "thread.x")),
    "unknown block": (MATMUL, "unknown-block", lambda s: s.get_block("D")),
    "unknown loop": (MATMUL, "unknown-loop", lambda s: s.unroll("z")),
    "dead loop": (
        MATMUL,
        "unknown-loop",
        lambda s: (lambda i: (s.split(i, [None, 2]), s.unroll(i)))(s.get_loops("C")[0]),
    ),
    "annotated already": (MATMUL, "annotation-exists", lambda s: (s.annotate("i", "x", 1), s.annotate("i", "x", 2))),
    "nothing to unannotate": (MATMUL, "no-annotation", lambda s: s.unannotate("i", "x")),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_an_illegal_call_is_refused_with_its_code(name):
    text, code, calls = REFUSALS[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        calls(sch)
    assert refused.value.code == code
    assert sch.verify().status == "tested"


@pytest.mark.parametrize("text", [SCAN, DOUBLED])
def test_independent_rows_of_a_scan_move_outside_of_its_steps(text):
    sch = schedule(text)
    outer, inner, *_ = sch.get_loops("B" if text is SCAN else "step")
    sch.reorder(inner, outer)
    assert sch.verify().status in {"proved", "tested"}


@pytest.mark.parametrize("call", ["parallel", "vectorize"])
@pytest.mark.parametrize("loop", [1, 2])
def test_the_elements_of_one_step_of_a_scan_run_concurrently(call, loop):
    sch = schedule(DOUBLED)
    getattr(sch, call)(sch.get_loops("step")[loop])
    assert sch.verify().status in {"proved", "tested"}


def test_a_step_that_reads_what_it_writes_runs_in_order():
    sch = schedule(DOUBLED.replace("(vd + 1) % 2", "vd % 2"))
    with pytest.raises(ScheduleError) as refused:
        sch.parallel(sch.get_loops("step")[2])
    assert refused.value.code == "order-dependent"


def test_reorder_accepts_conflicts_within_an_iteration():
    sch = schedule(SHIFTED.replace("vi // 2, vj", "vi, vj"))
    sch.reorder("j", "i")
    sch.parallel("j")
    assert sch.verify().status == "tested"


def test_guard_of_a_split_unit_loop_is_understood():
    text = MATMUL.replace("(128, 128)", "(1, 1)").replace("T.grid(128, 128, 128)", "T.grid(1, 1, 1)")
    sch = schedule(text)
    pairs = [sch.split(loop, [None, factor]) for loop, factor in zip(sch.get_loops("C"), (1, 2, 3), strict=True)]
    sch.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    assert sch.verify().status == "tested"


NESTED_SUM = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def nested(A: T.Buffer((4, 6, 5, 3), "float32"), B: T.Buffer((4, 6, 5), "float32")):
    for i, j in T.grid(4, 6):
        with T.sblock("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj, 0:5, 0:3])
            T.writes(B[vi, vj, 0:5])
            for k, l in T.grid(5, 3):
                with T.sblock("inner"):
                    vk, vl = T.axis.remap("SR", [k, l])
                    with T.init():
                        B[vi, vj, vk] = T.float32(0)
                    B[vi, vj, vk] = B[vi, vj, vk] + A[vi, vj, vk, vl]
"""


def test_loops_around_a_nested_sum_may_be_bound_or_reordered():
    sch = schedule(NESTED_SUM)
    sch.bind("l", "threadIdx.x")
    sch.bind("j", "blockIdx.x")
    sch.reorder("j", "i")
    assert sch.verify().status == "tested"


@pytest.mark.parametrize("other", ["vi, vj, 4 - vk", "vi, 5 - vj, vk", "3 - vi, vj, vk"])
def test_nested_sum_that_reads_other_elements_is_refused(other):
    sch = schedule(NESTED_SUM.replace("B[vi, vj, vk] + A", f"B[{other}] + A"))
    with pytest.raises(ScheduleError) as refused:
        sch.reorder("j", "i")
    assert refused.value.code == "order-dependent"


REPEATED = """
@T.prim_func
def repeated(X: T.Buffer((4, 4), "int32"), Y: T.Buffer((64,), "int32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(4, i // 2)
            T.reads(X[0:4, 0:4])
            T.writes(Y[v * 16 : v * 16 + 16])
            for a, b in T.grid(4, 4):
                Y[v * 16 + {index}] = X[a, b]
"""


def test_parallel_overwrites_are_refused() -> None:
    sch = Schedule(parse(REPEATED.format(index="a + b")).program)
    with pytest.raises(ScheduleError) as refused:
        sch.parallel(sch.get_loops("B")[0])
    assert refused.value.code == "order-dependent"


def test_parallel_repeated_instances_storing_once() -> None:
    sch = Schedule(parse(REPEATED.format(index="a * 4 + b")).program)
    sch.parallel(sch.get_loops("B")[0])
    assert "T.parallel(8)" in to_script(sch.mod)
