"""Visibility of storage scopes to threads, by TVM's scope ranks (src/runtime/thread_storage_scope.h)."""

from __future__ import annotations

from ..ir import For


def is_global(scope: str) -> bool:
    return scope.partition(".")[0] in ("", "global")


def is_shared_over(scope: str, loop: For) -> bool:
    """Whether all threads of a thread loop share one buffer of this scope, by TVM's ranks: global over all, shared over threadIdx."""
    if loop.thread_tag is None:
        return False
    kind = scope.partition(".")[0]
    if kind == "warp":
        return loop.thread_tag == "threadIdx.x"
    return is_global(scope) or (kind == "shared" and not loop.thread_tag.startswith("blockIdx"))


def is_fragment(scope: str) -> bool:
    """Whether the lanes of a warp hold the elements of a buffer together, as operands of a tensor core."""
    return scope.startswith(("wmma.", "m16n8k8.", "metal.simdgroup"))
