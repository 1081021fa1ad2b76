"""The kernels of TVM's paged key and value cache for language models: every factory, for several sizes, types and targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

ROPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "llama3": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
    },
}  # fmt: skip
TARGETS = (
    {"kind": "cuda", "arch": "sm_80"},
    {"kind": "metal"},
    {"kind": "webgpu"},
)


def cache_kernels() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a name and a maker for each kernel; a maker returns a PrimFunc or a schedule."""
    import tvm
    from tvm.relax.frontend.nn.llm import kv_cache as cache

    for dtype in ("float16", "float32"):
        yield from _of_processor(cache, dtype)
        for target in TARGETS:
            resolved = tvm.target.Target(target)
            for name, maker in _of_target(cache, resolved, dtype):
                yield f"{name} {dtype} {target['kind']}", maker


def _of_processor(cache: Any, dtype: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield f"merge cpu {dtype}", lambda: cache._merge_state_inplace_cpu(dtype)
    for heads, dim in (8, 128), (4, 64):
        size = f"{heads}x{dim} {dtype}"
        yield f"copy cpu {size}", lambda h=heads, d=dim: cache._copy_single_page_cpu(h, 16, d, dtype)
        yield f"compact cpu {size}", lambda h=heads, d=dim: cache._compact_kv_copy_cpu(h, d, dtype)
        yield f"append {size}", lambda h=heads, d=dim: cache._kv_cache_transpose_append(h, d, dtype)
        yield f"debug {size}", lambda h=heads, d=dim: cache._kv_cache_debug_get_kv(32, h, d, dtype)
        for kind, rope in ROPES.items():
            of = f"{size} {kind}"
            yield (
                f"ragged cpu {of}",
                lambda h=heads, d=dim, r=rope: cache._attention_prefill_ragged_cpu(h, 32, d, d, dtype, r),
            )
            yield f"tree cpu {of}", lambda h=heads, d=dim, r=rope: cache.tree_attn_cpu(h, 32, d, dtype, r)
            yield (
                f"paged tree cpu {of}",
                lambda h=heads, d=dim, r=rope: cache.tree_attn_with_paged_kv_cache_cpu(h, 32, d, dtype, r),
            )
            for slides in (False, True):
                yield (
                    f"prefill cpu {of} {slides}",
                    lambda h=heads, d=dim, r=rope, s=slides: cache._attention_prefill_cpu(h, 32, d, dtype, s, r),
                )
                yield (
                    f"decode cpu {of} {slides}",
                    lambda h=heads, d=dim, r=rope, s=slides: cache._attention_decode_cpu(h, 32, d, dtype, s, r),
                )
    yield f"append mla {dtype}", lambda: cache._kv_cache_transpose_append_mla(576, dtype)
    yield f"debug mla {dtype}", lambda: cache._kv_cache_debug_get_kv_mla(32, 576, dtype)


def _of_target(cache: Any, target: Any, dtype: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    heads, dim = 8, 128
    rope = ROPES["plain"]
    yield "merge", lambda: cache._merge_state_inplace(32, dim, dtype, target)
    yield "copy", lambda: cache._copy_single_page(heads, 16, dim, dtype, target)
    yield "copy mla", lambda: cache._copy_single_page_mla(16, 576, dtype, target)
    yield "compact", lambda: cache._compact_kv_copy(heads, dim, dtype, target)
    for slides in (False, True):
        yield f"decode {slides}", lambda s=slides: cache._attention_decode(heads, 32, dim, dtype, s, rope, target)
        yield f"prefill {slides}", lambda s=slides: cache._attention_prefill(heads, 32, dim, dtype, s, rope, target)
    yield "ragged", lambda: cache._attention_prefill_ragged(heads, 32, dim, dim, dtype, rope, target)
    yield "mla", lambda: cache._attention_prefill_mla(16, 512, 64, dtype, False, target)
    yield "tree", lambda: cache.tree_attn(heads, 32, dim, dtype, rope, target)
    yield "paged tree", lambda: cache.tree_attn_with_paged_kv_cache(heads, 32, dim, dtype, rope, target)
    yield "sequence", lambda: cache._attention_sequence_prefill(heads, 32, dim, dtype, target)
    yield "masked sequence", lambda: cache._attention_sequence_prefill_with_mask(heads, 32, dim, dtype, target)


def hand_schedule(name: str) -> tuple[str, Any]:
    """Return the text of an attention kernel's program before its schedule, and TVM's schedule of it."""
    import tvm
    from tvm.relax.frontend.nn.llm import kv_cache as cache

    made: list[tuple[str, Any]] = []

    class Recording(tvm.s_tir.Schedule):
        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            made.append((self.mod.script(), self))

    target = tvm.target.Target(TARGETS[0])
    makers = dict(_of_target(cache, target, "float16"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tvm.s_tir, "Schedule", Recording)
        makers[name]()
    return made[0]
