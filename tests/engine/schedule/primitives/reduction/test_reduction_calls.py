"""rfactor, fuse_reduction_epilogue and decompose_reduction of argmax: their results, the meaning kept, and refusals."""

from __future__ import annotations

import pytest

from tilewright.engine.export import to_tvm_python
from tilewright.engine.ir import FloorMod
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

ROWSUM = """
@T.prim_func
def main(A: T.Buffer((6, 20), "{dtype}"), B: T.Buffer((6,), "{dtype}")):
    for i, k in T.grid(6, 20):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {init}
            B[vi] = {update}
"""

ARGMAX = """
@T.prim_func
def main(A: T.Buffer((3, 24), "int32"), place: T.Buffer((3,), "int32"), best: T.Buffer((3,), "int32")):
    for i, k in T.grid(3, 24):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(place[vi], best[vi])
            with T.init():
                place[vi] = -1
                best[vi] = T.min_value("int32")
            v_place: T.int32 = T.Select({wins}, place[vi], vk)
            v_best: T.int32 = T.Select(best[vi] {better} A[vi, vk], best[vi], A[vi, vk])
            place[vi] = v_place
            best[vi] = v_best
"""
FIRST_WINS = ARGMAX.format(wins="best[vi] >= A[vi, vk]", better=">=")
TIE_RULE = ARGMAX.format(wins="best[vi] > A[vi, vk] or (best[vi] == A[vi, vk] and place[vi] < vk)", better=">")

EPILOGUE = """
@T.prim_func
def main(A: T.Buffer((6, 20), "int32"), C: T.Buffer((6,), "int32"), D: T.Buffer((6,), "int32"), E: T.Buffer((6,), "int32")):
    S = T.alloc_buffer((6,), "int32")
    for i, k in T.grid(6, 20):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = {init}
            S[vi] = {update}
    for i in range(6):
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            D[vi] = {epilogue}
    for i in range(6):
        with T.block("E"):
            vi = T.axis.spatial(6, i)
            E[vi] = {last}
"""


def rowsum(dtype: str = "int32", init: str = "0", update: str = "B[vi] + A[vi, vk]") -> Schedule:
    return Schedule(parse(ROWSUM.format(dtype=dtype, init=init, update=update)).program)


def epilogue(text: str, init: str = "0", update: str = "S[vi] + A[vi, vk]", last: str = "C[vi]") -> Schedule:
    return Schedule(parse(EPILOGUE.format(epilogue=text, init=init, update=update, last=last)).program)


def assert_kept(sch: Schedule) -> None:
    verdict = sch.verify()
    assert verdict.status == "tested", verdict.detail


def assert_refused(code: str, call) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        call()
    assert caught.value.code == code, caught.value
    return caught.value


# rfactor


def test_rfactor_computes_partial_sums_that_the_block_reduces():
    sch = rowsum()
    ko, ki = sch.split("k", [5, 4])
    factored = sch.rfactor(ki, 0)
    assert factored == "B_rf"
    (partial,) = sch.index.block("B_rf").writes
    assert partial.buffer.name == "B_rf"
    assert [e.value for e in partial.buffer.shape] == [4, 6]
    assert [f.loop_var.name for f in sch.index.loops_of("B_rf")] == ["i", "k_0", "k_1"]
    assert [f.loop_var for f in sch.index.loops_of("B")][-1] is ki
    assert not sch.index.has_loop(ko)
    assert [iv.iter_type for iv in sch.index.block("B").iter_vars] == ["reduce", "spatial"]
    assert_kept(sch)


def test_rfactor_of_the_only_loop_has_the_terms_as_partial_results():
    sch = rowsum()
    sch.rfactor("k", -1)
    assert sch.index.block("B_rf").init is None
    assert "B_rf[vi, vk] = A[vi, vk]" in to_script(sch.func)
    assert_kept(sch)


@pytest.mark.parametrize(
    ("dtype", "init", "update"),
    [
        ("float32", "T.float32(0)", "B[vi] + A[vi, vk]"),
        ("int32", "1", "B[vi] * A[vi, vk]"),
        ("float32", 'T.float32("-inf")', "T.max(B[vi], A[vi, vk])"),
        ("int32", "100", "T.min(A[vi, vk], B[vi])"),
        ("int32", "0", "T.bitwise_xor(B[vi], A[vi, vk])"),
        ("int32", "-1", "T.bitwise_and(B[vi], A[vi, vk])"),
    ],
)
def test_rfactor_of_a_commutative_operator_keeps_the_result(dtype, init, update):
    sch = rowsum(dtype, init, update)
    _, ki = sch.split("k", [None, 5])
    sch.rfactor(ki, 1)
    assert_kept(sch)


