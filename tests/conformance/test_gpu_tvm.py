"""Derived schedules for a GPU, compiled by TVM: CUDA with the blocks, threads and tensor cores of the schedule."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from support.profile import samples
from support.simulator.same_threads import StagedRows
from support.tvm.oracle import tvm, tvm_parse

import tilewright
from tilewright.app.document.intrinsics import read_intrinsics
from tilewright.engine.explore import derive_space
from tilewright.engine.export import to_tvm_python
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Intrinsics
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm

HAND = Path(__file__).parents[1] / "hand"

CONVOLUTION = """
@T.prim_func
def conv(X: T.Buffer((1, 2, 10, 10, 16)), W: T.Buffer((2, 2, 3, 3, 16, 16)), Y: T.Buffer((1, 2, 8, 8, 16))):
    for n, oc, oh, ow, ob, ic, kh, kw, ib in T.grid(1, 2, 8, 8, 16, 2, 3, 3, 16):
        with T.block("Y"):
            vn, voc, voh, vow, vob, vic, vkh, vkw, vib = T.axis.remap("SSSSSRRRR", [n, oc, oh, ow, ob, ic, kh, kw, ib])
            with T.init():
                Y[vn, voc, voh, vow, vob] = T.float32(0)
            Y[vn, voc, voh, vow, vob] += X[vn, vic, voh + vkh, vow + vkw, vib] * W[voc, vic, vkh, vkw, vib, vob]
"""

ROWS = """
@T.prim_func
def rows(X: T.Buffer((64, 256), "float32"), Y: T.Buffer((64, 256), "float32")):
    for i, j in T.grid(64, 256):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.exp(X[vi, vj])
"""


def cuda_of(name: str, folder: Path) -> str:
    """The CUDA that TVM makes of the derived schedule of a notebook."""
    notebook = tilewright.load(next(HAND.rglob(f"{name}.py")))
    assert isinstance(notebook.program, PrimFunc) and notebook.schedule is not None
    intrinsics = read_intrinsics(notebook.document)
    return derived_cuda(notebook.program, "gpu-sm", intrinsics, folder)


def derived_cuda(program: PrimFunc, machine: str, intrinsics: Intrinsics, folder: Path) -> str:
    """The CUDA that TVM makes of the schedule derived for a machine."""
    space = derive_space(program, load_machine(machine), intrinsics=intrinsics).space
    file = folder / "exported.py"
    file.write_text(to_tvm_python(space.schedule_at(space.default).schedule), encoding="utf-8")
    module = runpy.run_path(str(file))["sch"].mod
    return tvm.tirx.build(module, target="cuda").imports[0].inspect_source()


@pytest.mark.slow
def test_softmax_is_one_kernel_across_threads(tmp_path: Path) -> None:
    source = cuda_of("softmax", tmp_path)
    assert source.count('extern "C" __global__ void __launch_bounds__(') == 2, "one kernel, declared and defined"
    assert "extern __shared__" in source and "__syncthreads()" in source
    assert "__shfl_down_sync" in source


def kernel_of(text: str) -> Any:
    """The kernel that TVM makes of a program, up to the names of loops."""
    module = tvm_parse(to_script(parse(text).program))
    for step in ("LowerInitBlock", "PlanAndUpdateBufferAllocationLocation", "ConvertBlocksToOpaque", "LiftThreadBinding",
                 "CompactBufferAllocation", "UnifyThreadBinding", "LowerOpaqueBlock"):  # fmt: skip
        module = getattr(tvm.s_tir.transform, step)()(module)
    return tvm.tirx.transform.StmtSimplify()(tvm.tirx.transform.FlattenBuffer()(module))


@pytest.mark.parametrize("scope", samples(["local", "shared"], "shared"))
@pytest.mark.parametrize(
    "tag", samples(["threadIdx.x", "threadIdx.y", "vthread.x", "vthread"], "threadIdx.x", "vthread")
)
def test_loop_around_the_same_threads_changes_no_kernel(tag: str, scope: str) -> None:
    rows = StagedRows(tag, scope, 32, 128, 1)
    around, alone = (kernel_of(rows.text(around=around)) for around in (True, False))
    if tag.startswith("threadIdx"):  # TVM may place a buffer outside of virtual threads that have one loop
        tvm.ir.assert_structural_equal(around, alone)
    assert around.script().count(f'T.launch_thread("{tag}", 128)') == 1


@pytest.mark.slow
def test_a_gemm_uses_the_tensor_cores(tmp_path: Path) -> None:
    source = cuda_of("gpu_gemm", tmp_path)
    for call in ("fill_fragment", "load_matrix_sync", "mma_sync", "store_matrix_sync"):
        assert f"nvcuda::wmma::{call}(" in source
    assert "__syncthreads()" in source


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["gpu-sm", "a100"])
@pytest.mark.parametrize("text", [CONVOLUTION, ROWS], ids=["convolution in NCHWc", "elementwise"])
def test_tvm_builds_what_is_derived_for_a_gpu(text: str, machine: str, tmp_path: Path) -> None:
    program = tilewright.parse(text)
    assert isinstance(program, PrimFunc)
    source = derived_cuda(program, machine, Intrinsics(), tmp_path)
    threads = re.search(r"__launch_bounds__\((\d+)\)", source)
    assert threads is not None and int(threads[1]) > 1
    assert "blockIdx.x" in source or machine == "gpu-sm"  # one block of a whole program has no number


CENTRED = """
@T.prim_func
def centred(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64, 256), "float32")):
    S = T.alloc_buffer((64,))
    V = T.alloc_buffer((64,))
    for i, k in T.grid(64, 256):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = FIRST
            S[vi] = COMBINED
    for i, k in T.grid(64, 256):
        with T.block("V"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = T.float32(0)
            V[vi] = V[vi] + (A[vi, vk] - S[vi]) * (A[vi, vk] - S[vi])
    for i, k in T.grid(64, 256):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = (A[vi, vk] - S[vi]) * T.rsqrt(V[vi])
"""


@pytest.mark.parametrize(
    ("first", "combined"),
    [("T.float32(0)", "S[vi] + A[vi, vk]"), ("T.float32(-1e30)", "T.max(S[vi], A[vi, vk])")],
    ids=["a sum of rows that another sum reads", "a maximum that begins with another value than TVM's"],
)
def test_rows_of_sums_compile_for_cuda(first: str, combined: str, tmp_path: Path) -> None:
    program = parse(CENTRED.replace("FIRST", first).replace("COMBINED", combined)).program
    assert isinstance(program, PrimFunc)
    source = derived_cuda(program, "gpu-sm", {}, tmp_path)
    assert "threadIdx.x" in source and "__syncthreads()" in source
