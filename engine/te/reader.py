"""Reader of TE text without its calls and statements: TVMScript's expressions, plus tensors, axes, functions of the text and schedules as
values."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from ..ir import BufferLoad, Expr, IntImm, Var, build
from ..ir import dtype as dt
from ..script import Note
from ..script.errors import ParseError
from ..script.language import calls_old_te
from ..script.reading import operators
from ..script.reading.source import PositionTable, Source
from ..script.subset.constants import fold
from ..script.subset.scope import Foreign, Unknown, Value
from . import stages
from .model import Attributes, Axis, CacheOperation, Function, Operation, Reduction, Runtime, Slice, Tensor
from .prim_func import inputs
from .python_values import MAX_STEPS, PythonReader
from .vta import ENVIRONMENT

MAX_CALLS = 24
"""Maximum call depth; recursion in TE text never terminates."""

_MODULES = (
    "tvm.te.",
    "tvm.tir.",
    "tvm.tirx.",
    "tvm.s_tir.",
    "tvm.script.tir.",
    "tvm.script.tirx.",
    "te.",
    "tir.",
    "tirx.",
    "s_tir.",
    "tvm.",
    "vta.",
)
# fmt: off
_RUNNING = frozenset((
    "nd", "runtime", "cpu", "gpu", "cuda", "opencl", "device", "context", "target", "testing", "contrib", "auto_scheduler", "autotvm",
    "rpc", "transform", "random", "IRModule", "get_global_func", "environment", "ir", "relax", "relay", "meta_schedule", "dlight",
    "driver", "support", "script.from_source", "register_func", "tir.transform", "tir.analysis", "tir.stmt_functor", "tir.TensorIntrin",
    "s_tir.transform", "s_tir.analysis", "s_tir.TensorIntrin", "s_tir.dlight", "s_tir.meta_schedule", "tirx.transform",
))
# fmt: on
"""Names of tvm that concern running a program, not its definition."""


class TEReader(PythonReader):
    """Reads expressions of TE text. `old` is the dialect until 0.6 (`tvm.compute`), where / of integers rounds toward zero."""

    def __init__(self, source: Source, sizes: Mapping[str, int], *, assumes: bool = False) -> None:
        """Create a reader; `sizes` are the known values of te.var's variables. If it `assumes`, an undefined name in a shape is a
        variable, and `env` the environment of VTA."""
        super().__init__(source, PositionTable())
        self.sizes = sizes
        self.aliases: dict[str, str] = {
            m: m for m in ("tvm", "te", "tir", "tirx", "s_tir", "topi", "vta", "np", "numpy")
        }
        self.old = any(map(calls_old_te, source.nodes))
        self.operations: list[Operation] = []
        self.record = stages.Record()
        self.notes: list[Note] = []
        self.passed: list[ast.stmt] = []  # statements that only running the code decides
        self.assumes = assumes
        self._shapes = 0  # levels of shapes around the expression that is read
        self._calls = 0

    # --- names

    def dotted(self, node: ast.expr) -> str | None:
        """Return "tvm.te.compute" for a module's name under any import name; None for a name of the text."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.scope or node.id not in self.aliases:
            return None
        return ".".join((self.aliases[node.id], *reversed(parts)))

    def script_name(self, node: ast.expr) -> str | None:
        """Return "T.exp" for `te.exp`, `tvm.tir.exp` and, in old texts, `tvm.exp`."""
        name = self.dotted(node)
        if name is None:
            return None
        for module in _MODULES:
            if name.startswith(module):
                return f"T.{name.removeprefix(module)}"
        return None

    def is_running(self, node: ast.expr) -> bool:
        """Whether the dotted name belongs to the runtime: `np.zeros`, `tvm.nd.array`, `tvm.cpu`."""
        name = self.dotted(node)
        if name is None:
            return False
        module, *rest = name.split(".")
        return module in ("numpy", "np", "timeit", "time", "os", "sys", "logging") or (
            module == "tvm" and (".".join(rest[:1]) in _RUNNING or ".".join(rest[:2]) in _RUNNING)
        )

    # --- values

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Lambda():
                return self.function(node)
            case _:
                return super().value(node)

    def _operation(self, node: ast.BinOp | ast.Compare | ast.UnaryOp) -> Value:
        return (
            self._divide(node)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
            else super()._operation(node)
        )

    def function(self, node: ast.Lambda | ast.FunctionDef) -> Function:
        """Return the function that a lambda or def defines, with its defaults, which it evaluates once."""
        signature = node.args
        names = [a.arg for a in (*signature.posonlyargs, *signature.args)]
        given = [*zip(reversed(names), reversed(signature.defaults), strict=False)]
        given += [(a.arg, d) for a, d in zip(signature.kwonlyargs, signature.kw_defaults, strict=True) if d is not None]
        return Function(node, self.scope, {name: self._default(default) for name, default in given})

    def _default(self, node: ast.expr) -> Value:
        try:
            return self.value(node)
        except ParseError:
            return Runtime()

    @abstractmethod
    def forget(self, node: ast.AST) -> None:
        """Forget the values that code may change which is not evaluated."""

    @abstractmethod
    def call(
        self, function: Function, args: Sequence[Value], node: ast.AST, named: dict[str | None, Value] | None = None
    ) -> Value:
        """Return the result of a function of the text."""

    def as_expr(self, value: Value, node: ast.AST) -> Expr:
        match value:
            case Axis():
                return value.var
            case Tensor() if not value.buffer.shape:
                return self._load(value, (), node)
            case Tensor():
                raise self.error(node, "wrong-type", f"the tensor {value.op.name} is used without indices",
                                 expected=f"{value.op.name}[…]")  # fmt: skip
            case Slice():
                rank = len(value.tensor.buffer.shape)
                raise self.error(node, "wrong-arguments", f"{len(value.indices)} indices do not match the rank of {value.tensor.op.name}",
                                 expected=f"{rank} indices")  # fmt: skip
            case Foreign() if not isinstance(value, Runtime):
                what = (
                    "a reduction must be the whole value of a compute"
                    if isinstance(value, Reduction)
                    else "this is not a value"
                )
                raise self.error(node, "wrong-type", what, expected="an expression",
                                 fix=("use a separate te.compute for the reduction",) if "reduction" in what else ())  # fmt: skip
            case _:
                return super().as_expr(value, node)

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.scope:
            value = self.scope[node.id]
            if isinstance(value, Unknown):
                raise self.unknown(node, value)
            return value
        if node.id in self.aliases:
            raise self.error(node, "wrong-type", f"{node.id} is a module", expected=f"{node.id}.…")
        if self.assumes and (self._shapes or node.id == "env"):
            return self._assumed(node)
        fix = tuple(self.scope.similar(node.id)) or (f"{node.id} = 128", f'{node.id} = te.var("{node.id}")')
        raise self.error(node, "unknown-name", f"the name {node.id} is not defined here", expected="a name that is assigned above",
                         fix=("env = vta.get_env()",) if node.id == "env" else fix)  # fmt: skip

    def _assumed(self, node: ast.Name) -> Value:
        """Define a name that the text uses and does not define."""
        if node.id == "env":
            what, value = "VTA's environment", Attributes(dict(ENVIRONMENT), "VTA's environment")
        else:
            size = self.sizes.get(node.id)
            what, value = "a size", Var(node.id, "int32") if size is None else build.const(size, "int32")
        self.notes.append(
            Note(f"{node.id} is not defined in the text: it is assumed to be {what}", self.source.place(node))
        )
        self.scope.define(node.id, value)
        return value

    def dtype(self, node: ast.expr) -> str:
        """Read a data type; TVM's names without bits mean 32 bits."""
        match node:
            case ast.Constant(value="float" | "int" | "uint" as name):
                return f"{name}32"
            case _:
                return super().dtype(node)

    def shape(self, node: ast.expr) -> tuple[Expr, ...]:
        """Return the extents of a shape; quotients of Python numbers without a remainder are integers."""
        self._shapes += 1
        try:
            value = self.value(node)
        finally:
            self._shapes -= 1
        items = value if isinstance(value, tuple) else (value,)
        whole = (int(item) if isinstance(item, float) and item.is_integer() else item for item in items)
        return tuple(self.as_expr(item, node) for item in whole)

    def _divide(self, node: ast.BinOp) -> Value:
        """Read `/`: between integers it truncates, as in C, in texts of TVM 0.6 and older, and is ambiguous since."""
        a, b = self.value(node.left), self.value(node.right)
        try:
            if isinstance(a, int | float) and isinstance(b, int | float):
                return a // b if self.old and isinstance(a, int) and isinstance(b, int) else fold(node.op, a, b)
            x, y = self.as_expr(a, node.left), self.as_expr(b, node.right)
            if self.old and dt.is_int(x.dtype) and dt.is_int(y.dtype):
                return build.div(x, y)
        except (ValueError, ZeroDivisionError):
            raise self.error(node, "out-of-range", "division by zero") from None
        return operators.arithmetic(self, node, node.op, x, y)

    # --- attributes and brackets

    def _attribute(self, node: ast.Attribute) -> Value:
        if self.is_running(node):
            return Runtime()
        name = self.script_name(node)
        if name is not None:
            if name == "T.AXIS_SEPARATOR":
                return stages.SEPARATOR
            raise self.error(
                node, "unsupported", f"{ast.unparse(node)} is not supported here", expected="an expression"
            )
        owner = self.value(node.value)
        found = self.attribute_of(owner, node.attr)
        if found is None:
            raise self.error(
                node, "unsupported", f".{node.attr} is not supported here", expected=_expected_attributes(owner)
            )
        return found

    def attribute_of(self, owner: Value, name: str) -> Value:
        """Return `owner.name`; None if there is no such attribute."""
        if isinstance(owner, Operation) and name == "input_tensors":
            return tuple(
                Tensor(op, n)
                for b in inputs(owner)
                for op in self.operations
                for n, own in enumerate(op.buffers)
                if own is b
            )
        return _attribute_of(owner, name)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        match owner:
            case Runtime():
                return owner
            case Tensor():
                return self._indexed(owner, (), node)
            case Slice():
                return self._indexed(owner.tensor, owner.indices, node)
            case stages.TESchedule():
                return owner.stage(self, self.value(node.slice), node)
            case tuple() if isinstance(node.slice, ast.Slice):
                return self.sliced(owner, node.slice)
            case Attributes():
                key = self.key(self.value(node.slice), node)
                if key not in owner.values:
                    raise self.error(
                        node, "unknown-name", f"{owner.title} has no entry {key}", expected=", ".join(owner.values)
                    )
                return owner.values[key]
            case tuple():
                position = self.constant_int(node.slice)
                if not -len(owner) <= position < len(owner):
                    raise self.error(node, "out-of-range", f"there are {len(owner)} items")
                return owner[position]
            case _:
                raise self.error(
                    node, "wrong-type", "this value has no items", expected="a tensor, a list, or a schedule"
                )

    def _indexed(self, tensor: Tensor, before: tuple[Expr, ...], node: ast.Subscript) -> Value:
        parts = [node.slice] if not isinstance(node.slice, ast.Tuple) else list(node.slice.elts)
        found = [*before, *(self._index(v, node) for v in self.items(parts))]
        rank = len(tensor.buffer.shape)
        if len(found) > rank:
            raise self.error(node, "wrong-arguments", f"{len(found)} indices do not match the rank of tensor {tensor.op.name}",
                             expected=f"{rank} indices")  # fmt: skip
        return self._load(tensor, tuple(found), node) if len(found) == rank else Slice(tensor, tuple(found))

    def _index(self, value: Value, node: ast.AST) -> Expr:
        expr = self.as_expr(value, node)
        if not dt.is_int(expr.dtype):
            raise self.error(node, "wrong-type", f"an index must be an integer, this is {expr.dtype}",
                             expected="an integer expression", fix=('….astype("int32")',))  # fmt: skip
        return expr

    def _load(self, tensor: Tensor, indices: tuple[Expr, ...], node: ast.AST) -> Expr:
        if isinstance(tensor.op, CacheOperation):
            raise self.error(node, "unsupported", f"{tensor.op.name} belongs to a schedule and cannot be used in an expression",
                             expected="a tensor of te.placeholder or te.compute")  # fmt: skip
        load = BufferLoad(tensor.buffer, indices)
        self.positions.add(load, self.source.place(node))
        return load


