"""A TileLang kernel opens as a notebook with its own text, and a call that has the values of its parameters."""

from __future__ import annotations

import pytest
from support.tile_kernels import KERNELS, kernel

from tilewright.app.document import converted, evaluate, read_document
from tilewright.app.document.machine import target_of
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import structural_equal

CALLS = (
    ("gemm", {"M": 128, "N": 64, "K": 64}, "main = product(M=128, N=64, K=64)"),
    ("eager", {}, "norm = norm.compile(eps=1e-05, block_M=16, M=40, N=24)"),
    ("weights", {"M": 32, "N": 32, "K": 64, "block_M": 32}, "product = product.compile(block_M=32, M=32, N=32, K=64)"),
)


@pytest.mark.parametrize(("name", "given", "line"), CALLS, ids=[name for name, _, _ in CALLS])
def test_notebook_has_the_kernels_text(name: str, given: dict[str, int], line: str) -> None:
    text = (KERNELS / f"{name}.py").read_text()
    made = converted(read_document(text), "dual-bank-npu", given)
    (cell,) = made.document.of_kind("workload")
    assert line in cell.body.split("\n")
    body = text[text.index("@tilelang.jit") :].partition("\n\n\n")[0]
    assert body in cell.body
    notebook = evaluate(made.document)
    assert notebook.error is None
    assert not [note for note in notebook.notes if "passed over" in note.text]
    assert structural_equal(notebook.schedule.func, kernel(name, **given))


@pytest.mark.parametrize(("name", "machine"), [("eager", "sm80"), ("ascend_gemm", "ascend-910b")])
def test_machine_of_a_kernel_is_that_of_its_launch(name: str, machine: str) -> None:
    given = {"M": 64, "N": 64, "K": 64} if name == "ascend_gemm" else {}
    made = converted(read_document((KERNELS / f"{name}.py").read_text()), "dual-bank-npu", given)
    (cell,) = made.document.of_kind("machine")
    assert f'"{machine}"' in cell.body


def test_cube_and_vector_cores_have_engines_of_their_own() -> None:
    """Scores go to the vector cores and weights back through global memory, beside the loads of keys and values."""
    program = kernel("ascend_attention", heads=1, seq_len=128, dim=64, block_M=64, block_N=64)
    report = simulate(program, load_machine("ascend-910b"))
    assert all(report.engines[name].busy > 0 for name in ("mte2", "mte2_vector", "mte3", "fixpipe", "cube", "vector"))
    assert report.engines["scalar"].busy == report.engines["mte1"].busy == 0
    trips = [t for t in report.traffic if t.buffer == "scores_gm"]
    assert sorted((t.source, t.destination) for t in trips) == [("global", "shared"), ("wmma.accumulator", "global")]


@pytest.mark.parametrize("machine", ["sm80", "sm90"])
def test_stages_overlap_copies_with_products(machine: str) -> None:
    """Several slots of each operand let copies run ahead of the tensor cores; one slot does not."""
    cycles = {}
    for stages in (0, 2, 3):
        text = (KERNELS / "gemm.py").read_text().replace("num_stages=3", f"num_stages={stages}")
        sizes = {"M": 256, "N": 256, "K": 512, "block_M": 128, "block_N": 128, "block_K": 32}
        notebook = evaluate(converted(read_document(text), "dual-bank-npu", sizes).document)
        report = simulate(notebook.schedule.func, load_machine(machine))
        cycles[stages] = report.cycles
        assert report.engines["tensor"].busy > 0
    assert max(cycles[2], cycles[3]) < 0.9 * cycles[0]


ROWS = """\
import tilelang
import tilelang.language as T
from tilelang.autotuner import *


def get_configs():
    return [dict(block=32), dict(block=16)]


@autotune(configs=get_configs(), warmup=10)
@tilelang.jit(out_idx=[1])
def scaled(n, factor, block=16, wide=False):
    \"\"\"Multiply.

    def other: no definition
    \"\"\"
    @T.prim_func
    def narrow_rows(A: T.Tensor((n, 64), T.float16), B: T.Tensor((n, 64), T.float16)):
        with T.Kernel(T.ceildiv(n, block), threads=64) as bx:
            rows = T.alloc_shared((block, 64), T.float16)
            T.copy(A[bx * block, 0], rows)
            for i, j in T.Parallel(block, 64):
                rows[i, j] = rows[i, j] * factor
            T.copy(rows, B[bx * block, 0])

    @T.prim_func
    def wide_rows(A: T.Tensor((n, 64), T.float16), B: T.Tensor((n, 64), T.float16)):
        with T.Kernel(1, threads=64) as bx:
            T.copy(A, B)

    return wide_rows if wide else narrow_rows


@tilelang.jit(pass_configs={tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True})
def other(n):
    @T.prim_func
    def main(A: T.Tensor((n,), T.float16)):
        with T.Kernel(1, threads=64) as bx:
            T.clear(A)

    return main


for n, factor in [(64, 2), (128, 3)]:
    kernel = scaled(n, factor, block=8 * 2)
"""
"""A text as people write it: an imported decorator, several kernels of a function, calls in a loop, and a kernel with other options."""


def test_the_text_is_kept_with_the_values_of_its_first_call() -> None:
    made = converted(read_document(ROWS), "dual-bank-npu")
    (cell,) = made.document.of_kind("workload")
    assert cell.body.rstrip().endswith("narrow_rows = scaled(n=64, factor=2)")
    func = evaluate(made.document).schedule.func
    assert func.name == "narrow_rows"
    assert dict(func.buffer_map)[func.params[0]].shape[0].value == 64  # type: ignore[attr-defined]
    assert "tl.no_producers" not in str(func.body)


@pytest.mark.parametrize(
    ("line", "machine"),
    [("T.mbarrier_arrive(ready)", "sm90"), ("with T.ws(0):", "sm90"), ("T.copy(A, B)", "sm80")],
)
def test_machine_has_the_operations_of_the_text(line: str, machine: str) -> None:
    assert target_of(f"import tilelang.language as T\n{line}\n")[1] == machine
