"""Proofs of single rewrites, refutations with their witness, and unsupported cases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from support.profile import IS_DEEP

from tilewright.engine.arith import presburger
from tilewright.engine.execute import ParameterLayout
from tilewright.engine.ir import IndexMap, PrimFunc
from tilewright.engine.prove import check, decide, prove
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

pytest.importorskip("islpy")

MATMUL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((32, 24), "DTYPE"), B: T.Buffer((24, 40), "DTYPE"), C: T.Buffer((32, 40), "DTYPE")):
    D = T.sblock_alloc_buffer((32, 40), "DTYPE")
    for i, j, k in T.grid(32, 40, 24):
        with T.sblock("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.DTYPE(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(32, 40):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(D[vi, vj], T.DTYPE(0))
"""


def matmul(dtype: str = "float32") -> Schedule:
    return Schedule(parse(MATMUL.replace("DTYPE", dtype)).program)


def read(text: str) -> PrimFunc:
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    return program


def test_tiled_and_staged_matmul_is_proved_after_its_calls() -> None:
    sch = matmul()
    i, j, k = sch.get_loops("D")
    i0, i1 = sch.split(i, [None, 7])
    j0, j1 = sch.split(j, [None, 8])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    sch.reverse_compute_at("C", j0)
    sch.cache_read("D", 0, "local")
    sch.compute_at("A_local", k0)
    sch.parallel(i0)
    sch.transform_layout("D", ("write", 0), lambda a, b: [a % 8, b, a // 8])
    sch.decompose_reduction("D", k0)
    for state in sch.states[:: -1 if IS_DEEP else -4]:
        proof = prove(state.mod["main"], sch.original["main"])
        assert (proof.status, proof.detail) == ("proved", "for all inputs"), proof


def test_a_proof_reports_a_reordered_float_sum() -> None:
    for dtype, detail in (
        ("float32", "for all inputs, up to the order of the float sum in D"),
        ("int32", "for all inputs"),
    ):
        sch = matmul(dtype)
        k = sch.get_loops("D")[2]
        k0, k1 = sch.split(k, [None, 8])
        sch.reorder(k1, k0)
        assert prove(sch.func, sch.original["main"]).detail == detail


REWRITES: dict[str, Callable[[Schedule], object]] = {
    "rfactor": lambda s: s.rfactor(s.split(s.get_loops("D")[2], [None, 8])[1], 0),
    "blockize": lambda s: s.blockize(s.split(s.get_loops("D")[2], [None, 8])[1]),
    "pad_einsum": lambda s: s.pad_einsum("D", [16, 16, 16]),
    "reindex": lambda s: s.reindex("D", ("read", 1)),
    "reorder_block_iter_var": lambda s: s.reorder_block_iter_var("D", [2, 1, 0]),
    "loop_partition": lambda s: s.loop_partition(s.get_loops("C")[1], [8, None]),
    "set_layout": lambda s: s.set_layout("D", ("write", 0), [1, 0]),
    "keep_tiling": lambda s: s.compute_at("D", s.get_loops("C")[0], keep_tiling=True),
}


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_is_proved(name: str) -> None:
    sch = matmul("int32")
    REWRITES[name](sch)
    assert (sch.prove().status, sch.prove().detail) == ("proved", "for all inputs")


@pytest.mark.parametrize(
    ("right", "wrong", "witness"),
    [
        ("B[vk, vj]", "B[23 - vk, vj]", "a load of B at D("),
        ("T.DTYPE(0)\n            D", "T.DTYPE(1)\n            D", "D("),
        ("max(D[vi, vj]", "max(D[vi, 39 - vj]", "D("),
        ("C[vi, vj] =", "C[31 - vi, vj] =", "a term of the sum in D"),
    ],
)
def test_wrong_program_is_refuted_with_two_iterations(right: str, wrong: str, witness: str) -> None:
    original = MATMUL.replace("DTYPE", "int32")
    other = MATMUL.replace(right, wrong, 1).replace("DTYPE", "int32")
    proof = prove(read(other), read(original))
    assert proof.status == "refuted"
    assert witness in proof.detail and "the original" in proof.detail and "the schedule" in proof.detail


def test_elements_of_a_laid_out_parameter_are_tracked() -> None:
    text = MATMUL.replace("DTYPE", "int32")
    other = text.replace("C: T.Buffer((32, 40)", "C: T.Buffer((40, 32)").replace("C[vi, vj]", "C[vj, vi]")
    other = other.replace("A: T.Buffer((32, 24)", "A: T.Buffer((3, 32, 8)").replace(
        "A[vi, vk]", "A[vk // 8, vi, vk % 8]"
    )
    func, original = read(other), read(text)
    assert prove(func, original).status == "unknown", "without the layouts the parameters differ"
    layouts = [
        layout(func, original, "C", lambda i, j: [j, i]),
        layout(func, original, "A", lambda i, k: [k // 8, i, k % 8]),
    ]
    assert prove(func, original, layouts=layouts).status == "proved"
    wrong = read(other.replace("A[vk // 8, vi, vk % 8]", "A[vk % 3, vi, vk // 3]"))
    assert prove(wrong, original, layouts=layouts).status == "refuted"


def layout(func: PrimFunc, original: PrimFunc, name: str, function: Callable[..., Any]) -> ParameterLayout:
    before, after = (next(b.shape for b in f.buffers if b.name == name) for f in (original, func))
    return ParameterLayout(name, IndexMap.from_function(function, len(before)), before, after)


SYMBOLIC = """
@T.prim_func(s_tir=True)
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float32")
    C = T.match_buffer(c, (n, n), "float32")
    B = T.sblock_alloc_buffer((n, n), "float32")
    for i, j in T.grid(n, n):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, n):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi] + T.float32(1)
"""


def test_all_values_of_symbolic_sizes_are_proved_at_once() -> None:
    sch = Schedule(read(SYMBOLIC))
    i, _ = sch.get_loops("C")
    i0, _ = sch.split(i, [None, 16])
    sch.compute_at("B", i0)
    assert prove(sch.func, sch.original["main"]).status == "proved"
    assert check(sch.func, sch.original["main"]).status == "proved", "a run could not be made without numbers"


SCAN = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer((64,), "int32"), Y: T.Buffer((64,), "int32")):
    S = T.sblock_alloc_buffer((64,), "int32")
    for t in range(64):
        with T.sblock("S"):
            T.reads(S[0:64], X[t])
            T.writes(S[t])
            vt = T.axis.opaque(64, t)
            if vt == 0:
                S[vt] = X[vt]
            if vt > 0:
                S[vt] = S[vt - 1] * 3 - X[vt]
    for t in range(64):
        with T.sblock("Y"):
            vt = T.axis.spatial(64, t)
            Y[vt] = S[vt]
"""


def test_recurrence_is_proved_by_widening() -> None:
    backwards = SCAN.replace("vt = T.axis.spatial(64, t)", "vt = T.axis.spatial(64, 63 - t)")
    assert prove(read(backwards), read(SCAN)).status == "proved"
    tiled = SCAN.replace(
        'for t in range(64):\n        with T.sblock("S")', 'for u, t in T.grid(8, 8):\n        with T.sblock("S")'
    )
    tiled = tiled.replace("vt = T.axis.opaque(64, t)", "vt = T.axis.opaque(64, u * 8 + t)").replace(
        "X[t])", "X[u * 8 + t])"
    )
    tiled = tiled.replace("T.writes(S[t])", "T.writes(S[u * 8 + t])")
    assert prove(read(tiled), read(SCAN)).status == "proved"
    other = SCAN.replace("S[vt - 1] * 3", "S[vt - 1] * 2")
    assert prove(read(other), read(SCAN)).status in ("refuted", "unknown")


ARGMAX = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 32), "float32"), at: T.Buffer((8,), "int32"), best: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 32):
        with T.sblock("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(at[vi], best[vi])
            with T.init():
                at[vi] = -1
                best[vi] = T.float32(-1000)
            v_at: T.let[T.int32] = T.Select(best[vi] >= A[vi, vk], at[vi], vk)
            v_best: T.let[T.float32] = T.Select(best[vi] >= A[vi, vk], best[vi], A[vi, vk])
            at[vi] = v_at
            best[vi] = v_best
"""


def test_values_stored_later_are_those_loaded() -> None:
    sch = Schedule(read(ARGMAX))
    _, k = sch.get_loops("argmax")
    k0, _ = sch.split(k, [None, 8])
    assert sch.prove().status == "proved"
    sch.decompose_reduction("argmax", k0)
    assert sch.prove().status == "proved"
    swapped = ARGMAX.replace(
        "at[vi] = v_at\n            best[vi] = v_best", "best[vi] = v_best\n            at[vi] = v_at"
    )
    assert prove(read(swapped), read(ARGMAX)).status == "proved"
    late = swapped.replace("at[vi] = v_at", "at[vi] = T.Select(best[vi] >= A[vi, vk], at[vi], vk)")
    assert prove(read(late), read(ARGMAX)).status != "proved", "best has its new value already"


def test_a_sum_of_sums_is_the_sum_of_all_terms() -> None:
    flat = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 6, 4), "int32"), C: T.Buffer((8,), "int32")):
    for i, j, k in T.grid(8, 6, 4):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vj, vk]