@pytest.mark.parametrize("factor", [3, 7])
def test_rfactor_of_uneven_splits_keeps_the_necessary_predicates(factor):
    sch = rowsum()
    sch.split("i", [None, 4])
    ko, ki = sch.split("k", [None, factor])
    other = sch.copy()
    for s, loop in ((sch, ko), (other, ki)):
        s.rfactor(loop, 0)
        assert_kept(s)


def test_rfactor_of_first_best_needs_the_outer_loop():
    sch = Schedule(parse(FIRST_WINS).program)
    ko, ki = sch.split("k", [4, 6])
    refused = assert_refused("order-dependent", lambda: sch.rfactor(ki, 0))
    assert refused.refusal.fix == ("sch.rfactor(k_0, factor_axis)",)
    sch.rfactor(ko, 0)
    assert_kept(sch)


def test_rfactor_accepts_an_unused_unit_loop():
    sch = Schedule(parse(FIRST_WINS).program)
    sch.rfactor(sch.add_unit_loop("argmax"), 0)
    assert_kept(sch)


def test_rfactor_with_a_tie_rule_accepts_any_loop():
    sch = Schedule(parse(TIE_RULE).program)
    _, ki = sch.split("k", [4, 6])
    assert sch.rfactor(ki, 1) == "argmax_rf"
    assert {w.buffer.name for w in sch.index.block("argmax_rf").writes} == {"place_rf", "best_rf"}
    assert_kept(sch)


@pytest.mark.parametrize("text", [FIRST_WINS, TIE_RULE])
def test_a_decomposed_argmax_has_both_inits_first(text):
    sch = Schedule(parse(text).program)
    init = sch.decompose_reduction("argmax", "k")
    assert len(sch.index.block(init).writes) == 2
    assert_kept(sch)


def test_reorder_of_a_reduction_with_a_tie_rule_is_accepted():
    sch = Schedule(parse(TIE_RULE).program)
    ko, ki = sch.split("k", [4, 6])
    sch.reorder(ki, ko)
    assert_kept(sch)
    other = Schedule(parse(FIRST_WINS).program)
    ko, ki = other.split("k", [4, 6])
    assert_refused("order-dependent", lambda: other.reorder(ki, ko))


