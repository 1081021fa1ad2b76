"""Blocks under construction: the state that T.axis, T.where, T.reads, T.writes and similar calls set."""

from __future__ import annotations

import ast

from ...analysis import accessed_regions
from ...ir import (
    Annotation,
    AnnotationMap,
    Annotations,
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    Expr,
    FloatImm,
    For,
    IntImm,
    IterVar,
    MatchBufferRegion,
    Range,
    Stmt,
    StringImm,
    Var,
    Verbatim,
    build,
)
from ...ir import dtype as dt
from ...ir.expr import IterType
from ..subset.scope import Value
from .expressions import ExpressionReader, difference
from .intrinsics import INTRINSICS, parameters, unstarred

_ITER_TYPES: dict[str, IterType] = {
    "T.axis.spatial": "spatial",
    "T.axis.S": "spatial",
    "T.axis.reduce": "reduce",
    "T.axis.R": "reduce",
    "T.axis.scan": "scan",
    "T.axis.opaque": "opaque",
}
_REMAP: dict[str, IterType] = {"S": "spatial", "R": "reduce"}


class BlockFrame:
    """One block, or the function around the blocks, under construction."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.iter_vars: list[IterVar] = []
        self.iter_values: list[Expr] = []
        self.bindings: dict[Var, Expr] = {}  # from `tir.bind`, the 2021 form
        self.predicate: list[Expr] = []
        self.reads: tuple[BufferRegion, ...] | None = None
        self.writes: tuple[BufferRegion, ...] | None = None
        self.annotations: Annotations = ()
        self.alloc_buffers: list[Buffer] = []
        self.match_buffers: list[MatchBufferRegion] = []
        self.init: Stmt | None = None

    @property
    def is_function(self) -> bool:
        return self.name is None

    def realize(self, body: Stmt, *, is_root: bool) -> BlockRealize:
        """Return the finished block; omitted regions are derived from its body, except for the root."""
        block = Block(
            self.name or "",
            tuple(self.iter_vars),
            self.reads or (),
            self.writes or (),
            body,
            self.init,
            tuple(self.alloc_buffers),
            tuple(self.match_buffers),
            self.annotations,
        )
        if not is_root and (self.reads is None or self.writes is None):
            reads, writes = accessed_regions(block)
            reads = self.reads if self.reads is not None else reads
            writes = self.writes if self.writes is not None else writes
            block = Block(block.name, block.iter_vars, reads, writes, body, *_tail(block))
        return BlockRealize(tuple(self.iter_values), build.logical_and(*self.predicate), block)


def _tail(block: Block) -> tuple[Stmt | None, tuple[Buffer, ...], tuple[MatchBufferRegion, ...], Annotations]:
    return block.init, block.alloc_buffers, block.match_buffers, block.annotations


def unique_name(name: str, used: dict[str, int]) -> str:
    """Return `name`, or `name_1`, …; block names are handles, so they are unique in a function.

    `used` maps the used names to their last suffix number. Blocks without a name stay without one.
    """
    candidate = name
    while name and candidate in used:
        used[name] += 1
        candidate = f"{name}_{used[name]}"
    used[candidate] = 0
    return candidate


def is_axis(name: str | None) -> bool:
    return name is not None and (name in _ITER_TYPES or name == "T.axis.remap")


def read_axis(
    reader: ExpressionReader,
    node: ast.Call,
    target: ast.expr,
    frame: BlockFrame,
    loops: dict[Var, For],
) -> None:
    """Read `vi = T.axis.spatial(128, i)` or `vi, vk = T.axis.remap("SR", [i, k])`, also `vi, *vs = …`. `loops` gives the domains for
    remap."""
    function = reader.called(node)
    if function == "T.axis.remap":
        found = _remap(reader, node, loops)
    else:
        dom, binding, dtype = parameters(reader, node, ("dom", "binding", "dtype"), 2)
        assert dom is not None and binding is not None
        base = reader.dtype(dtype) if dtype is not None else "int32"
        found: list[Iterator] = [(_domain(reader, dom), reader.index(binding), _ITER_TYPES[function or ""], base)]
    names = _names(reader, target, len(found))
    if len(found) != len(names):
        raise reader.error(
            node, "wrong-arguments", f"{len(found)} iterators for {len(names)} names", expected="one name per iterator"
        )
    several: dict[str, tuple[Value, ...]] = {}  # the variables that `*vs` has
    for (name, part), (domain, value, kind, base) in zip(names, found, strict=True):
        bits = max(dt.bits(base), dt.bits(domain.min.dtype), dt.bits(domain.extent.dtype))
        var = Var(name, f"int{bits}")
        iter_var = IterVar(var, domain, kind)
        if name == part.id:
            reader.define(name, var, part)
        else:
            several[part.id] = (*several.get(part.id, ()), var)
        reader.positions.add(iter_var, reader.source.place(node))
        frame.iter_vars.append(iter_var)
        frame.iter_values.append(value)
    for name, made in several.items():
        reader.scope.define(name, made)


def _names(reader: ExpressionReader, target: ast.expr, count: int) -> list[tuple[str, ast.Name]]:
    """Return the name of each of `count` iterators with its target; those of `*vs` are vs_0, vs_1, …, as in TVM."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    found: list[tuple[str, ast.Name]] = []
    for part in parts:
        match part:
            case ast.Name(id=name):
                found.append((name, part))
            case ast.Starred(value=ast.Name(id=name) as rest):
                found += [(f"{name}_{n}", rest) for n in range(count - len(parts) + 1)]
            case _:
                raise reader.error(
                    target,
                    "unsupported",
                    "only names and buffer elements can be assigned",
                    expected="name = … or A[i, j] = …",
                )
    return found


