"""Lints of TileLang kernels: each finds its problem and nothing in the kernel without it, and its fix holds."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import kernel_text, read_statements
from tilewright.engine.hwsim import load_machine
from tilewright.engine.lint import LintFinding, lint
from tilewright.engine.schedule import Schedule

GEMM = """import tilelang.language as T


def gemm(M, N, K, block_M=64, block_N=64, block_K=32):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_s = T.alloc_shared((block_M, block_K), "float16")
            B_s = T.alloc_shared((block_K, block_N), "float16")
            C_l = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_s)
                T.copy(B[k * block_K, bx * block_N], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * block_M, bx * block_N])

    return main


main = gemm(256, 256, 256)
"""
CLEAR = "            T.clear(C_l)\n"

# Of tilelang issue 2668: the loop reads a tile and overwrites it afterwards.
OVERWRITTEN = """import tilelang.language as T


def make(W, NK, ns):
    @T.prim_func
    def main(A: T.Tensor((NK, W), "float32"), first: T.Tensor((W,), "float32"), out: T.Tensor((W,), "float32")):
        with T.Kernel(1, threads=32) as _:
            S = T.alloc_shared((W,), "float32")
            acc = T.alloc_fragment((W,), "float32")
            T.clear(acc)
            T.copy(first, S)
            for k in T.Pipelined(NK, num_stages=ns):
                for i in T.Parallel(W):
                    acc[i] += S[i]
                T.copy(A[k, :], S)
            T.copy(acc, out)

    return main


main = make(32, 8, 2)
"""
GATHER = """import tilelang.language as T


def gather(rows, width, n, block=16):
    @T.prim_func
    def main(A: T.Tensor((n, width), "float32"), ids: T.Tensor((rows,), "int32"), C: T.Tensor((rows, width), "float32")):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as bx:
            S = T.alloc_shared((block, width), "float32")
            for i in T.Parallel(block):
                for j in T.serial(width):
                    S[i, j] = A[ids[bx * block + i], j]
            T.copy(S, C[bx * block : bx * block + block, :])

    return main


main = gather(64, 32, 128)
"""
DETOUR = """import tilelang.language as T


def product(M, N, K):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((M, K), "float16")
            b_ub = T.alloc_ub((K, N), "float16")
            b = T.alloc_L1((K, N), "float16")
            c = T.alloc_L0C((M, N), "float32")
            T.copy(A[0, 0], a)
            T.copy(B[0, 0], b_ub)
            T.copy(b_ub, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[0, 0])

    return main


main = product(64, 64, 64)
"""


def found(code: str, text: str, machine: str = "sm80") -> list[LintFinding]:
    findings = lint(Schedule(read_statements(text).func), load_machine(machine), kernel=kernel_text(text))
    return [finding for finding in findings if finding.code == code]


def test_a_sum_that_nothing_clears() -> None:
    (problem,) = found("uncleared-sum", GEMM.replace(CLEAR, ""))
    assert problem.severity == "error" and problem.buffers == ("C_l",)
    assert problem.message == "gemm (line 14) adds to C_l, which nothing clears before"
    assert problem.fixes[0].text == GEMM


@pytest.mark.parametrize(
    "text",
    [GEMM, GEMM.replace(CLEAR, "").replace("C_l)\n            T.copy", "C_l, clear_accum=k == 0)\n            T.copy")],
)
def test_a_sum_with_a_first_value(text: str) -> None:
    assert found("uncleared-sum", text) == []


def test_a_sum_of_each_tile_is_cleared_for_each_tile() -> None:
    around = "            for tile in T.serial(2):\n"
    lines = GEMM.split("\n")
    start = next(n for n, line in enumerate(lines) if "T.clear" in line)
    end = next(n for n, line in enumerate(lines) if "T.copy(C_l" in line)
    moved = [f"    {line}" for line in lines[start : end + 1]]
    text = "\n".join([*lines[:start], around.rstrip(), *moved, *lines[end + 1 :]])
    (problem,) = found("uncleared-sum", text.replace(f"    {CLEAR}", ""))
    assert problem.fixes[0].text == text


def test_a_pipeline_that_overwrites_what_it_still_reads() -> None:
    (problem,) = found("refused", OVERWRITTEN)
    assert "overwrites" in problem.message and "broken-dependence" in problem.message
    assert problem.fixes[0].text == OVERWRITTEN.replace("make(32, 8, 2)", "make(32, 8, 0)")
    assert found("refused", problem.fixes[0].text) == []


def test_a_gather_with_an_iteration_for_each_row() -> None:
    (problem,) = found("idle-threads", GATHER)
    assert "S (line 11) has work for 16 of 128 threads" in problem.message
    assert problem.fixes[0].text == GATHER.replace("T.serial(width)", "T.Parallel(width)")
    assert found("idle-threads", problem.fixes[0].text) == []


def test_a_detour_through_the_unified_buffer() -> None:
    (problem,) = found("unified-buffer-detour", DETOUR, "ascend-910b")
    (fix,) = problem.fixes
    assert fix.cycles < (fix.cycles_before or 0)
    assert fix.text == DETOUR.replace("T.copy(B[0, 0], b_ub)\n            T.copy(b_ub, b)", "T.copy(B[0, 0], b)")
    assert found("unified-buffer-detour", fix.text, "ascend-910b") == []


def test_copies_without_tma() -> None:
    assert found("lost-bulk-copy", GEMM, "sm90") == []
    assert (
        found(
            "lost-bulk-copy",
            GEMM.replace('B: T.Tensor((K, N), "float16")', 'B: T.Tensor((K, N), "float8_e4m3fn")'),
            "sm80",
        )
        == []
    )
    (problem,) = found("lost-bulk-copy", GEMM.replace("gemm(256, 256, 256)", "gemm(256, 250, 256)"), "sm90")
    assert "B_s_copy (line 14) is no bulk copy: the stride of 500 bytes of B is no multiple of 16" in problem.message
    assert "128 producer threads" in problem.message


def test_copies_whose_text_asks_for_another_instruction() -> None:
    uneven = GEMM.replace("gemm(256, 256, 256)", "gemm(256, 250, 256)")
    chosen = uneven.replace("B_s)", "B_s, disable_tma=True)", 1)
    assert chosen != uneven and found("lost-bulk-copy", chosen, "sm90") == []
    assert found("lost-bulk-copy", f"OPTIONS = {{'tl.disable_tma_lower': True}}\n{uneven}", "sm90") == []
