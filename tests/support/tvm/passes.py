"""TVM's own passes, up to the one with a given Tilewright name."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright.engine.lower import PASSES

tvm = pytest.importorskip("tvm")

S, X = tvm.s_tir.transform, tvm.tirx.transform
THEIRS = {
    "LowerInitBlock": S.LowerInitBlock,
    "PlanAndUpdateBufferAllocationLocation": S.PlanAndUpdateBufferAllocationLocation,
    "ConvertBlocksToOpaque": S.ConvertBlocksToOpaque,
    "CompactBufferAllocation": S.CompactBufferAllocation,
    "LowerMatchBuffer": S.LowerMatchBuffer,
    "InjectSoftwarePipeline": S.InjectSoftwarePipeline,
    "LowerOpaqueBlock": S.LowerOpaqueBlock,
    "FlattenBuffer": X.FlattenBuffer,
    "StmtSimplify": X.StmtSimplify,
    "RemoveNoOp": X.RemoveNoOp,
}
"""All passes except InjectDoubleBuffer: TVM's does nothing here, and fails on buffers of two axes. The last three are compared as one."""


def tvm_lowered(mod: Any, until: str) -> Any:
    for step in PASSES:
        if step.name in THEIRS:
            mod = THEIRS[step.name]()(mod)
        if step.name == until:
            return mod
    raise AssertionError(until)
