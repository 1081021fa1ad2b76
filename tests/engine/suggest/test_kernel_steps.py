"""Suggestions for a TileLang kernel: edits of its own text that were tried."""

from __future__ import annotations

from pathlib import Path

from tilewright.engine.adopt import kernel_text, read_statements
from tilewright.engine.execute import verify
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.schedule import Schedule
from tilewright.engine.suggest import Suggestion, suggest

TRANSPOSED = """import tilelang
import tilelang.language as T


def transposed(M, N, block=64, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), B: T.Tensor((N, M), dtype)):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            tile = T.alloc_shared((block, block), dtype)
            turned = T.alloc_shared((block, block), dtype)
            T.copy(A[by * block, bx * block], tile)
            for i, j in T.Parallel(block, block):
                turned[i, j] = tile[j, i]
            T.copy(turned, B[bx * block, by * block])

    return main


main = transposed(256, 256)
"""


def steps(text: str, machine: str) -> tuple[Suggestion, ...]:
    return suggest(Schedule(read_statements(text).func), load_machine(machine), kernel=kernel_text(text))


def test_values_and_layouts_are_edits_with_the_cycles_that_they_promise() -> None:
    found = steps(TRANSPOSED, "sm80")
    assert {one.rule for one in found} == {"kernel-value", "kernel-layout"}
    by_title = {one.title: one.fix for one in found}
    fix = by_title["Store tile swizzled"]
    assert (
        fix.calls == ("T.annotate_layout({tile: tilelang.layout.make_swizzled_layout(tile)})",) and fix.replaces == ""
    )
    for fix in by_title.values():
        func = read_statements(fix.text).func
        assert simulate(func, load_machine("sm80")).cycles == fix.cycles < (fix.cycles_before or 0)
        assert verify(func, read_statements(TRANSPOSED).func).status == "tested"


SPLIT = """import tilelang
import tilelang.language as T


def product(M, N, K, block=64, split_k=1, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), split_k, threads=128) as (bx, by, bz):
            a = T.alloc_shared((block, 32), dtype)
            b = T.alloc_shared((32, block), dtype)
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for k in T.Pipelined(K // split_k // 32, num_stages=2):
                T.copy(A[by * block, bz * (K // split_k) + k * 32], a)
                T.copy(B[bz * (K // split_k) + k * 32, bx * block], b)
                T.gemm(a, b, c)
            T.atomic_add(C[by * block, bx * block], c)

    return main


main = product(128, 128, 4096)
"""


def test_a_product_of_few_blocks_is_split_along_its_depth() -> None:
    found = {one.title: one.fix for one in steps(SPLIT, "a100") if "split_k" in one.title}
    fix = found["split_k = 16, not 1"]
    assert "product(128, 128, 4096, split_k=16)" in fix.text and fix.gain > 0.5


def test_a_tile_that_loses_a_part_of_the_result_is_not_proposed() -> None:
    lost = TRANSPOSED.replace("T.ceildiv(N, block)", "N // block").replace("(256, 256)", "(192, 192)")
    titles = [one.title for one in steps(lost, "sm80")]
    assert "block = 32, not 64" in titles
    assert not any(title.startswith(("block = 128", "block = 256")) for title in titles)


def test_copies_of_a_serial_loop_run_ahead() -> None:
    folder = Path(__file__).parents[3] / "static" / "examples"
    text = (folder / "ascend_gemm_cores.py").read_text().split("# %% workload\n")[1].split("# %% schedule")[0]
    serial = text.replace("T.Pipelined(K // K_L1, num_stages=2)", "T.serial(K // K_L1)").replace(
        "M=2048, N=2048", "M=256, N=256"
    )
    (fix,) = [one.fix for one in steps(serial, "ascend-910b") if one.rule == "kernel-slots"]
    assert "for k in T.Pipelined(K // K_L1, num_stages=2):" in fix.calls and fix.gain > 0.1


def test_a_copy_moves_above_a_statement_that_does_not_need_it() -> None:
    """Those of data that the cores exchange keep their order."""
    folder = Path(__file__).parents[3] / "static" / "examples"
    text = (folder / "ascend_attention.py").read_text().split("# %% workload\n")[1].split("# %% schedule")[0]
    without_flags = "".join(line for line in text.splitlines(keepends=True) if "cross_flag" not in line)
    found = {one.title: one.fix for one in steps(without_flags, "ascend-910b") if one.rule == "kernel-order"}
    assert {title.partition(" ")[0] for title in found} == {"v_l1_copy"}
    fix = found["v_l1_copy 1 statement earlier"]
    assert fix.lines[0] == ("T.copy(V[h, k * block_N : (k + 1) * block_N, :], v_l1)",)
    assert fix.calls[0].startswith(f"{fix.lines[0][0]}  # line ")
