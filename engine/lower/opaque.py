"""ConvertBlocksToOpaque: iterators are replaced by their bindings, so that blocks depend on the loops directly.

Source: TVM src/s_tir/transform/convert_blocks_to_opaque.cc.
"""

from __future__ import annotations

from msgspec.structs import replace as replace_fields

from ..ir import BlockRealize, Node, PrimFunc, rewrite, substitute


def convert_blocks_to_opaque(func: PrimFunc) -> PrimFunc:
    """Remove the blocks' iterators: `A[vi]` under `vi = i * 4 + j` becomes `A[i * 4 + j]`. Predicates stay at the realize."""

    def leave(node: Node) -> Node:
        if not isinstance(node, BlockRealize) or not node.iter_values:
            return node
        block = replace_fields(node.block, iter_vars=())
        values = dict(zip((iv.var for iv in node.block.iter_vars), node.iter_values, strict=True))
        return BlockRealize((), node.predicate, substitute(block, values))

    return rewrite(func, leave)
