"""bench/gpu.py without a GPU: its rows, its sources as C++ with stubs, and the table that it writes and reads, on synthetic times."""

from __future__ import annotations

import csv
import importlib.util
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"

STUBS = """
#include <cmath>
#include <cstddef>
#define __global__
#define __shared__ static
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
struct dim { unsigned x, y, z; };
extern dim threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();
template <class T> T __ldcg(const T *);
size_t __cvta_generic_to_shared(const void *);
"""


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("bench_gpu", BENCH / "gpu.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_gpu"] = module
    spec.loader.exec_module(module)
    return module


gpu = _module()
ROWS = gpu.rows()


def timed(row: Any) -> Any:
    """A row with times that grow with the degree of conflict and fall with the stages."""
    found = 10.0 * max(1, row.macros.get("STEP", 1)) / row.macros.get("STAGES", 1)
    return gpu.Timed(row, 7, tuple(found + n / 100 for n in range(11)))


def test_forty_rows_validate_and_names_are_unique():
    assert Counter(row.kind for row in ROWS)["validation"] == 40
    assert max(Counter((row.kind, row.name) for row in ROWS).values()) == 1
    assert {row.kernel for row in ROWS if row.kind == "validation"} == gpu.BASES.keys()


def test_launches_are_within_the_limits_of_a_block():
    for row in ROWS:
        assert row.threads[0] * row.threads[1] <= 1024
        assert row.shared_bytes <= 99 << 10, "what a block of every device since compute capability 8.0 may have"
        assert row.grid(108)[0] >= 1


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler on this computer")
def test_each_kernel_is_cplusplus_with_its_macros(tmp_path: Path):
    source = (BENCH / "gpu_kernels.cu").read_text().replace("extern __shared__ float slots[]", "static float slots[1]")
    kinds = {tuple(gpu.macros_of(row).items()) for row in ROWS}
    for number, macros in enumerate(sorted(kinds)):
        file = tmp_path / f"{number}.cpp"
        file.write_text(STUBS + "".join(f"#define {name} {value}\n" for name, value in macros) + source)
        made = subprocess.run(
            ["g++", "-std=c++17", "-fsyntax-only", "-w", str(file)], capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, (macros, made.stderr[:500])


def test_a_chain_visits_each_line_once():
    lines = 4096 // 128
    following = memoryview(gpu.chain(4096)).cast("I")
    at, seen = 0, []
    for _ in range(lines):
        seen.append(at)
        at = following[at]
    assert at == 0 and sorted(seen) == [line * 32 for line in range(lines)]


def test_the_table_is_read_back_with_its_ratios():
    text = gpu.table([timed(row) for row in ROWS], "A GPU", 1_410_000, ["gemm: x"], "2026-11-28")
    body = [line for line in text.splitlines() if not line.startswith("#")]
    assert {len(cells) for cells in csv.reader(body)} == {len(gpu.HEAD)} and len(body) == len(ROWS) + 1
    found = gpu.summary(text)
    assert found.startswith("A GPU, 1.410 GHz by the driver; not reached: gemm: x")
    assert "| shared | b64, degree 4 | 40.05 | 3.985 |" in found
    assert "| gemm | tile 64 x 64 x 16, 2 stages | 5.05 | 0.502 |" in found


def test_without_a_driver_the_reason_is_told():
    try:
        gpu.Device()
    except RuntimeError as error:
        assert "cu" in str(error)
