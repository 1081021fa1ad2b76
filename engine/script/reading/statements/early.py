"""Blocks in TVM's form of 2021: `with tir.block([128, tir.reduce_axis(0, 128)], "Z") as [i, k]:`, values by `tir.bind(i, …)`.

A block without binds uses the loops around it in order; if there are none, it gets new loops `i0`, `i1`, …, as in TVM then.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec

from ....ir import BlockRealize, Expr, For, IterVar, Range, Stmt, Var, build
from ....ir import dtype as dt
from ....ir.expr import IterType
from ..blocks import BlockFrame
from ..expressions import ExpressionReader, difference
from ..intrinsics import parameters

_AXES: dict[str, IterType] = {
    "T.range": "spatial",
    "T.spatial_axis": "spatial",
    "T.reduce_axis": "reduce",
    "T.scan_axis": "scan",
    "T.opaque_axis": "opaque",
}


class EarlyHeader(msgspec.Struct, frozen=True):
    """The arguments of an early block: domains, block name, iterator names."""

    axes: tuple[ast.expr, ...]
    name: ast.expr | None
    targets: tuple[ast.Name, ...]


def early_header(reader: ExpressionReader, node: ast.With) -> EarlyHeader | None:
    """Return the header if it has the 2021 form: with domains or with `as`."""
    item = node.items[0]
    call = item.context_expr
    assert isinstance(call, ast.Call)
    if item.optional_vars is None and not any(isinstance(a, ast.List | ast.Tuple) for a in call.args):
        return None
    axes, name = parameters(reader, call, ("axes", "name"), 0)
    given = item.optional_vars
    targets = () if given is None else tuple(given.elts) if isinstance(given, ast.List | ast.Tuple) else (given,)
    names = tuple(t for t in targets if isinstance(t, ast.Name))
    domains = tuple(reader.sequence(axes)) if axes is not None else ()
    if len(names) != len(targets) or len(names) != len(domains):
        raise reader.error(
            call,
            "wrong-arguments",
            f"{len(domains)} domains for {len(targets)} names",
            expected='with tir.block([128, tir.reduce_axis(0, 128)], "Z") as [i, k]:',
        )
    return EarlyHeader(domains, name, names)


def define_iterators(reader: ExpressionReader, header: EarlyHeader, frame: BlockFrame) -> None:
    """Define the iterators of the header; their values are determined at the end of the block."""
    for node, target in zip(header.axes, header.targets, strict=True):
        domain, kind = _domain(reader, node)
        var = Var(target.id, f"int{max(dt.bits(domain.min.dtype), dt.bits(domain.extent.dtype))}")
        iter_var = IterVar(var, domain, kind)
        reader.define(target.id, var, target)
        reader.positions.add(iter_var, reader.source.place(node))
        frame.iter_vars.append(iter_var)


def _domain(reader: ExpressionReader, node: ast.expr) -> tuple[Range, IterType]:
    kind = _AXES.get(reader.called(node) or "")
    if not isinstance(node, ast.Call) or kind is None:
        extent = reader.index(node)
        return Range(build.const(0, extent.dtype), extent), "spatial"
    begin, end = parameters(reader, node, ("begin", "end"))
    assert begin is not None and end is not None
    start, stop = reader.index(begin), reader.index(end)
    return build.make_range(start, difference(stop, start)), kind


def read_bind(reader: ExpressionReader, call: ast.Call, frame: BlockFrame) -> None:
    """Read `tir.bind(vi, i * 16 + j)`: the value of one iterator."""
    iterator, value = parameters(reader, call, ("iter_var", "value"))
    assert iterator is not None and value is not None
    var = reader.value(iterator)
    if not isinstance(var, Var) or all(v.var is not var for v in frame.iter_vars):
        raise reader.error(
            iterator, "wrong-arguments", "tir.bind needs an iterator of its block", expected="a name after `as`"
        )
    if var in frame.bindings:
        raise reader.error(
            iterator, "wrong-arguments", f"{var.name} is already bound", expected="one tir.bind for each"
        )
    frame.bindings[var] = build.cast(reader.index(value), var.dtype)


def bound_values(
    reader: ExpressionReader, node: ast.With, frame: BlockFrame, loops: Sequence[For]
) -> tuple[list[Expr], list[For]]:
    """Return the values of the iterators, and the new loops that the block needs around it."""
    iterators = frame.iter_vars
    if frame.bindings:
        missing = [v.var.name for v in iterators if v.var not in frame.bindings]
        if missing:
            raise reader.error(
                node.items[0].context_expr,
                "wrong-arguments",
                f"the iterator {missing[0]} has no value",
                expected="tir.bind for all iterators, or for none",
                fix=(f"tir.bind({missing[0]}, …)",),
            )
        return [frame.bindings[v.var] for v in iterators], []
    if not iterators:
        return [], []
    if loops:
        if len(loops) != len(iterators):
            raise reader.error(
                node.items[0].context_expr,
                "wrong-arguments",
                f"{len(iterators)} iterators for {len(loops)} loops",
                expected="tir.bind for each iterator",
            )
        return [build.cast(loop.loop_var, v.var.dtype) for v, loop in zip(iterators, loops, strict=True)], []
    placeholder = build.seq([])
    made = [
        For(Var(f"i{n}", v.var.dtype), v.dom.min, v.dom.extent, "serial", placeholder) for n, v in enumerate(iterators)
    ]
    return [loop.loop_var for loop in made], made


def with_loops(realize: BlockRealize, made: Sequence[For]) -> Stmt:
    """Wrap the block in its new loops."""
    body: Stmt = realize
    for loop in reversed(made):
        body = For(loop.loop_var, loop.min, loop.extent, loop.kind, body)
    return body