Iterator = tuple[Range, Expr, IterType, str]


def _remap(reader: ExpressionReader, node: ast.Call, loops: dict[Var, For]) -> list[Iterator]:
    kinds_node, bindings, dtype = parameters(reader, node, ("kinds", "bindings", "dtype"), 2)
    assert kinds_node is not None and bindings is not None
    kinds, base = reader.string(kinds_node), reader.dtype(dtype) if dtype is not None else "int32"
    items = [(item, value) for item in reader.sequence(bindings) for value in _bindings(reader, item)]
    if len(kinds) != len(items) or any(k not in _REMAP for k in kinds):
        raise reader.error(
            kinds_node,
            "wrong-arguments",
            f"{kinds!r} does not match {len(items)} bindings",
            expected="one S or R for each",
        )
    found: list[Iterator] = []
    for kind, (item, var) in zip(kinds, items, strict=True):
        loop = loops.get(var) if isinstance(var, Var) else None
        if loop is None or not isinstance(var, Var):
            raise reader.error(
                item,
                "wrong-arguments",
                "T.axis.remap needs loop variables",
                expected="a loop variable",
                fix=("T.axis.spatial(extent, expression)",),
            )
        found.append(
            (
                Range(loop.min, loop.extent),
                var,
                _REMAP[kind],
                base if dt.bits(base) >= dt.bits(var.dtype) else var.dtype,
            )
        )
    return found


def _bindings(reader: ExpressionReader, node: ast.expr) -> tuple[Value, ...]:
    """Return the values of an item of T.remap's bindings; the name of several loops has several."""
    value = reader.value(node.value if isinstance(node, ast.Starred) else node)
    return value if isinstance(value, tuple) else (value,)


def _domain(reader: ExpressionReader, node: ast.expr) -> Range:
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == 2:
        start, stop = map(reader.index, node.elts)
        return build.make_range(start, difference(stop, start))
    extent = reader.index(node)
    return Range(build.const(0, extent.dtype), extent)


def read_regions(reader: ExpressionReader, node: ast.Call) -> tuple[BufferRegion, ...]:
    """Read the arguments of T.reads and T.writes; lists of regions are allowed."""
    if node.keywords:
        raise reader.error(
            node, "wrong-arguments", "T.reads and T.writes have no keyword arguments", expected="T.reads(A[i, 0:4], …)"
        )
    items: list[ast.expr] = [item for argument in unstarred(reader, node.args) for item in reader.sequence(argument)]
    return tuple(reader.region(item) for item in items)


def read_annotations(reader: ExpressionReader, node: ast.expr) -> Annotations:
    """Read `{"key": value}` with numbers, strings, truth values, expressions, and lists and dicts of them."""
    if not isinstance(node, ast.Dict):
        raise reader.error(node, "wrong-type", "annotations must be a dict", expected='{"key": value}')
    found: list[tuple[str, Annotation]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise reader.error(value, "unsupported", "** is not supported", expected='"key": value')
        found.append((reader.string(key), _attribute(reader, value)))
    return tuple(found)


def _is_read(reader: ExpressionReader, node: ast.expr) -> bool:
    """Whether the meaning of the node is known, if it is a call."""
    name = reader.called(node)
    return name is None or name.removeprefix("T.") in INTRINSICS


def _is_boxed(value: Value) -> bool:
    """Whether a constant of T has the type of another Python constant, which TVM keeps apart: `T.float64(1.5)` and 1.5."""
    match value:
        case FloatImm(dtype="float64"):
            return True
        case IntImm(value=number, dtype="int64"):
            return not build.fits(number, "int32")
        case _:
            return False


def _attribute(reader: ExpressionReader, node: ast.expr) -> Annotation:
    """Read an annotation's value. A Python float becomes float64, to distinguish it from T.float32(…)."""
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_attribute(reader, item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return AnnotationMap(read_annotations(reader, node))
    if isinstance(node, ast.Constant) and node.value is None:
        return Verbatim("None")
    carried = None if _is_read(reader, node) else reader.carried(node)
    if carried is not None:
        return carried
    value = reader.value(node)
    if isinstance(value, Buffer):
        return value
    if isinstance(node, ast.Call) and _is_boxed(value):
        return Verbatim(ast.unparse(node))
    if isinstance(value, float):
        return build.const(value, "float64")
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, bool | int) or (isinstance(value, Expr) and not (isinstance(value, Var) and not value.name)):
        return reader.as_expr(value, node)
    raise reader.error(
        node,
        "unsupported",
        "annotations support numbers, strings, expressions, and lists and dicts of them",
        expected="a value",
    )
