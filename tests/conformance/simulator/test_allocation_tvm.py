"""Buffers that share addresses need as much memory here as after TVM's passes, where both model the same.

TVM's MergeSharedMemoryAllocations packs the shared memory of a kernel by lifetimes in program order, StorageRewrite reuses whole
allocations. (TVM's unified static memory planner is not part of TVM 0.27.)
"""

from __future__ import annotations

import re
from random import Random

import pytest
from support.profile import samples
from support.simulator.machines import plain
from support.simulator.phases import staged
from support.tvm.oracle import tvm, tvm_parse
from support.tvm.recorded import agreed

from tilewright.engine.hwsim.simulate import tasks_of
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm

S, X = tvm.s_tir.transform, tvm.tirx.transform
PASSES = (
    "LowerInitBlock",
    "PlanAndUpdateBufferAllocationLocation",
    "ConvertBlocksToOpaque",
    "CompactBufferAllocation",
    "LowerMatchBuffer",
    "LowerOpaqueBlock",
)
SIZES = (256, 512, 1024)
"""TVM shares no buffers of fewer than 32 elements."""


def needed(func: PrimFunc, scope: str) -> tuple[int, int]:
    """The end of the packed addresses and the largest live sum on a machine whose memory is too small for all buffers."""
    machine = plain().replace("pad.scopes", (scope,)).replace("pad.banks", 1).replace("pad.capacity_bytes", 8)
    use = tasks_of(func, machine).places.use[scope]
    return use.end_bytes, use.live_bytes


def lowered(func: PrimFunc):
    mod = tvm_parse(to_script(func))
    for name in PASSES:
        mod = getattr(S, name)()(mod)
    return X.FlattenBuffer()(mod)


def in_a_kernel(text: str) -> str:
    """The program as the body of a loop over one thread: TVM merges allocations inside of kernels."""
    lines = text.split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("    for"))
    bound = '    for t in T.thread_binding(1, thread="threadIdx.x"):'
    return "\n".join([*lines[:first], bound, *(f"    {line}" for line in lines[first:])])


SEEDS = samples(range(60), *range(12))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_packing_needs_at_most_what_tvms_shared_memory_needs(seed: int) -> None:
    text = staged(Random(seed), "shared.dyn", SIZES)
    ours, live = needed(parse(text).program, "shared.dyn")
    assert live <= ours
    agreed(f"{text}\n{ours}", lambda: require_as_small(text, ours))


def require_as_small(text: str, ours: int) -> None:
    merged = str(S.MergeSharedMemoryAllocations()(lowered(parse(in_a_kernel(text)).program)))
    found = re.search(r'alloc_buffer\(\((\d+),\), "uint8", scope="shared.dyn"\)', merged)
    single = re.findall(r'alloc_buffer\(\((\d+),\), "int32", scope="shared.dyn"', merged)
    theirs = int(found[1]) if found else sum(4 * int(size) for size in single)
    assert ours <= theirs


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_buffers_share_as_after_storage_rewrite(seed: int) -> None:
    text = staged(Random(seed), "global", (512,))
    ours, live = needed(parse(text.replace('scope="global"', 'scope="local"')).program, "local")
    assert live == ours
    agreed(f"{text}\n{ours}", lambda: require_as_large(text, ours))


def require_as_large(text: str, ours: int) -> None:
    rewritten = str(X.StorageRewrite()(lowered(parse(text).program)))
    theirs = sum(4 * int(size) for size in re.findall(r'= T.alloc_buffer\(\((\d+),\), "int32"', rewritten))
    assert ours == theirs
