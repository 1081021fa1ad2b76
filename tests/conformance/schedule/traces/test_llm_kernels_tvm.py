"""Kernels of TVM's `relax.frontend.nn.llm`: their hand schedules are replayed and give TVM's programs, and their texts come back."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from msgspec.structs import replace
from support.tvm.text import tvm_read

from tilewright.engine.adopt import from_tvm, from_tvm_trace
from tilewright.engine.ir import Block, IRModule, Node, PrimFunc, first_difference, rewrite
from tilewright.engine.lower.simplify import simplify_stmts
from tilewright.engine.script import parse, to_script

tvm = pytest.importorskip("tvm")
tvm_ffi = pytest.importorskip("tvm_ffi")

GPU = {
    "kind": "cuda",
    "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 49152,
    "thread_warp_size": 32,
}
LLM = "tvm.relax.frontend.nn.llm"

KERNELS = {
    "sequence prefill": ("_prefill_kernels", "_attention_sequence_prefill", (8, 32, 128, "float16", GPU)),
    "masked prefill": ("_prefill_kernels", "_attention_sequence_prefill_with_mask", (8, 32, 128, "float16", GPU)),
    "paged prefill": ("_prefill_kernels", "_attention_prefill", (8, 32, 128, "float16", False, {}, GPU)),
    "sliding prefill": ("_prefill_kernels", "_attention_prefill", (4, 4, 64, "float32", True, {}, GPU)),
    "ragged prefill": ("_prefill_kernels", "_attention_prefill_ragged", (8, 32, 128, 128, "float16", {}, GPU)),
    "latent prefill": ("_prefill_kernels", "_attention_prefill_mla", (32, 512, 64, "float16", False, GPU)),
    "tree": ("tree_attn", "tree_attn", (8, 32, 128, "float16", {}, GPU)),
    "paged tree": ("tree_attn", "tree_attn_with_paged_kv_cache", (8, 32, 128, "float16", {}, GPU)),
}
"""Module, function and arguments of each; all are scheduled by hand there."""


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, str]]]:
    """The schedules that TVM makes meanwhile, each with its initial program as JSON: TVM changes that in place."""
    made: list[tuple[Any, str]] = []
    create = tvm.s_tir.Schedule.__init__

    def spied(self: Any, mod: Any, *args: Any, **named: Any) -> None:
        create(self, mod, *args, **named)
        made.append((self, tvm.ir.save_json(self.mod)))

    monkeypatch.setattr(tvm.s_tir.Schedule, "__init__", spied)
    yield made


def plain(program: IRModule | PrimFunc) -> PrimFunc:
    """The function with simplified indices, without what blocks declare: TVM writes `(a * 32 + b) // 8` for `a * 4 + b // 8`, and
    keeps the empty regions of blocks that access memory."""
    func = program.functions[0] if isinstance(program, IRModule) else program

    def leave(node: Node) -> Node:
        return replace(node, reads=(), writes=(), annotations=()) if isinstance(node, Block) else node

    return simplify_stmts(rewrite(func, leave))


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", KERNELS)
def test_a_hand_schedule_gives_tvms_program(name: str, schedules: list[tuple[Any, str]]) -> None:
    module, function, arguments = KERNELS[name]
    targets = [tvm.target.Target(GPU) if argument is GPU else argument for argument in arguments]
    getattr(import_module(f"{LLM}.{module}"), function)(*targets)
    ((theirs, before),) = schedules
    ours = from_tvm_trace(theirs.trace, tvm.ir.load_json(before)).mod
    difference = first_difference(plain(ours), plain(from_tvm(theirs.mod)))
    assert difference is None, difference
    text = theirs.mod.script()
    assert tvm_ffi.structural_equal(tvm_read(to_script(parse(text).program)), tvm_read(text), map_free_vars=True)
