"""Lints of a TileLang kernel whose fix is another value of its text, each beside a twin without the defect."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import kernel_text
from tilewright.engine.hwsim import load_machine
from tilewright.engine.lint import LintFinding, lint
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

GEMM = """\
import tilelang
import tilelang.language as T


@tilelang.jit
def gemm(M=64, N=64, K=64, block_M=32, block_N=32, block_K=32, num_stages=2, threads=128):
    @T.prim_func
    def main(A: T.Tensor((M, K), T.float16), B: T.Tensor((K, N), T.float16), C: T.Tensor((M, N), T.float16)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), T.float16)
            B_shared = T.alloc_shared((block_K, block_N), T.float16)
            C_local = T.alloc_fragment((block_M, block_N), T.float32)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, ko * block_K], A_shared)
                T.copy(B[ko * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


main = gemm()
"""


def found(text: str, machine: str = "sm80") -> dict[str, LintFinding]:
    program = parse(text).program
    findings = lint(Schedule(program), load_machine(machine), kernel=kernel_text(text))  # type: ignore[arg-type]
    return {finding.code: finding for finding in findings}


def with_call(**values: int) -> str:
    return GEMM.replace("main = gemm()", f"main = gemm({', '.join(f'{n}={v}' for n, v in values.items())})")


@pytest.mark.parametrize(
    ("code", "values", "fixed", "twin"),
    [
        ("capacity-overflow", {"M": 128, "N": 128, "K": 512, "block_M": 128, "block_N": 128, "block_K": 128, "num_stages": 3},
         ("num_stages", "2"), {"M": 128, "N": 128, "K": 512, "block_M": 128, "block_N": 128, "block_K": 128, "num_stages": 2}),
        ("no-partition", {"M": 96, "N": 80, "block_M": 48, "block_N": 40, "threads": 256},
         ("threads", ""), {"M": 96, "N": 80, "block_M": 48, "block_N": 40, "threads": 32}),
        ("register-overflow", {"M": 256, "N": 256, "block_M": 256, "block_N": 256, "num_stages": 1},
         ("block_M", "64"), {"M": 256, "N": 256, "block_M": 64, "block_N": 256, "num_stages": 1}),
    ],
)  # fmt: skip
def test_a_finding_has_another_value_as_its_fix(
    code: str, values: dict[str, int], fixed: tuple[str, str], twin: dict[str, int]
) -> None:
    findings = found(with_call(**values))
    assert findings[code].fixes, findings[code].no_fix
    written = [fix.text for fix in findings[code].fixes]
    name, value = fixed
    assert not value or any(f"{name}={value}" in text for text in written)
    assert code not in found(with_call(**twin))


def test_one_loop_of_a_kernel_has_producer_threads() -> None:
    tiles = GEMM[GEMM.index("A_shared =") : GEMM.index("            C_local =")]
    loop = GEMM[GEMM.index("            for ko") : GEMM.index("            T.copy(C_local")]
    second = loop.replace("A_shared", "A_again").replace("B_shared", "B_again")
    more = tiles.replace("A_shared", "A_again").replace("B_shared", "B_again")
    text = GEMM.replace(loop, loop + second).replace(tiles, f"{tiles}            {more}")
    assert found(text, "sm90")["lost-bulk-copy"].blocks[0].startswith(("A_again", "B_again"))
    assert "lost-bulk-copy" not in found(GEMM, "sm90")


def test_slots_of_one_tile_that_idle_are_no_finding() -> None:
    """`num_stages` gives all tiles of a loop their slots: those of a tile that is always late cannot go alone."""
    assert "double-buffer-idle" not in found(
        with_call(M=128, N=128, K=512, block_M=128, block_N=128, block_K=128, num_stages=2)
    )


def test_a_condition_is_a_use_of_a_buffer() -> None:
    own = "mask = T.alloc_local((1,), T.float16)\n            mask[0] = A[by, bx]\n"
    text = GEMM.replace("T.clear(C_local)\n", f"T.clear(C_local)\n            {own}")
    used = text.replace("                T.gemm(", "                if mask[0] > 0:\n                    T.gemm(")
    assert "unused-block" in found(text)
    assert "unused-block" not in found(used)


def test_vectors_of_few_threads_leave_others_idle() -> None:
    """A gather of rows with one thread for each row, and one with a thread for each element."""
    gather = (
        "for i in T.Parallel(block_M):\n                    for j in T.vectorized(block_K):\n                        "
    )
    body = "A_shared[i, j] = A[by * block_M + (i * 7) % block_M, ko * block_K + j]"
    text = GEMM.replace("T.copy(A[by * block_M, ko * block_K], A_shared)", gather + body)
    assert [fix.text for fix in found(text)["idle-threads"].fixes if "T.Parallel(block_K)" in fix.text]
    twin = text.replace(gather, "for i, j in T.Parallel(block_M, block_K):\n                    ")
    assert "idle-threads" not in found(twin)
