"""Expression reader: Python's operators and T's functions, with TVM's result types."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from ...arith import simplify
from ...ir import (
    Add,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    Expr,
    IntImm,
    Node,
    Ramp,
    Range,
    build,
    offset_dtype,
    structural_equal,
)
from ...ir import dtype as dt
from ..errors import ParseError, UnknownValueError, undefined_error
from ..subset import constants
from ..subset.bindings import root_name
from ..subset.builtins import BUILTINS
from ..subset.core import Evaluator
from ..subset.scope import Foreign, Value
from ..subset.values import ReadItem, frozen
from . import operators
from .intrinsics import INTRINSICS, is_lanes, other_intrinsic, parameters, similar_intrinsics
from .reader import Reader
from .source import PositionTable, Source


class ExpressionReader(Reader):
    """Reads the expressions of TVMScript."""

    def __init__(self, source: Source, positions: PositionTable) -> None:
        super().__init__(source, positions)
        self.has_layouts = False  # whether buffers have a layout, in TVM's lowered functions
        self.macros = 0  # levels of macros around the statement that is read
        self.scalars: set[Buffer] = set()  # mutable local scalars: a bare name denotes the value
        self.around: Evaluator | None = None  # of the text around the program, for its functions and objects

    # --- evaluation

    def value(self, node: ast.expr) -> Value:
        """Return the value of `node`: a piece of IR, or a constant. Raises ParseError outside the subset."""
        try:
            match node:
                case ast.Constant():
                    return self._constant(node)
                case ReadItem():
                    return node.item
                case ast.Name():
                    value = self._name(node)
                case ast.BinOp():
                    value = operators.binary(self, node)
                case ast.Call():
                    value = self._call(node)
                case ast.Subscript():
                    value = self._subscript(node)
                case _:
                    value = self._rare(node)
        except (build.DTypeError, ZeroDivisionError) as error:
            raise self.source.refused(node, error) from error
        if isinstance(value, Node):
            self.positions.add(value, self.source.place(node))
        return value

    def _rare(self, node: ast.expr) -> Value:
        match node:
            case ast.Compare():
                return operators.compare(self, node)
            case ast.BoolOp():
                return operators.bool_op(self, node)
            case ast.UnaryOp():
                return operators.unary(self, node)
            case ast.Tuple() | ast.List():
                return self._items(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.IfExp():
                return self._conditional(node)
            case _ if self.around is not None:
                return self._by_python(node)
            case _:
                kind = type(node).__name__
                raise self.error(
                    node,
                    "unsupported",
                    f"{kind} expressions are not part of TVMScript's subset here",
                    expected="arithmetic, buffer loads, T.… calls",
                )

    def _items(self, node: ast.Tuple | ast.List) -> Value:
        found: list[Value] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                many = self.require_known(self.value(item.value), item)
                if not isinstance(many, tuple | list):
                    raise self.error(item, "wrong-type", "only a list can be unpacked", expected="a list or a tuple")
                found.extend(many)
            else:
                found.append(self.value(item))
        return tuple(found)

    def _constant(self, node: ast.Constant) -> Value:
        value = node.value
        if value is None or isinstance(value, bool | float | str):
            return value
        if isinstance(value, int):
            if abs(value) <= constants.LIMIT:
                return value
            raise self.error(node, "out-of-range", "the number is too large", expected="a number of at most 64 bits")
        raise self.error(
            node,
            "unsupported",
            f"{type(value).__name__} constants are not supported",
            expected="a number or a string",
        )

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.scope:
            value = self.scope[node.id]
            self.require_known(value, node)
            return BufferLoad(value, ()) if isinstance(value, Buffer) and value in self.scalars else value
        similar = self.scope.similar(node.id)
        error = self.error(
            node,
            "unknown-name",
            f"the name {node.id} is not defined here",
            expected="a parameter, a buffer, a loop variable, a block iterator, or a constant defined above",
            fix=tuple(similar),
        )
        raise undefined_error(error, node.id, similar)

    def _attribute(self, node: ast.Attribute) -> Value:
        name = self.script_name(node)
        if name is None:
            owner = self.value(node.value)
            found = self.attribute_of(owner, node.attr)
            if found is not None:
                return found
            if self.around is not None and isinstance(owner, Foreign):
                return self._by_python(node)
        raise self.error(node, "unsupported", "this attribute has no value here", expected="an expression")

    def attribute_of(self, owner: Value, name: str) -> Value:
        """Return a buffer's or expression's attribute; None if it has none of this name."""
        if isinstance(owner, Buffer) and name in _BUFFER_PARTS:
            return _BUFFER_PARTS[name](owner)
        return owner.dtype if isinstance(owner, Buffer | Expr) and name == "dtype" else None

    def _conditional(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        if isinstance(test, Expr):
            raise self.error(
                node,
                "unsupported",
                "conditional expressions are not supported in programs",
                fix=("T.if_then_else(condition, a, b)", "T.Select(condition, a, b)"),
            )
        return self.value(node.body if test else node.orelse)

    def intrinsic(self, node: ast.Call) -> Value:
        """Return the result of a function of TVMScript."""
        return self._call(node)

    def _call(self, node: ast.Call) -> Value:
        name = self.called(node)
        if name is None:
            return self._method(node)
        intrinsic = INTRINSICS.get(name.removeprefix("T.")) or other_intrinsic(name)
        if intrinsic is not None:
            return intrinsic(self, node)
        raise self.error(
            node.func,
            "unsupported",
            f"{name} is not a supported function",
            expected="an intrinsic of TVMScript",
            fix=similar_intrinsics(name),
        )

    def _method(self, node: ast.Call) -> Value:
        """Read `x.astype("float32")`, `A.access_ptr("r")` or another method of a value."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return self.method_of(self.value(node.func.value), node.func.attr, node)
        of_module = self.module_call(node)
        if of_module is not None:
            return of_module
        root = root_name(node.func)
        if self.around is not None and root is not None and (root.id in self.scope or root.id in BUILTINS):
            return self._by_python(node)
        raise self._no_function(node)

    def _by_python(self, node: ast.expr) -> Value:
        """Return the value of an expression of Python, such as a call of a function of the text."""
        assert self.around is not None
        scope = self.scope
        try:
            with self.around.inside(scope):
                return frozen(self.require_known(self.around.value(node), node))
        finally:
            self.scope = scope

    def method_of(self, owner: Value, method: str, node: ast.Call) -> Value:
        """Return the result of a method of a value."""
        if method == "access_ptr":
            return self._access_ptr(node, owner)
        if method == "vload":
            return self._vector_load(node, owner)
        if method == "astype" and len(node.args) == 1 and not node.keywords:
            return build.cast(self.as_expr(owner, node), self.dtype(node.args[0]))
        raise self._no_function(node)

    def _no_function(self, node: ast.Call) -> ParseError:
        fix = (f"T.{node.func.id}(…)",) if isinstance(node.func, ast.Name) and node.func.id in INTRINSICS else ()
        return self.error(
            node.func, "unsupported", "only TVMScript's own functions can be called", expected="T.…", fix=fix
        )

    def _access_ptr(self, node: ast.Call, owner: Value) -> Value:
        """Read TVM's pointer to a buffer, for reading ("r"), writing ("w") or both; TVM prints it without the type of the pointer."""
        names = ("access_mask", "ptr_type", "content_lanes", "offset", "extent")
        access, _, lanes, offset_node, extent_node = parameters(self, node, names, 1)
        mask = None if access is None else self.value(access)
        bits = {"r": 1, "w": 2, "rw": 3, "wr": 3}.get(mask) if isinstance(mask, str) else None
        if not isinstance(owner, Buffer) or bits is None or (lanes is not None and self.value(lanes) != 1):
            raise self.error(
                node, "wrong-arguments", "this is not an access to a buffer", expected='A.access_ptr("rw")'
            )
        size: Expr = build.const(1, "int32")
        for extent in owner.shape:
            size = build.mul(size, extent)
        if owner.strides:
            size = build.mul(owner.strides[0], owner.shape[0])
        kind, begin = Call("type_annotation", (), owner.dtype), _elem_offset(owner)
        if offset_node is not None:
            offset = self.index(offset_node)
            begin, size = build.add(begin, offset), build.sub(size, offset)
        if extent_node is not None:
            size = self.index(extent_node)
        return Call("tvm_access_ptr", (kind, BufferData(owner), begin, size, IntImm(bits, "int32")), "handle")

    def _vector_load(self, node: ast.Call, owner: Value) -> Value:
        """Read `A.vload([i, j], "float32x4")`: a vector of that many elements from the given index."""
        begin, dtype_node = parameters(self, node, ("begin", "dtype"))
        assert begin is not None and dtype_node is not None
        dtype = self.dtype(dtype_node)
        if not isinstance(owner, Buffer) or dt.element(dtype) != owner.dtype or "vscale" in dtype:
            raise self.error(
                node, "wrong-arguments", "this is not a load of a vector", expected='A.vload([i], "float32x4")'
            )
        indices = tuple(map(self.index, self.sequence(begin)))
        self.require_rank(node, owner, len(indices))
        if indices and dt.is_vector(dtype):
            last = indices[-1]
            indices = (*indices[:-1], Ramp(last, build.const(1, last.dtype), IntImm(dt.lanes(dtype))))
        return BufferLoad(owner, indices)

    def _subscript(self, node: ast.Subscript) -> Value:
        scalar = self._scalar_element(node)
        if scalar is not None:
            return scalar
        owner = self.owner(node.value)
        if isinstance(owner, dict | list) and self.around is not None:
            return self._by_python(node)
        if isinstance(owner, tuple):
            position = self.constant_int(node.slice)
            if not -len(owner) <= position < len(owner):
                raise self.error(node, "out-of-range", f"there are {len(owner)} items")
            return owner[position]
        if not isinstance(owner, Buffer):
            raise self.error(node, "wrong-type", "only buffers can be indexed", expected="a buffer before the brackets")
        return self.element(owner, node)

    def _scalar_element(self, node: ast.Subscript) -> BufferLoad | None:
        """Return `x` for `x.source[0]`, TVM's name for the only element of the mutable scalar `x`; None for others."""
        match node:
            case ast.Subscript(
                value=ast.Attribute(attr="source", value=ast.Name(id=name)),
                slice=ast.Constant(value=0)
                | ast.Slice(lower=ast.Constant(value=0), upper=ast.Constant(value=1), step=None),
            ):
                scalar = self.scope.get(name)
                return BufferLoad(scalar, ()) if isinstance(scalar, Buffer) and scalar in self.scalars else None
            case _:
                return None

    def owner(self, node: ast.expr) -> Value:
        """Return what an expression before brackets denotes; an undefined name there is no size that can be given."""
        try:
            return self.value(node)
        except UnknownValueError as error:
            is_undefined = isinstance(node, ast.Name) and node.id not in self.scope
            raise (ParseError(error.refusal) if is_undefined else error) from None

    def element(self, owner: Buffer, node: ast.Subscript) -> Value:
        """Read an element or a region of a buffer."""
        items = self.sequence(node.slice)
        self.positions.add(owner, self.source.place(node.value))
        if any(isinstance(item, ast.Slice) and item.step is None for item in items):
            return self._region(node, owner, items)
        return BufferLoad(owner, self.indices(node, owner))

    def indices(self, node: ast.Subscript, buffer: Buffer) -> tuple[Expr, ...]:
        """Return the indices of one element, or of several if the last index is a ramp or a slice. Raises "wrong-arguments" if their number
        does not match the buffer."""
        found: list[Expr] = []
        items = self.sequence(node.slice)
        if isinstance(node.slice, ast.Name) and isinstance(self.scope.get(node.slice.id), tuple):
            items = [ast.copy_location(ast.Starred(node.slice, ast.Load()), node.slice)]
        elif isinstance(node.slice, ast.BinOp) and self.around is not None and self._joins(node.slice):
            joined = self._by_python(node.slice)
            many = joined if isinstance(joined, tuple) else (joined,)
            items = [ast.copy_location(ReadItem(item), node.slice) for item in many]
        if not any(isinstance(item, ast.Starred) for item in items):
            self.require_rank(node, buffer, len(items))
        for item in items:
            if isinstance(item, ast.Starred):
                many = self.value(item.value)
                found.extend(self.as_expr(v, item) for v in (many if isinstance(many, tuple) else (many,)))
            elif item is items[-1]:
                found.append(self._last_index(item))
            else:
                found.append(self.index(item))
        self.require_rank(node, buffer, len(found))
        return tuple(found)

    def _joins(self, node: ast.BinOp) -> bool:
        """Whether an expression of indices joins tuples, `indices[:-1] + (d,)`."""
        sides = (node.left, node.right)
        return any(isinstance(side, ast.Tuple) for side in sides) or any(
            isinstance(part, ast.Name) and isinstance(self.scope.get(part.id), tuple)
            for side in sides for part in (side.value if isinstance(side, ast.Subscript) else side,)
        )  # fmt: skip

    def _last_index(self, item: ast.expr) -> Expr:
        if isinstance(item, ast.Slice) and item.upper is not None:
            start, step = (
                self.index(part) if part is not None else IntImm(n) for n, part in ((0, item.lower), (1, item.step))
            )
            if (build.int_value(step) or 1) < 1 or build.is_const(step, 0):
                raise self.error(
                    item, "out-of-range", "a slice must have a positive step", expected="a step of 1 or more"
                )
            extent = difference(self.index(item.upper), start)
            lanes = (
                extent
                if build.is_const(step, 1)
                else simplify(build.floordiv(build.sub(build.add(extent, step), 1), step))
            )
            if build.is_const(lanes, 1):
                return start
            index: Expr = Ramp(*build.match_dtypes(start, step), build.cast(lanes, "int32"))
        else:
            index = self.expr(item)
        if not isinstance(index, Ramp):
            return self.index(item)
        steps = build.int_value(index.stride)
        if steps is None or steps < 1 or not is_lanes(index.lanes):
            raise self.error(item, "unsupported", "accesses to several elements need a constant step and number of lanes",
                             expected="T.Ramp(i, 1, 4), or i:i + 4")  # fmt: skip
        return index

    def require_rank(self, node: ast.AST, buffer: Buffer, count: int) -> None:
        if count != len(buffer.shape):
            expected = f"{len(buffer.shape)} for {buffer.name}"
            raise self.error(
                node,
                "wrong-arguments",
                f"{count} indices do not match the rank of buffer {buffer.name}",
                expected=expected,
            )

    def _region(self, node: ast.Subscript, buffer: Buffer, items: list[ast.expr]) -> BufferRegion:
        self.require_rank(node, buffer, len(items))
        return BufferRegion(buffer, tuple(map(self._range, items, buffer.shape)))

    def _range(self, item: ast.expr, size: Expr) -> Range:
        if not isinstance(item, ast.Slice):
            return build.point(self.index(item))
        if item.step is not None:
            raise self.error(item, "unsupported", "slices with a step are vectors, not boxes", expected="start:stop")
        start = self.index(item.lower) if item.lower is not None else build.const(0, size.dtype)
        stop = self.index(item.upper) if item.upper is not None else size
        return build.make_range(start, difference(stop, start))

    def region(self, node: ast.expr) -> BufferRegion:
        """Read a region of T.reads, T.writes or a block's T.match_buffer: slices, points, or a whole buffer."""
        value = self.value(node)
        if isinstance(value, BufferLoad):
            return BufferRegion(value.buffer, tuple(map(build.point, value.indices)))
        if isinstance(value, Buffer):
            return build.full_region(value)
        if isinstance(value, BufferRegion):
            return value
        raise self.error(node, "wrong-type", "this is not a region of a buffer", expected="A[i, 0:16]")


_METHODS = ("access_ptr", "vload", "astype")


def _elem_offset(buffer: Buffer) -> Expr:
    return build.const(0, offset_dtype(buffer.shape)) if buffer.elem_offset is None else buffer.elem_offset


_BUFFER_PARTS: Mapping[str, Callable[[Buffer], Value]] = {
    "shape": lambda buffer: buffer.shape,
    "strides": lambda buffer: buffer.strides,
    "elem_offset": _elem_offset,
    "data": BufferData,
}
"""Readers of a buffer's attributes."""


def difference(stop: Expr, start: Expr) -> Expr:
    """Return `stop - start`, the extent of a range with these ends. The printed form of an extent reads back as the same extent."""
    stop, start = build.match_dtypes(stop, start)
    if build.is_const(start, 0):
        return stop
    if isinstance(stop, Add) and structural_equal(stop.a, start):
        return stop.b
    return simplify(build.sub(stop, start))
