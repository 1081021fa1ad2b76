"""Rules that several families of primitives ask for. Each says the rule above it and raises its own refusal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..analysis import find_conflict, is_associative_update, updates_only_own_element, writes_distinct
from ..ir import BlockRealize, For, Var, uses_var
from .context import Context
from .errors import refuse

_SCOPE = re.compile(
    r"(global|shared|local|warp|texture|wmma\.(matrix_a|matrix_b|accumulator)|m16n8k8\.matrix[ABC]|amx\.tmm|metal\.simdgroup|trn\.(psum|sbuf))"
    r"([.:-][\w:-]+)*"
)


# A memory is one of TVM's kinds (StorageScope::Create) and, after a dot, the machine's own name for it.
def require_scope_name(storage_scope: object) -> None:
    if not isinstance(storage_scope, str) or not _SCOPE.fullmatch(storage_scope):
        raise refuse(
            "bad-scope",
            f"{storage_scope!r} is no name of a memory",
            expected='"global", "shared", "local", "warp", … or one of them with a name after a dot, as "local.vtcm"',
        )


# Iterations may run in another order when each block gives the same result in any order of its iterators, and no block needs what
# another one computes in a different iteration.
def require_order_free(ctx: Context, top: For, moving: Sequence[Var], what: str) -> None:
    """`moving` are the loops, at or below `top`, whose iterations come to run in another order (or at once)."""
    for realize in ctx.index.child_blocks(top):
        require_free_block(realize, moving, what)
    conflict = find_conflict(ctx.index, top, moving)
    if conflict is not None:
        first, second = conflict.first.block.name, conflict.second.block.name
        raise refuse(
            "order-dependent",
            f"cannot {what}: blocks {first!r} and {second!r} pass values of {conflict.buffer.name!r} from one iteration to another",
            conflict.first, conflict.second,
            found="an access that other iterations overwrite or need",
            expected="each iteration reads only what it wrote itself",
        )  # fmt: skip


# A block is free in its order when its spatial iterators write distinct elements, it reads none of its output but the element it
# updates, and what it reduces may be summed up in any order.
def require_free_block(realize: BlockRealize, moving: Sequence[Var], what: str) -> None:
    block = realize.block
    driven = {
        iv.iter_type
        for iv, value in zip(block.iter_vars, realize.iter_values, strict=True)
        if any(uses_var(value, v) for v in moving)
    }
    if driven - {"spatial", "reduce"}:
        raise refuse(
            "opaque-iterator",
            f"cannot {what}: block {block.name!r} has iterators that are neither spatial nor reduced",
            realize,
        )
    if not updates_only_own_element(block):
        raise refuse(
            "order-dependent", f"cannot {what}: block {block.name!r} reads elements of its own output that other iterations write", realize,
            expected="a block whose iterations do not feed each other",
        )  # fmt: skip
    if not writes_distinct(block):
        raise refuse(
            "order-dependent", f"cannot {what}: several iterations of block {block.name!r} write one element, the last one wins", realize,
            expected="spatial iterators that each write elements of their own",
        )  # fmt: skip
    if "reduce" in driven and not is_associative_update(block):
        raise refuse(
            "order-dependent", f"cannot {what}: block {block.name!r} combines values in a way whose order may matter", realize,
            expected="one update `x = op(x, …)` with op a sum, product, min, max, and, or",
        )  # fmt: skip