"""
    factored = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 6, 4), "int32"), C: T.Buffer((8,), "int32")):
    R = T.sblock_alloc_buffer((8, 4), "int32")
    for i, k, j in T.grid(8, 4, 6):
        with T.sblock("R"):
            vi, vk, vj = T.axis.remap("SSR", [i, k, j])
            with T.init():
                R[vi, vk] = 0
            R[vi, vk] = R[vi, vk] + A[vi, vj, vk]
    for i, k in T.grid(8, 4):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + R[vi, vk]
"""
    assert prove(read(factored), read(flat)).status == "proved"
    twice = factored.replace("R[vi, vk] = 0", "R[vi, vk] = 1")
    assert prove(read(twice), read(flat)).status == "unknown", "sums are opened where they start with nothing"
    assert check(read(twice), read(flat)).status == "failed"
    missing = factored.replace("for i, k in T.grid(8, 4)", "for i, k in T.grid(8, 3)")
    assert prove(read(missing), read(flat)).status == "refuted"


def test_conflicting_parallel_iterations_prevent_a_proof() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.opaque(16, i)
            T.reads(A[0:16])
            T.writes(C[0:16])
            C[vi // 2] = A[vi]
"""
    assert prove(read(text), read(text)).status == "proved"
    racing = prove(read(text.replace("range(16)", "T.parallel(16)")), read(text))
    assert racing.status != "proved" and "same elements of C" in racing.detail


def test_what_is_not_affine_is_named() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), I: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi], I[vi])
            T.writes(C[0:16])
            C[I[vi]] = A[vi]
"""
    proof = prove(read(text), read(text))
    assert proof.status == "unknown" and "an access of C is not affine" in proof.detail
    gather = text.replace("C[I[vi]] = A[vi]", "C[vi] = A[I[vi]]")
    assert prove(read(gather), read(gather)).status == "proved", "an input that data choose from is an operator"


def test_too_few_steps_are_unknown() -> None:
    sch = matmul("int32")
    sch.split(sch.get_loops("D")[0], [None, 8])
    assert prove(sch.func, sch.original["main"], operations=100).detail == "the proof needs too many steps"
    assert check(sch.func, sch.original["main"], operations=100).status == "tested"
    assert prove(sch.func, sch.original["main"]).status == "proved", "the limit of one proof is not that of the next"


def test_proofs_in_sequence_share_an_isl_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """islpy 2026.2 frees no context: each costs 100 KB for as long as the process lives."""
    contexts: list[object] = []
    context = decide.isl.Context
    monkeypatch.setattr(presburger, "_CONTEXTS", [])
    monkeypatch.setattr(decide.isl, "Context", lambda: contexts.append(context()) or contexts[-1])
    for _ in range(3):
        assert decide.decide(read(BLURS + ONE_BY_ONE), read(BLURS + ONE_BY_ONE), (), 1_000_000) is None
    assert len(contexts) == 1


def test_other_parameters_are_unknown() -> None:
    other = (
        MATMUL.replace("DTYPE", "int32")
        .replace('B: T.Buffer((24, 40), "int32"), ', "")
        .replace("B[vk, vj]", "A[vi, vk]")
    )
    proof = prove(read(other), matmul("int32").func)
    assert (proof.status, proof.detail) == ("unknown", "the programs have different parameters")


@pytest.mark.slow
def test_a_chain_too_long_to_follow_is_unknown() -> None:
    stages = 400
    lines = ["@T.prim_func(s_tir=True)", 'def main(X0: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):']
    lines += [f"    X{n} = T.sblock_alloc_buffer((8,))" for n in range(1, stages)]
    for n in range(stages):
        target = "Y" if n == stages - 1 else f"X{n + 1}"
        lines += [
            "    for i in range(8):", f'        with T.sblock("B{n}"):',
            "            vi = T.axis.spatial(8, i)", f"            {target}[vi] = X{n}[vi] + T.float32({n})",
        ]  # fmt: skip
    func = read("\n".join(lines) + "\n")
    proof = prove(func, func)
    assert proof.status != "refuted"
    assert proof.status == "proved" or "too many" in proof.detail


BLURS = """
@T.prim_func(s_tir=True)
def stencil(A: T.Buffer((11,), "int64"), blur2: T.Buffer((11,), "int64")):
    blur0 = T.sblock_alloc_buffer((11,), "int64")
    blur1 = T.sblock_alloc_buffer((11,), "int64")
"""
ONE_BY_ONE = r"""
    for i0 in range(11):
        with T.sblock("blur0"):
            v_i0 = T.axis.spatial(11, i0)
            blur0[v_i0] = A[T.max(T.min(v_i0 + -1, 10), 0)] + A[T.max(T.min(v_i0, 10), 0)] + A[T.max(T.min(v_i0 + 1, 10), 0)]
    for i0 in range(11):
        with T.sblock("blur1"):
            v_i0 = T.axis.spatial(11, i0)
            blur1[v_i0] = blur0[T.max(T.min(v_i0 + -1, 10), 0)] + blur0[T.max(T.min(v_i0, 10), 0)] \
                + blur0[T.max(T.min(v_i0 + 1, 10), 0)]
    for i0 in range(11):
        with T.sblock("blur2"):
            v_i0 = T.axis.spatial(11, i0)
            blur2[v_i0] = T.if_then_else(0 <= v_i0 + -1 and v_i0 + -1 < 11, blur1[v_i0 + -1], T.int64(0)) + blur1[v_i0] \
                + T.if_then_else(0 <= v_i0 + 1 and v_i0 + 1 < 11, blur1[v_i0 + 1], T.int64(0))
"""
TOGETHER = r"""
    for i0_0_0_0, i0_0_0_1, i0_0_1_0, i0_0_1_1, i0_1 in T.grid(2, 2, 1, 2, 3):
        for ax0 in range(11):
            for ax0_1 in range(11):
                with T.sblock("blur0"):
                    v_i0 = T.axis.spatial(11, ax0_1)
                    blur0[v_i0] = A[T.max(T.min(v_i0 + -1, 10), 0)] + A[T.max(T.min(v_i0, 10), 0)] + A[T.max(T.min(v_i0 + 1, 10), 0)]
            with T.sblock("blur1"):
                v_i0 = T.axis.spatial(11, ax0)
                T.where(i0_0_1_0 * 2 + i0_0_1_1 < 1)
                blur1[v_i0] = blur0[T.max(T.min(v_i0 + -1, 10), 0)] + blur0[T.max(T.min(v_i0, 10), 0)] \
                + blur0[T.max(T.min(v_i0 + 1, 10), 0)]
        with T.sblock("blur2"):
            v_i0 = T.axis.spatial(11, i0_0_0_0 * 6 + i0_0_0_1 * 3 + i0_0_1_0 * 6 + i0_0_1_1 * 3 + i0_1)
            T.where(i0_0_0_0 * 6 + i0_0_0_1 * 3 + i0_0_1_0 * 6 + i0_0_1_1 * 3 + i0_1 < 11 and i0_0_1_0 * 2 + i0_0_1_1 < 1)
            blur2[v_i0] = T.if_then_else(0 <= v_i0 + -1 and v_i0 + -1 < 11, blur1[v_i0 + -1], T.int64(0)) + blur1[v_i0] \
                + T.if_then_else(0 <= v_i0 + 1 and v_i0 + 1 < 11, blur1[v_i0 + 1], T.int64(0))
"""


def test_pieces_that_isl_cannot_coalesce_are_proved() -> None:
    """isl 2026.2 ends the process when it coalesces the union of the relations known of these two, so it is not called."""
    assert prove(read(BLURS + TOGETHER), read(BLURS + ONE_BY_ONE)).status == "proved"


def test_without_islpy_the_verdict_explains_the_missing_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("islpy", "tilewright.engine.prove.decide"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "tilewright.engine.prove.decide")
    func = read(BLURS + ONE_BY_ONE)
    verdict = check(func, func)
    assert verdict.status == "tested"
    assert verdict.detail.endswith("; proofs need islpy: pip install 'tilewright[prove]'")


BLOCKS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64,), "float32")):
    acc = T.sblock_alloc_buffer((8,), "float32", scope="SCOPE")
    for block in T.thread_binding(8, thread="blockIdx.x"):
        for k in range(32):
            if k == 0:
                for i in range(8):
                    with T.sblock("fill"):
                        vb = T.axis.spatial(8, block)
                        vk = T.axis.opaque(32, k)
                        vi = T.axis.spatial(8, i)
                        acc[vi] = T.float32(0)
            for i in range(8):
                with T.sblock("add"):
                    vb, vk, vi = T.axis.remap("SRS", [block, k, i])
                    acc[vi] = acc[vi] + A[vb * 8 + vi, vk]
        for i in range(8):
            with T.sblock("store"):
                vb, vi = T.axis.remap("SS", [block, i])
                B[vb * 8 + vi] = acc[vi]
"""


@pytest.mark.parametrize(
    ("scope", "status"),
    [("shared", "proved"), ("local", "proved"), ("wmma.accumulator", "proved"), ("global", "unknown")],
)
def test_buffer_is_separate_for_each_block_that_does_not_share_its_scope(scope: str, status: str) -> None:
    original = parse(BLOCKS.replace("SCOPE", scope)).program
    assert isinstance(original, PrimFunc)
    schedule = Schedule(original)
    schedule.split(schedule.get_loops("add")[2], factors=[None, 4])
    found = prove(schedule.func, original)
    assert found.status == status, found.detail
    if status == "unknown":
        assert "iterations of the thread_binding loop block access the same elements of acc" in found.detail
