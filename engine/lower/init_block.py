"""LowerInitBlock: the init of a reduction becomes a branch in the block's body.

Source: TVM src/s_tir/transform/lower_init_block.cc.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace as replace_fields

from ..ir import Block, Buffer, BufferStore, Expr, IfThenElse, Node, PrimFunc, Stmt, build, map_children, walk_stmts


def lower_init_block(func: PrimFunc) -> PrimFunc:
    """`with T.init(): s` becomes `if <each reduction iterator is at its start>: s` before the rest of the body."""

    def visit(node: Node) -> Node:
        if isinstance(node, Expr | Buffer):
            return node
        node = map_children(node, visit)
        return without_init(node) if isinstance(node, Block) else node

    return cast("PrimFunc", visit(func))


def without_init(block: Block) -> Block:
    """The block with its init as a branch of its body."""
    if block.init is None:
        return block
    starts = [build.eq(iv.var, iv.dom.min) for iv in block.iter_vars if iv.iter_type == "reduce"]
    first: Stmt = IfThenElse(build.logical_and(*starts), block.init) if starts else block.init
    # Buffers that the init sets are no inputs of the block.
    started = {n.buffer for n in walk_stmts(block.init) if isinstance(n, BufferStore)}
    reads = tuple(r for r in block.reads if r.buffer not in started)
    return replace_fields(block, init=None, reads=reads, body=build.seq([first, block.body]))
