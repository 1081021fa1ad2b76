"""Specialization of a program with symbolic shapes to constant sizes, for cost estimates and runs.

TVM's `PrimFunc.specialize`, by the names of the sizes. Loops and blocks keep their handles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace as replace_fields

from ..arith import simplify
from ..ir import Buffer, Expr, For, Node, PrimFunc, Var, build, free_vars, rewrite, substitute, walk
from ..ir import dtype as dt
from .errors import refuse
from .rewrite_result import RewriteResult
from .simplify import simplify_stmts


def size_variables(func: PrimFunc) -> dict[str, Var]:
    """The integers that the caller of the program chooses, by name: its scalar parameters and the variables in its parameters' shapes."""
    handles = {handle for handle, _ in func.buffer_map}
    scalars = [p for p in func.params if p not in handles and dt.is_int(p.dtype)]
    layouts = [e for b in func.buffers for e in (*b.shape, *b.strides, b.elem_offset) if e is not None]
    shapes = [node for e in layouts for node in walk(e) if isinstance(node, Var)]
    return {v.name: v for v in (*scalars, *shapes)}


def sizes_of_arrays(func: PrimFunc, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The sizes that the arrays' shapes (by parameter) determine; a size is determined if it alone is the extent of an axis."""
    found: dict[str, int] = {}
    for buffer in func.buffers:
        for extent, size in zip(buffer.shape, shapes.get(buffer.name, ()), strict=False):
            if isinstance(extent, Var):
                found.setdefault(extent.name, int(size))
    return found


def missing_sizes(func: PrimFunc) -> tuple[str, ...]:
    """The names of sizes that loops and buffers of the program still depend on."""
    sizes = size_variables(func)
    if not sizes:
        return ()
    used: set[Var] = set()
    for node in walk(func):
        if isinstance(node, For):
            used |= free_vars(node.extent)
        elif isinstance(node, Buffer):
            used |= {v for e in node.shape for v in free_vars(e)}
    return tuple(name for name, var in sizes.items() if var in used)


def with_sizes(func: PrimFunc, sizes: Mapping[str, int]) -> RewriteResult:
    """The program specialized to these sizes and simplified; other sizes stay symbolic.

    Raises LowerError "unknown-size", "bad-size".
    """
    values = size_values(func, sizes)
    if not values:
        return RewriteResult(func, {})
    buffers = {b: _sized(b, values) for b in walk(func) if isinstance(b, Buffer)}
    buffers = {old: new for old, new in buffers.items() if new is not old}

    def enter(node: Node) -> Node | None:
        return buffers.get(node) if isinstance(node, Buffer) else None

    def leave(node: Node) -> Node:
        return values.get(node, node) if isinstance(node, Var) else node

    bound = rewrite(func, leave, enter=enter)
    bound = replace_fields(bound, params=tuple(p for p in func.params if p not in values))
    return RewriteResult(simplify_stmts(bound), buffers)


def size_values(func: PrimFunc, sizes: Mapping[str, int]) -> dict[Var, Expr]:
    """The values by variable. Raises the same errors as `with_sizes`."""
    known = size_variables(func)
    values: dict[Var, Expr] = {}
    for name, size in sizes.items():
        if name not in known:
            raise refuse("unknown-size", f"the program has no size {name}", found=name,
                         expected=", ".join(known) or "none: all its sizes are numbers")  # fmt: skip
        values[known[name]] = _value(known[name], size)
    return values


def _value(var: Var, size: int) -> Expr:
    if isinstance(size, bool) or not 0 < size < 2 ** (dt.bits(var.dtype) - 1):
        raise refuse("bad-size", f"{var.name} = {size} is not a valid size", found=repr(size),
                     expected=f"a positive integer within {var.dtype}")  # fmt: skip
    return build.const(size, var.dtype)


def _sized(buffer: Buffer, values: Mapping[Var, Expr]) -> Buffer:
    new = substitute(buffer, values)
    if new is buffer:
        return buffer
    return replace_fields(new, shape=tuple(map(simplify, new.shape)), strides=tuple(map(simplify, new.strides)))
