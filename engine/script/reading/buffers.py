"""Buffer declarations: T.Buffer, T.match_buffer, T.alloc_buffer, T.sblock_alloc_buffer, T.allocate."""

from __future__ import annotations

import ast

import msgspec

from ...ir import Buffer, Expr, Var, build, offset_dtype
from ...ir import dtype as dt
from ..subset.scope import Value
from ..syntax import find_tree
from .expressions import ExpressionReader
from .intrinsics import unstarred

_POSITIONAL = ("shape", "dtype", "data", "strides", "elem_offset")
_KEYWORDS = (
    *_POSITIONAL,
    "byte_offset",
    "scope",
    "align",
    "offset_factor",
    "buffer_type",
    "axis_separators",
    "layout",
    "annotations",
)
_MATCH_CHARACTERS = 100


class Declaration(msgspec.Struct, frozen=True):
    """The arguments of a buffer declaration, by name."""

    node: ast.AST
    arguments: dict[str, ast.expr]


def declaration(reader: ExpressionReader, node: ast.Call, skip: int = 0) -> Declaration:
    """Return the arguments of `T.Buffer(…)` and similar calls; the first `skip` positional arguments are ignored."""
    positional = node.args[skip:]
    if len(positional) > len(_POSITIONAL):
        raise reader.error(
            node,
            "wrong-arguments",
            "use keyword arguments after the offset",
            expected='(shape, dtype, scope="…", strides=(…))',
        )
    found: dict[str, ast.expr] = dict(zip(_POSITIONAL, positional, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in _KEYWORDS or keyword.arg in found:
            raise reader.error(
                keyword.value,
                "wrong-arguments",
                f"a buffer has no argument {keyword.arg}",
                expected=", ".join(_KEYWORDS),
            )
        found[keyword.arg] = keyword.value
    return Declaration(node, {name: value for name, value in found.items() if name == "layout" or not _is_none(value)})


def subscript_declaration(node: ast.Subscript) -> Declaration:
    """Return the arguments of the old form `T.Buffer[(128, 64), "float32"]`."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(items) == 2 and isinstance(items[1], ast.Constant) and isinstance(items[1].value, str):
        return Declaration(node, {"shape": items[0], "dtype": items[1]})
    return Declaration(node, {"shape": node.slice})


def allocate_declaration(reader: ExpressionReader, node: ast.Call) -> Declaration:
    """Return the arguments of `T.allocate([64], "float32", "local")`."""
    names = ("shape", "dtype", "scope", "condition")
    found = dict(zip(names, node.args, strict=False))
    found |= {"shape" if k.arg == "extents" else str(k.arg): k.value for k in node.keywords}
    unknown = next((value for name, value in found.items() if name not in (*names, *_KEYWORDS)), None)
    if unknown is not None or "shape" not in found or len(node.args) > len(names):
        raise reader.error(
            unknown or node,
            "wrong-arguments",
            "T.allocate needs extents, dtype and scope",
            expected='T.allocate([64], "float32", "local")',
        )
    found.pop("condition", None)
    return Declaration(node, found)


def read_buffer(
    reader: ExpressionReader,
    name: str,
    declared: Declaration,
    match: dict[str, str] | None = None,
    *,
    scope: str = "global",
) -> Buffer:
    """Build the buffer; `scope` is the default scope.

    With `match` (types of size variables by name), quoted sizes such as `("n", 16)` define the variables in them.
    """
    arguments = declared.arguments
    for banned in ("data", "byte_offset"):
        if banned in arguments:
            raise reader.error(
                arguments[banned],
                "unsupported",
                f"{banned}=: a buffer over other memory is not part of the subset",
                expected="a separate buffer",
            )
    layouts = ("default",) if reader.has_layouts else ("default", None)
    for option, usual in ("buffer_type", ("", "default")), ("layout", layouts):
        if option in arguments and reader.value(arguments[option]) not in usual:
            raise reader.error(
                arguments[option], "unsupported", f"this {option} is not part of the subset", expected="the default"
            )
    if "shape" not in arguments:
        raise reader.error(declared.node, "wrong-arguments", "the shape is missing", expected='(shape, "dtype")')
    shape = _sizes(reader, arguments["shape"], match)
    if any((build.int_value(extent) or 0) < 0 for extent in shape):
        raise reader.error(arguments["shape"], "out-of-range", "a size of a buffer is negative", expected="(128, 64)")
    strides = _sizes(reader, arguments["strides"], match if match is not None else {}) if "strides" in arguments else ()
    if strides and len(strides) != len(shape):
        raise reader.error(
            arguments["strides"],
            "wrong-arguments",
            f"{len(strides)} strides for {len(shape)} axes",
            expected="one stride per axis",
        )
    factor = reader.constant_int(arguments["offset_factor"]) if "offset_factor" in arguments else 0
    buffer = Buffer(
        name,
        shape,
        reader.dtype(arguments["dtype"]) if "dtype" in arguments else "float32",
        reader.string(arguments["scope"]) if "scope" in arguments else scope,
        strides,
        _separators(reader, arguments.get("axis_separators"), len(shape)),
        _offset(reader, name, arguments.get("elem_offset"), factor, shape),
        _alignment(reader, arguments.get("align")),
        factor or 1,
    )
    reader.positions.add(buffer, reader.source.place(declared.node))
    return buffer


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _sizes(reader: ExpressionReader, node: ast.expr, match: dict[str, str] | None) -> tuple[Expr, ...]:
    is_made = isinstance(node, ast.Call) and reader.called(node) is None  # by a function of the text: `swapped(n, k)`
    known = reader.value(node) if is_made or isinstance(node, ast.Name | ast.Attribute) else None
    if isinstance(known, tuple | list):  # a module-level `shape = (128, 64)`, or `X.shape`
        return tuple(_integer(reader, item, node) for item in known)
    if is_made:
        return (_integer(reader, known, node),)
    found: list[Expr] = []
    for item in unstarred(reader, reader.sequence(node)):
        quoted = isinstance(item, ast.Constant) and isinstance(item.value, str)
        found.append(_quoted(reader, item, match) if quoted and match is not None else reader.index(item))
    return tuple(found)


def _integer(reader: ExpressionReader, value: Value, node: ast.expr) -> Expr:
    expr = reader.as_expr(value, node)
    if not dt.is_int(expr.dtype):
        raise reader.error(node, "wrong-type", "sizes must be integers", expected="(128, 64)")
    return expr


def _quoted(reader: ExpressionReader, node: ast.expr, match: dict[str, str]) -> Expr:
    """Read a quoted size: undefined names in it become new variables, and an empty string is a new variable."""
    text = reader.string(node)
    if not text:
        return Var("s", "int32")
    found = find_tree(text.strip()) if len(text) <= _MATCH_CHARACTERS else None
    stated = found.body[0] if found is not None and len(found.body) == 1 else None
    tree = stated.value if isinstance(stated, ast.Expr) else None
    if tree is None:
        raise reader.error(node, "wrong-type", "this size is not an expression", expected='"n" or "n * 2"')
    for part in ast.walk(tree):
        ast.copy_location(part, node)
        if isinstance(part, ast.Name) and part.id not in reader.scope and part.id not in reader.namespaces:
            reader.define(part.id, Var(part.id, match.get(part.id, "int32")), part)
    return reader.index(tree)


def _separators(reader: ExpressionReader, node: ast.expr | None, ndim: int) -> tuple[int, ...]:
    if node is None:
        return ()
    found = tuple(reader.constant_int(item) for item in reader.sequence(node))
    if any(not 0 < s < ndim for s in found) or list(found) != sorted(set(found)):
        raise reader.error(
            node,
            "out-of-range",
            "axis separators must be increasing positions between axes",
            expected=f"numbers from 1 to {ndim - 1}, increasing",
        )
    return found


def _offset(
    reader: ExpressionReader, name: str, node: ast.expr | None, factor: int, shape: tuple[Expr, ...]
) -> Expr | None:
    """Read the offset; a factor without an offset means an unknown offset, as in TVM. The usual zero has the type of the first size."""
    dtype = offset_dtype(shape)
    if node is not None:
        value = reader.value(node)
        offset = Var(value, "int32") if isinstance(value, str) else reader.index(node)
        return None if build.is_const(offset, 0) and offset.dtype == dtype and shape else offset
    return Var(f"{name}_elem_offset", dtype) if factor else None


def _alignment(reader: ExpressionReader, node: ast.expr | None) -> int:
    value = reader.constant_int(node) if node is not None else 0
    return value if value > 0 else 64