REFUSED = {
    "a spatial loop": (rowsum, "spatial-loop", lambda s: s.rfactor("i", 0)),
    "an axis that is not there": (rowsum, "bad-axis", lambda s: s.rfactor("k", 2)),
    "an axis in front of the first": (rowsum, "bad-axis", lambda s: s.rfactor("k", -3)),
    "a start that counts": (lambda: rowsum(init="1"), "unknown-reducer", lambda s: s.rfactor("k", 0)),
    "a difference": (lambda: rowsum(update="B[vi] - A[vi, vk]"), "unknown-reducer", lambda s: s.rfactor("k", 0)),
    "an unrolled loop": (rowsum, "not-serial", lambda s: (s.unroll("k"), s.rfactor("k", 0))),
    "a fused loop": (rowsum, "mixed-loop", lambda s: s.rfactor(s.fuse(*s.get_loops("B")), 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_illegal_rfactor_is_refused_with_its_code(name):
    make, code, call = REFUSED[name]
    sch = make()
    assert_refused(code, lambda: call(sch))


# fuse_reduction_epilogue


def test_fused_bias_is_the_initial_value_of_the_sum():
    sch = epilogue("S[vi] + C[vi]")
    sch.fuse_reduction_epilogue("S", "D")
    assert not sch.index.has_block("D")
    text = to_script(sch.func)
    assert "D[vi] = C[vi]" in text
    assert "D[vi] = D[vi] + A[vi, vk]" in text
    assert_kept(sch)


def test_fused_maximum_of_a_maximum_keeps_the_result():
    sch = epilogue("T.max(S[vi], C[vi])", init='T.min_value("int32")', update="T.max(S[vi], A[vi, vk])")
    sch.fuse_reduction_epilogue("S", "D")
    assert_kept(sch)


@pytest.mark.parametrize(
    ("code", "text", "last"),
    [
        ("not-an-epilogue", "T.max(S[vi] + C[vi], 0)", "C[vi]"),
        ("not-an-epilogue", "T.min(T.max(S[vi], -5), 5)", "C[vi]"),
        ("not-an-epilogue", "S[vi] * 2 + C[vi]", "C[vi]"),
        ("not-an-epilogue", "S[vi] + S[vi]", "C[vi]"),
        ("indices-differ", "S[5 - vi] + C[vi]", "C[vi]"),
        ("not-the-only-consumer", "S[vi] + C[vi]", "S[vi]"),
    ],
)
def test_epilogue_that_would_read_partial_sums_is_refused(code, text, last):
    sch = epilogue(text, last=last)
    assert_refused(code, lambda: sch.fuse_reduction_epilogue("S", "D"))


# rolling_buffer

WINDOWS = """
@T.prim_func
def main(A: T.Buffer((4, 14), "int32"), C: T.Buffer((4, 10), "int32")):
    B = T.alloc_buffer((4, 12), "int32")
    for c, i, k in T.grid(4, 12, 3):
        with T.block("B"):
            vc, vi, vk = T.axis.remap("SSR", [c, i, k])
            with T.init():
                B[vc, vi] = 0
            B[vc, vi] = B[vc, vi] + A[vc, vi + vk]
    for c, i, k in T.grid(4, 10, 3):
        with T.block("C"):
            vc, vi, vk = T.axis.remap("SSR", [c, i, k])
            with T.init():
                C[vc, vi] = 0
            C[vc, vi] = C[vc, vi] + B[vc, vi + vk]
"""


def tiled(text: str = WINDOWS, block: str = "C", depth: int = 1, size: int = 4) -> Schedule:
    sch = Schedule(parse(text).program)
    outer, _ = sch.split(sch.get_loops(block)[depth], [None, size])
    sch.compute_at("B", outer)
    return sch


def test_rolling_buffer_computes_each_element_once():
    sch = tiled()
    sch.rolling_buffer("B", 0)
    (write,) = sch.index.block("B").writes
    assert [e.value for e in write.buffer.shape] == [4, 6]
    assert isinstance(write.region[1].min, FloorMod)
    assert [iv.iter_type for iv in sch.index.block("B").iter_vars] == ["spatial", "opaque", "reduce"]
    assert "i_0 < 1 or 2 <= ax0" in to_script(sch.func)
    assert_kept(sch)


def test_changing_the_loops_of_a_rolling_buffer_is_refused():
    sch = tiled()
    sch.rolling_buffer("B", 0)
    outer = sch.get_loops("C")[1]
    for call in (lambda: sch.parallel(outer), lambda: sch.compute_inline("B"), lambda: sch.rolling_buffer("B", 0)):
        with pytest.raises(ScheduleError):
            call()
    assert_kept(sch)


ROLLING_REFUSED = {
    "an output": ("output-block", lambda: Schedule(parse(WINDOWS).program), "C"),
    "no tile": ("no-tile", lambda: Schedule(parse(WINDOWS).program), "B"),
    "tiles side by side": ("no-overlap", lambda: tiled(WINDOWS.replace("vi + vk]", "vi]").replace("(4, 14)", "(4, 12)")), "B"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROLLING_REFUSED)
def test_useless_rolling_buffer_is_refused(name):
    code, make, block = ROLLING_REFUSED[name]
    sch = make()
    assert_refused(code, lambda: sch.rolling_buffer(block, 0))


def test_rolling_buffer_of_parallel_tiles_is_refused():
    sch = tiled()
    sch.parallel(sch.get_loops("C")[1])
    assert_refused("order-dependent", lambda: sch.rolling_buffer("B", 0))


DIAGONAL = """
@T.prim_func
def main(A: T.Buffer((12, 12), "int32"), C: T.Buffer((2, 6, 6), "int32")):
    B = T.alloc_buffer((12, 12), "int32")
    for t in range(2):
        for a, b in T.grid(6, 6):
            with T.block("B"):
                vi = T.axis.spatial(12, t * 4 + a)
                vj = T.axis.spatial(12, t * 4 + b)
                B[vi, vj] = A[vi, vj] + 1
        for a, b in T.grid(6, 6):
            with T.block("C"):
                vt, va, vb = T.axis.remap("SSS", [t, a, b])
                C[vt, va, vb] = B[vt * 4 + va, vt * 4 + vb]
"""


def test_rolling_loop_that_moves_two_axes_is_refused():
    sch = Schedule(parse(DIAGONAL).program)
    assert_refused("order-dependent", lambda: sch.rolling_buffer("B", 0))


def test_update_of_a_decomposed_sum_is_found_by_tvms_name() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 4), "int32"), C: T.Buffer((8,), "int32")):
    for i, k in T.grid(8, 4):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
"""
    sch = Schedule(parse(text).program)
    with pytest.raises(ScheduleError):
        sch.get_block("C_update")
    assert sch.decompose_reduction("C", sch.get_loops("C")[1]) == "C_init"
    assert sch.get_block("C_update") == sch.get_block("C") == "C"


POOLED = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 14, 14), "float32"), B: T.Buffer((8, 7, 7), "float32")):
    for a, b, x, y in T.grid(7, 64, 2, 2):
        with T.sblock("B"):
            v0 = T.axis.spatial(8, (a * 64 + b) // 49)
            v1 = T.axis.spatial(7, (a * 64 + b) % 49 // 7)
            v2 = T.axis.spatial(7, (a + b) % 7)
            v3, v4 = T.axis.remap("RR", [x, y])
            T.where(a * 64 + b < 392)
            with T.init():
                B[v0, v1, v2] = T.float32(0)
            B[v0, v1, v2] = B[v0, v1, v2] + A[v0, v1 * 2 + v3, v2 * 2 + v4]
"""


def test_decomposing_a_fused_uneven_nest_is_accepted():
    sch = Schedule(parse(POOLED).program)
    sch.decompose_reduction("B", "x")
    assert sch.verify().status == "tested"


UNEVEN_SUM = """\
@T.prim_func
def main(A: T.Buffer((8, 50), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 50):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
"""


@pytest.mark.parametrize(("moved", "number", "limit"), [(False, 1, "k_1 < 4"), (True, 1, "k_1 < 4"), (False, 2, "")])
def test_rfactor_of_an_uneven_split_omits_empty_partial_results(moved, number, limit):
    sch = Schedule(UNEVEN_SUM)
    parts = sch.split(sch.get_loops("B")[1], factors=[None, 8, 16])
    if moved:
        sch.reorder(parts[1], parts[0])
    sch.rfactor(parts[number], 0)
    last = to_script(sch.func).rpartition('T.sblock("B")')[2]
    assert ("T.where" in last) == bool(limit) and limit in last
    assert sch.verify().status == "tested" and sch.prove().status == "proved"
    assert ("never computed" in to_tvm_python(sch)) == bool(limit)


def test_rfactor_that_excludes_first_terms_is_refused():
    sch = Schedule(
        UNEVEN_SUM.replace("            with T.init", "            T.where(k >= 20)\n            with T.init")
    )
    parts = sch.split(sch.get_loops("B")[1], factors=[5, 10])
    with pytest.raises(ScheduleError) as caught:
        sch.rfactor(parts[1], 0)
    assert caught.value.code == "predicate-on-reduction"


ATTENTION = """
@T.prim_func
def main(A: T.Buffer((6, 20), "float32"), m: T.Buffer((6,), "float32"), B: T.Buffer((6, 8), "float32")):
    S = T.alloc_buffer((6, 8))
    for i, j in T.grid(6, 8):
        with T.block("start"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = T.float32(1)
    for t in range(3):
        with T.block("step"):
            T.reads(S[0:6, 0:8], A[0:6, 0:20], m[0:6])
            T.writes(S[0:6, 0:8])
            for i, j, k in T.grid(6, 8, 20):
                with T.block("sum"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    T.reads(A[vi, vk], m[vi])
                    T.writes(S[vi, vj])
                    with T.init():
                        S[vi, vj] = {init}
                    S[vi, vj] = S[vi, vj] + A[vi, vk]
    for i, j in T.grid(6, 8):
        with T.block("end"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = S[vi, vj]
"""
"""The sum of online softmax, whose init rescales the sum of the tiles before."""


@pytest.mark.parametrize("init", ["S[vi, vj] * m[vi]", "S[vi, vj] + S[vi, vj] * m[0]"])
@pytest.mark.parametrize("loop", [0, 1, 2])
def test_an_init_that_rescales_its_own_output_is_separated(init: str, loop: int) -> None:
    sch = Schedule(parse(ATTENTION.format(init=init)).program)
    sch.reorder(*sch.get_loops("sum")[1::-1])
    sch.decompose_reduction("sum", sch.get_loops("sum")[loop])
    assert "sum_init" in sch.index.block_names
    assert sch.verify().status == "tested"


@pytest.mark.parametrize("init", ["S[vi, 0] * m[vi]", "S[vi, (vj + 1) % 8]", "S[5 - vi, vj]"])
def test_an_init_that_reads_elements_of_other_instances_stays(init: str) -> None:
    sch = Schedule(parse(ATTENTION.format(init=init)).program)
    with pytest.raises(ScheduleError) as caught:
        sch.decompose_reduction("sum", sch.get_loops("sum")[0])
    assert caught.value.refusal.code == "not-a-reduction"


def test_given_an_init_that_rescales_when_its_sum_is_split_over_blocks_then_refused() -> None:
    sch = Schedule(parse(ATTENTION.format(init="S[vi, vj] * m[vi]")).program)
    with pytest.raises(ScheduleError) as caught:
        sch.rfactor(sch.get_loops("sum")[2], 0)
    assert caught.value.refusal.code == "not-a-reduction"