def _attribute_of(owner: Value, name: str) -> Value:
    """Return `owner.name`; None if there is no such attribute."""
    match owner, name:
        case Runtime(), _:
            return owner
        case Attributes(values=values), _:
            return values.get(name)
        case Tensor(), "op":
            return owner.op
        case Tensor(), "shape":
            return owner.buffer.shape
        case Tensor(), "dtype":
            return owner.buffer.dtype
        case Tensor() | Operation() | stages.Stage(), "name":
            return (owner.op if isinstance(owner, Tensor | stages.Stage) else owner).name
        case stages.TESchedule(), "stages":
            return Runtime()
        case Tensor(), "ndim":
            return len(owner.buffer.shape)
        case stages.Stage(), "op":
            return owner.op
        case Operation(), "axis":
            return owner.axes
        case Operation(), "reduce_axis":
            return owner.reduce_axes
        case Axis(), "var":
            return owner.var
        case IntImm(), "value":
            return owner.value
        case Expr() | Slice(), "dtype":
            return owner.dtype if isinstance(owner, Expr) else owner.tensor.buffer.dtype
        case _:
            return None


def _expected_attributes(owner: Value) -> str:
    match owner:
        case Tensor():
            return ".op, .shape, .dtype"
        case Operation():
            return ".axis, .reduce_axis, .input_tensors"
        case Attributes():
            return f"an entry of {owner.title}"
        case _:
            return "an expression"


__all__ = ["MAX_CALLS", "MAX_STEPS", "TEReader"]
