"""Derived schedules for GPUs: TVM makes a CUDA kernel of each, with the threads of the schedule."""

from __future__ import annotations

import re

import pytest
from support.tvm.oracle import tvm

import tilewright
from tilewright.engine.explore import derive_space
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Intrinsics

pytestmark = [pytest.mark.tvm, pytest.mark.slow]

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


def cuda_of(sch: tilewright.Schedule) -> str:
    """The CUDA source that TVM makes of a schedule."""
    lines = tilewright.to_script(sch).splitlines()
    text = "\n".join("" if line.startswith(("from tvm", "import tvm")) else line for line in lines)
    found = tvm.script.from_source(text)
    module = found if isinstance(found, tvm.IRModule) else tvm.IRModule({"main": found})
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host="llvm")
    return tvm.compile(module, target=target).mod.imports[0].inspect_source()


@pytest.mark.parametrize("machine", ["gpu-sm", "a100"])
@pytest.mark.parametrize("text", [CONVOLUTION, ROWS], ids=["convolution in NCHWc", "elementwise"])
def test_tvm_builds_what_is_derived_for_a_gpu(text: str, machine: str) -> None:
    program = tilewright.parse(text)
    assert isinstance(program, PrimFunc)
    space = derive_space(program, load_machine(machine), intrinsics=Intrinsics()).space
    source = cuda_of(space.schedule_at(space.default).schedule)
    threads = re.search(r"__launch_bounds__\((\d+)\)", source)
    assert threads is not None and int(threads[1]) > 1
    assert "blockIdx.x" in source or machine == "gpu-sm"  # one block of a whole program has no number
