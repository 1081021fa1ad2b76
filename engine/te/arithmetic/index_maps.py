"""TVM's index maps as objects of a text: `IndexMap.from_func(f)`, and their methods, which map indices and shapes."""

from __future__ import annotations

import ast
import re

from msgspec.structs import replace as replace_fields

from ...arith import map_shape, simplify
from ...arith.iter_map import inverse
from ...ir import AXIS_SEPARATOR, BinaryOp, Expr, IndexMap, Node, Range, Var, build, rewrite
from ...script.reading.intrinsics import parameters
from ...script.subset.scope import Foreign, Value
from ...script.subset.values import Function, several
from ..reader import TEReader
from ..stages import SEPARATOR

_MAKERS = re.compile(r"^(?:tvm\.)?(?:ir\.|tir\.|s_tir\.|tirx\.)(?:\w+\.)?IndexMap(\.from_func(?:_with_separators)?)?$")


class MapObject(Foreign):
    """An index map, and its inverse if the text gives one."""

    __slots__ = ("back", "map")

    def __init__(self, index_map: IndexMap, back: MapObject | None = None) -> None:
        self.map = index_map
        self.back = back


def map_maker(name: str, reader: TEReader, node: ast.Call) -> MapObject | None:
    """Return the map that a call makes; None for other calls."""
    found = _MAKERS.match(name)
    if found is None:
        return None
    return _written(reader, node) if found[1] is None else _of_function(reader, node)


def _of_function(reader: TEReader, node: ast.Call) -> MapObject:
    """Read `IndexMap.from_func(f, index_dtype="int64")`."""
    names = ("mapping_function", "ndim", "inverse_index_map")
    dtype = next((reader.dtype(k.value) for k in node.keywords if k.arg == "index_dtype"), "int64")
    plain = ast.copy_location(
        ast.Call(node.func, node.args, [k for k in node.keywords if k.arg != "index_dtype"]), node
    )
    function, ndim, back = parameters(reader, plain, names, 1)
    made = None if function is None else reader.python.known(function)
    if not isinstance(made, Function) or (ndim is not None and reader.value(ndim) is not None):
        raise reader.error(
            node, "unsupported", "an index map is made of a function of the text", expected="a lambda or a def"
        )
    given = made.node.args
    if given.vararg is not None or given.kwonlyargs:
        raise reader.error(node, "unsupported", "this function has no fixed number of axes", expected="lambda i, j: …")
    params = tuple(Var(a.arg, dtype) for a in given.args)
    items = several(reader.call(made, params, node))
    return MapObject(_map(reader, params, items, node), _inverse_given(reader, back))


def _written(reader: TEReader, node: ast.Call) -> MapObject:
    """Read `IndexMap(initial_indices, final_indices, inverse_index_map)`."""
    initial, final, back = parameters(reader, node, ("initial_indices", "final_indices", "inverse_index_map"), 2)
    assert initial is not None and final is not None
    params = several(reader.python.known(initial))
    if not all(isinstance(param, Var) for param in params):
        raise reader.error(initial, "wrong-type", "the initial indices must be variables", expected="[i, j]")
    variables = tuple(param for param in params if isinstance(param, Var))
    return MapObject(_map(reader, variables, several(reader.python.known(final)), node), _inverse_given(reader, back))


def _map(reader: TEReader, params: tuple[Var, ...], items: tuple[Value, ...], node: ast.AST) -> IndexMap:
    return IndexMap.from_items(
        params, [AXIS_SEPARATOR if item is SEPARATOR else reader.as_expr(item, node) for item in items]
    )


def _inverse_given(reader: TEReader, node: ast.expr | None) -> MapObject | None:
    found = None if node is None else reader.value(node)
    if node is None or found is None:
        return None
    if not isinstance(found, MapObject):
        raise reader.error(node, "unsupported", "the inverse must be an index map", expected="IndexMap.from_func(…)")
    return found


def map_call(reader: TEReader, owner: MapObject, name: str, node: ast.Call) -> Value:
    """Read a method of an index map. Raises "unsupported" for others."""
    names = {"map_indices": "indices", "map_shape": "shape", "inverse": "shape"}
    if name not in names:
        raise reader.error(
            node.func, "unsupported", f".{name}() of an index map is not read", expected=", ".join(names)
        )
    (given,) = parameters(reader, node, (names[name],))
    assert given is not None
    sizes = tuple(reader.as_expr(item, given) for item in several(reader.python.known(given)))
    if len(sizes) != len(owner.map.params):
        raise reader.error(
            given, "wrong-arguments", f"the index map has {len(owner.map.params)} axes, not {len(sizes)}",
            expected="an index or size for each axis",
        )  # fmt: skip
    if name == "inverse":
        return owner.back or _inverted(reader, owner, sizes, node)
    if name == "map_shape":
        return [*map_shape(owner.map.with_dtype(sizes[0].dtype) if sizes else owner.map, sizes)]
    return _mapped(owner.map, sizes)


def _mapped(index_map: IndexMap, indices: tuple[Expr, ...]) -> list[Value]:
    """Return the map's indices at given ones. Operands of two types get the wider one, as in TVM."""
    values = dict(zip(index_map.params, indices, strict=True))

    def leave(node: Node) -> Node:
        if isinstance(node, Var):
            return values.get(node, node)
        if isinstance(node, BinaryOp) and node.a.dtype != node.b.dtype:
            return replace_fields(node, a=build.cast(node.a, "int64"), b=build.cast(node.b, "int64"))
        return node

    return [simplify(rewrite(index, leave)) for index in index_map.indices]


def _inverted(reader: TEReader, owner: MapObject, shape: tuple[Expr, ...], node: ast.Call) -> MapObject:
    zero = (build.const(0, extent.dtype) for extent in shape)
    found = inverse(owner.map, [Range(low, extent) for low, extent in zip(zero, shape, strict=True)])
    if found is None:
        raise reader.error(
            node, "not-bijective", "this index map has no inverse on the shape", expected="a bijective map"
        )
    return MapObject(found, owner)


def map_attribute(owner: MapObject, name: str) -> Value:
    """Return an attribute of an index map; None if it has none of the name."""
    match name:
        case "initial_indices":
            return [*owner.map.params]
        case "final_indices" if not owner.map.separators:
            return [*owner.map.indices]
        case "inverse_index_map":
            return owner.back
        case _:
            return None


__all__ = ["MapObject", "map_attribute", "map_call", "map_maker"]
