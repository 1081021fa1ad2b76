"""The literals that feed a TileLang kernel's stages, threads and tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.engine.adopt import KernelError, KernelText, kernel_text, require_registers
from tilewright.engine.script import parse

EXAMPLES = Path(__file__).parents[4] / "static" / "examples"
HEAD = "import tilelang\nimport tilelang.language as T\n\n"
BODY = """
    @T.prim_func
    def main(A: T.Tensor((N, N), "float16"), B: T.Tensor((N, N), "float16")):
        with T.Kernel(T.ceildiv(N, block), threads={threads}) as bx:
            tile = T.alloc_shared((block, width), "float16")
            for k in T.Pipelined(T.ceildiv(N, width){stages}):
                T.copy(A[bx * block, k * width], tile)
                T.copy(tile, B[bx * block, k * width])
    return main
"""


def workload(name: str) -> str:
    return (EXAMPLES / f"{name}.py").read_text().split("# %% workload\n")[1].split("# %% schedule")[0]


def kernel(text: str) -> KernelText:
    found = kernel_text(text)
    assert found is not None
    return found


def copy(signature: str, lines: str, call: str, threads: str = "128", stages: str = ", num_stages=2") -> str:
    body = BODY.format(threads=threads, stages=stages)
    return f"{HEAD}def copy({signature}):\n{lines}{body}\n\nmain = copy({call})\n"


def test_values_of_a_gemm() -> None:
    values = {value.name: (value.role, value.texts[0]) for value in kernel(workload("tilelang_gemm")).values}
    assert values == {
        "threads": ("threads", "128"),
        "num_stages": ("stages", "3"),
        "block_K": ("tile", "32"),
        "block_M": ("tile", "128"),
        "block_N": ("tile", "128"),
    }


def test_sizes_of_parameters_are_no_values() -> None:
    assert "dim" not in {value.name for value in kernel(workload("tilelang_attention")).values}


def test_parts_of_a_sum_in_several_blocks() -> None:
    text = copy("N, block=64, width=32, split=2", "", "N=128").replace(
        "T.ceildiv(N, block), threads", "T.ceildiv(N, block), split, threads"
    )
    (value,) = [value for value in kernel(text.replace("as bx", "as (bx, bz)")).values if value.role == "split"]
    assert (value.name, value.texts) == ("split", ("2", "1", "4", "8", "16", "32"))


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (copy("N, block=64, width=32", "", "N=128"), "copy(N=128)", "copy(N=128, block=16)"),
        (copy("N, block, width=32", "", "128, 64"), "copy(128, 64)", "copy(128, 16)"),
        (copy("N, width=32", "    block = 64  # rows\n", "128"), "block = 64  #", "block = 16  #"),
        (copy("N", "    block, width = 64, 32\n", "128"), "= 64, 32", "= 16, 32"),
        (copy("N, tile, width=32", "    block = tile // 2\n", "128, tile=128"), "tile=128", "tile=16"),
        (copy("N, width=32", "    block = ROWS\n", "128") .replace("def copy", "ROWS = 64\n\ndef copy"), "ROWS = 64", "ROWS = 16"),
    ],
)  # fmt: skip
def test_the_literal_that_feeds_a_tile_is_edited_wherever_it_stands(text: str, old: str, new: str) -> None:
    found = kernel(text)
    n = next(n for n, v in enumerate(found.values) if v.role == "tile" and v.name in ("block", "tile", "ROWS"))
    texts = [v.texts[0] if at != n else "16" for at, v in enumerate(found.values)]
    assert found.with_values(texts) == text.replace(old, new)
    assert found.with_values([v.texts[0] for v in found.values]) == text


def test_a_loop_without_stages_gets_them() -> None:
    text = copy("N, block=64, width=32", "", "128", stages="")
    found = kernel(text)
    at = [v.name for v in found.values].index("num_stages")
    texts = [v.texts[0] if n != at else "2" for n, v in enumerate(found.values)]
    assert found.with_values(texts) == text.replace("ceildiv(N, width))", "ceildiv(N, width), num_stages=2)")
    found.program_with(texts)


def test_a_variable_of_two_values_is_left_alone() -> None:
    text = copy("N, width=32", "    block = 64\n    if N > 64:\n        block = 128\n", "128")
    assert "block" not in {value.name for value in kernel(text).values}


def test_given_values_of_any_parameter_are_searched_and_no_others() -> None:
    found = kernel_text(workload("tilelang_gemm"), {"num_stages": ("1", "2"), "dtype": ("T.bfloat16",)})
    assert found is not None
    assert [value.texts for value in found.values] == [("3", "1", "2"), ("T.float16", "T.bfloat16")]
    with pytest.raises(KernelError) as caught:
        kernel_text(workload("tilelang_gemm"), {"tile": ("1",)})
    assert caught.value.code == "no-such-parameter" and "block_M" in (caught.value.refusal.expected or "")


def test_other_text_has_no_kernel() -> None:
    assert kernel_text("tilelang = 1\n") is None
    assert kernel_text("import tilelang.language as T\ndef f(:\n") is None


def test_fragments_beyond_the_registers_of_the_threads_are_refused() -> None:
    text = workload("tilelang_gemm")
    require_registers(parse(text).program)
    with pytest.raises(KernelError) as caught:
        require_registers(parse(text.replace("num_stages=3)\n", "num_stages=3, block_M=256, block_N=256)\n")).program)
    assert caught.value.code == "too-many-registers" and "2,048 bytes" in (caught.value.refusal.found or "")
