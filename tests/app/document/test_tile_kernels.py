"""A TileLang kernel opens as a notebook with its own text, and a call that has the values of its parameters."""

from __future__ import annotations

import pytest
from support.tile_kernels import KERNELS, kernel

from tilewright.app.document import converted, evaluate, read_document
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
