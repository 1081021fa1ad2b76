"""What the readers of expressions share: names, errors, and typed entries. `ExpressionReader` adds the evaluation of syntax nodes."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ...ir import (
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    Expr,
    IntImm,
    Ramp,
    Stmt,
    StringImm,
    Var,
    Verbatim,
    build,
)
from ...ir import dtype as dt
from ..device import Device
from ..errors import ParseError, UnknownValueError
from ..subset.scope import Scope, Unknown, Value
from ..subset.values import Module, unknown_error
from ..tilelang.names import is_of_language, own_name
from .source import PositionTable, Source

_ALIASES = {"int": "int32", "uint": "uint32", "float": "float32", "boolean": "bool"}
SCRIPT_NAMESPACES = ("T", "tir", "tirx", "ty")


Wrapper = Callable[[Stmt], Stmt]  # a statement whose body is the rest of the sequence
Item = Stmt | Wrapper


def compose(items: list[Item]) -> Wrapper | None:
    """Combine several statements and bindings into one binding."""
    if not items:
        return None

    def wrap(body: Stmt) -> Stmt:
        for item in reversed(items):
            body = build.seq([item, body]) if isinstance(item, Stmt) else item(body)
        return body

    return wrap


class Reader(ABC):
    """Translates Python expressions to IR; `scope` resolves names."""

    def __init__(self, source: Source, positions: PositionTable) -> None:
        self.source = source
        self.positions = positions
        self.scope = Scope()
        self.module: str | None = None  # the name of the class of functions around
        self.device = Device({})
        self.namespaces: dict[str, str] = dict.fromkeys(SCRIPT_NAMESPACES, "T") | {"I": "I"}

    # --- classification of syntax nodes

    def script_name(self, node: ast.expr) -> str | None:
        """Return "T.axis.spatial" for a dotted name in a script namespace, under any import name; else None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        if not parts:
            known = self.scope.peek(node.id)  # another name of a function of TileLang
            return f"T.{own_name(known.name)}" if isinstance(known, Module) and is_of_language(known.name) else None
        if node.id in self.scope and not isinstance(self.scope.get(node.id), Module):
            return None
        root = node.id
        if root == "tvm":
            name = ".".join(reversed(parts)).removeprefix("script.")
            root, _, rest = name.partition(".")
        else:
            rest = parts[0] if len(parts) == 1 else ".".join(reversed(parts))
        return f"{self.namespaces[root]}.{rest}" if root in self.namespaces else None

    def called(self, node: ast.AST) -> str | None:
        """Return the script name of the function that `node` calls."""
        return self.script_name(node.func) if isinstance(node, ast.Call) else None

    def error(
        self, node: ast.AST, code: str, message: str, *, expected: str = "", fix: tuple[str, ...] = ()
    ) -> ParseError:
        """Create the error that points at `node`; the caller raises it."""
        return self.source.error(node, code, message, expected=expected, fix=fix)

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """Return the value of `node`: a piece of IR, or a constant. Raises ParseError outside the subset."""

    def items(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Return the values of arguments or of a list."""
        return [self.value(node) for node in nodes]

    # --- typed entries

    def expr(self, node: ast.expr) -> Expr:
        """Read `node` as an expression; Python numbers become int32, float32 or bool."""
        return self.as_expr(self.value(node), node)

    def index(self, node: ast.expr) -> Expr:
        """Read `node` as an integer expression."""
        expr = self.expr(node)
        if not dt.is_int(expr.dtype) or dt.is_vector(expr.dtype):
            raise self.error(
                node,
                "wrong-type",
                f"an index must be an integer, this is {expr.dtype}",
                expected="an integer expression",
            )
        return expr

    def condition(self, node: ast.expr) -> Expr:
        """Read `node` as a truth value."""
        return self.as_condition(self.value(node), node)

    def as_condition(self, value: Value, node: ast.expr) -> Expr:
        """Convert a read-time value to a truth value."""
        expr = self.as_expr(value, node)
        if expr.dtype == "bool":
            return expr
        if isinstance(expr, IntImm):
            return build.TRUE if expr.value else build.FALSE
        raise self.error(node, "wrong-type", f"a condition must be bool, this is {expr.dtype}", expected="a comparison")

    def as_expr(self, value: Value, node: ast.AST) -> Expr:
        """Convert a read-time value to an expression."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, bool | float):
            return build.as_expr(value)
        if isinstance(value, int):
            return self.integer(value, node)
        if isinstance(value, str):
            return StringImm(value)
        if isinstance(value, Buffer):
            if not value.shape:
                return BufferLoad(value, ())
            raise self.error(
                node, "wrong-type", f"the buffer {value.name} is used without indices", expected=f"{value.name}[…]"
            )
        if isinstance(value, BufferRegion):
            return self._vector(value, node)
        self.require_known(value, node)
        found = self.error(node, "wrong-type", "this is not a value", expected="an expression")
        raise UnknownValueError(found.refusal, node.id) if value is None and isinstance(node, ast.Name) else found

    def address(self, node: ast.expr) -> Expr:
        """Read an address, or the name of a `T.allocate`, which stands for its memory."""
        value = self.value(node)
        return BufferData(value) if isinstance(value, Buffer) and value.shape else self.as_expr(value, node)

    def require_known(self, value: Value, node: ast.AST) -> Value:
        """Require that a value is certain. Raises the error that names the line of the cause."""
        if isinstance(value, Unknown):
            raise unknown_error(self.source, value, node)
        return value

    def integer(self, value: int, node: ast.AST, dtype: str | None = None) -> IntImm:
        """Return the constant `value`, int32 unless it is too wide. Raises "out-of-range" beyond 64 bits."""
        dtype = dtype or ("int32" if build.fits(value, "int32") else "int64")
        if not build.fits(value, dtype):
            low, high = dt.int_range(dtype)
            raise self.error(
                node,
                "out-of-range",
                "the number is out of the range of its type",
                expected=f"at least {low} and at most {high}",
            )
        return IntImm(value, dtype)

    def constant_int(self, node: ast.expr) -> int:
        """Read `node` as an integer constant known at read time."""
        value = self.require_known(self.value(node), node)
        value = value.value if isinstance(value, IntImm) else value
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.error(node, "wrong-type", "this must be a constant integer", expected="an integer")

    def string(self, node: ast.expr) -> str:
        value = self.require_known(self.value(node), node)
        if isinstance(value, str):
            return value
        error = self.error(node, "wrong-type", "this must be a string", expected='a string such as "float32"')
        raise UnknownValueError(error.refusal, node.id) if value is None and isinstance(node, ast.Name) else error

    def typed_var(self, name: str, node: ast.expr) -> Var:
        """Return a variable of the type `node`: T.int32, or a pointer such as `T.handle("float32", "shared")`."""
        if self.called(node) != "T.handle":
            return Var(name, self.dtype(node))
        assert isinstance(node, ast.Call)
        given: dict[str | None, ast.expr] = dict(zip(("dtype", "storage_scope"), node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords}
        if len(node.args) > 2 or not given.keys() <= {"dtype", "storage_scope"}:
            raise self.error(node, "wrong-arguments", "this is no pointer", expected='T.handle("float32", "shared")')
        if not given:
            return Var(name, "handle")
        element = self.string(given["dtype"]) if "dtype" in given else "void"
        return Var(
            name, "handle", (element, self.string(given["storage_scope"]) if "storage_scope" in given else "global")
        )

    def carried(self, node: ast.expr) -> Expr | None:
        """Return an unknown call of T, or a call of another function, which is only read and printed; None for other nodes.

        A call without names of the program is kept as its text. Another one keeps its arguments.
        """
        name = self.called(node) or self._module_function(node)
        if name is None or not isinstance(node, ast.Call):
            return None
        parameters = {a.arg for n in ast.walk(node) if isinstance(n, ast.Lambda) for a in n.args.args}
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - parameters
        if names <= {"T", "True", "False"}:
            text = self.source.segment(node)
            return Verbatim(ast.unparse(node) if "\n" in text else text)
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            return None
        return Call(name, tuple(self.carried(a) or self.expr(a) for a in node.args), "handle")

    def module_call(self, node: ast.Call) -> Call | None:
        """Return the value of another function of the module, whose return type its text declares; None for another call."""
        name = self._module_function(node)
        if name is None or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            return None
        own = name.removeprefix("Module.")
        for other in self.source.nodes:
            if isinstance(other, ast.FunctionDef) and other.name == own and other.returns is not None:
                return Call(name, tuple(map(self.expr, node.args)), self.dtype(other.returns))
        return None

    def _module_function(self, node: ast.expr) -> str | None:
        """Return "Module.name" if the node calls another function of the module."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if owner == self.module:
                return f"Module.{name}"
            case _:
                return None

    def dtype(self, node: ast.expr) -> str:
        """Read a data type: "float32", T.float32, "float" with 32 bits, or `T.handle().ty`, TVM's spelling of the address type."""
        if isinstance(node, ast.Attribute) and node.attr == "ty" and ast.unparse(node.value) == "T.handle()":
            return "handle"
        name = self.script_name(node)
        dtype = name.removeprefix("T.") if name is not None else self.string(node)
        if name is None or dtype == "boolean":
            dtype = _ALIASES.get(dtype, dtype)
        if not dt.is_valid(dtype):
            raise self.error(
                node,
                "unsupported",
                f"{dtype!r} is not a data type of the subset",
                expected='"float32", "int8", "uint16", "bool", …',
            )
        return dtype

    def _vector(self, region: BufferRegion, node: ast.AST) -> Expr:
        """Read a slice as a value: the vector of its elements, as TVM up to 0.26 does."""
        *points, last = region.region
        lanes = build.int_value(last.extent)
        if lanes is None or lanes < 1 or any(not build.is_const(axis.extent, 1) for axis in points):
            raise self.error(
                node,
                "unsupported",
                "this slice is not a value",
                expected="one element, or a slice of constant length in the last axis",
            )
        index = last.min if lanes == 1 else Ramp(last.min, build.const(1, last.min.dtype), IntImm(lanes))
        return BufferLoad(region.buffer, (*(axis.min for axis in points), index))

    def sequence(self, node: ast.expr) -> list[ast.expr]:
        """Return the items of a list or tuple display; a single expression counts as one item."""
        return list(node.elts) if isinstance(node, ast.Tuple | ast.List) else [node]

    def element_node(self, buffer: ast.expr, indices: ast.expr, use: ast.expr_context) -> ast.Subscript:
        """Return `buffer[i, j]` for a list of indices."""
        at = ast.copy_location(ast.Tuple(self.sequence(indices), ast.Load()), indices)
        return ast.copy_location(ast.Subscript(buffer, at, use), buffer)

    def define(self, name: str, value: Value, node: ast.AST) -> None:
        """Define `name` and record its position."""
        self.scope.define(name, value)
        if isinstance(value, Var | Buffer):
            self.positions.add(value, self.source.place(node))
