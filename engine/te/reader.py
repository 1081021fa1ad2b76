"""Reader of TE text without its calls and statements: TVMScript's expressions, plus tensors, axes, functions of the text and schedules as
values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..ir import BufferLoad, Expr, IntImm, Var, build
from ..ir import dtype as dt
from ..script import Note
from ..script.device import Device
from ..script.errors import UnknownValueError, undefined_error
from ..script.language import calls_old_te
from ..script.reading.expressions import ExpressionReader
from ..script.reading.source import PositionTable, Source
from ..script.subset.bindings import bound_names
from ..script.subset.calls import called
from ..script.subset.core import Evaluator
from ..script.subset.scope import Foreign, Unknown, Value
from ..script.subset.targets import items
from ..script.subset.values import Function, Module, several
from . import stages
from .model import Axis, CacheOperation, Operation, Reduction, Slice, Tensor
from .prim_func import inputs
from .sizes import typed_variable
from .vta import environment

_MODULES = (
    "tvm.te.",
    "tvm.tir.expr.",
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


class TEReader(ExpressionReader):
    """Reads expressions of TE text: the evaluator of Python (`python`) gives their values. `old` is the dialect until 0.6 (`tvm.compute`),
    where / of integers rounds toward zero."""

    python: Evaluator

    def __init__(
        self, source: Source, given: Mapping[str, int | str], *, assumes: bool = False, chosen: int | None = None
    ) -> None:
        """Create a reader; `given` are the values of te.var's variables, and of variables that the text leaves unknown. If it `assumes`,
        an undefined name in a shape is a variable, and `env` the environment of VTA. `chosen` is the number, from 0, of the schedule that
        is read of a text that makes several; None for a text that makes one."""
        super().__init__(source, PositionTable())
        self.sizes = {name: value for name, value in given.items() if isinstance(value, int)}
        self.outside = {name: typed_variable(name, value) for name, value in given.items()}
        self.device = Device(given)
        self.used = self.device.used  # the given variables that were used
        self.chosen = chosen
        self.schedules = 0  # those that the text made
        self.old = any(map(calls_old_te, source.nodes))
        self.operations: list[Operation] = []
        self.first = 0  # the first operation that may be an output, if the text does not say them
        self.record = stages.Record()
        self.notes: list[Note] = []
        self.assumes = assumes
        self.shapes = 0  # levels of shapes around the expression that is read

    def begin_schedule(self, node: ast.AST) -> bool:
        """Record that the text makes a schedule, and return whether it is the chosen one. Raises "unsupported" for a second one of which
        none is chosen."""
        self.schedules += 1
        if self.chosen is None and self.schedules > 1:
            raise self.error(node, "unsupported", "the text has a second schedule", expected="a single schedule",
                             fix=("open FILE#2 for the second program of a file", "use a separate notebook for each schedule"))  # fmt: skip
        return self.schedules - 1 == (self.chosen or 0)

    def script_name(self, node: ast.expr) -> str | None:
        """Return "T.exp" for `te.exp`, `tvm.tir.exp` and, in old texts, `tvm.exp`."""
        name = self.python.dotted(node)
        if name is None:
            return None
        for module in _MODULES:
            if name.startswith(module):
                return f"T.{name.removeprefix(module)}"
        return None

    def value(self, node: ast.expr) -> Value:
        return self.python.value(node)

    def items(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Return the values of arguments or of a list, with `*many` unpacked."""
        return items(self.python, nodes)

    def call(self, function: Function, args: Sequence[Value], node: ast.AST) -> Value:
        """Return the result of a function of the text."""
        return called(self.python, function, args, node)

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
            case Module(name=name) if "." in name:
                raise self._constant_elsewhere(name, node)
            case Foreign() if not isinstance(value, Unknown):
                what = (
                    "a reduction must be the whole value of a compute"
                    if isinstance(value, Reduction)
                    else "this is not a value"
                )
                raise self.error(node, "wrong-type", what, expected="an expression",
                                 fix=("use a separate te.compute for the reduction",) if "reduction" in what else ())  # fmt: skip
            case _:
                return super().as_expr(value, node)

    def _constant_elsewhere(self, name: str, node: ast.AST) -> UnknownValueError:
        """Create the error for a name of another file that is used as a value."""
        module, _, last = name.rpartition(".")
        error = self.error(node, "unsupported", f"the value of {last} is not known: it is imported from {module}",
                           expected=f"a constant, assigned above the program: {last} = 128")  # fmt: skip
        return UnknownValueError(error.refusal, last)

    def undefined(self, node: ast.Name) -> Value:
        """Return the value of a name that the text does not define. Raises "unknown-name" unless it can be assumed."""
        if self.assumes and (self.shapes or node.id == "env"):
            return self._assumed(node)
        similar = self.scope.similar(node.id)
        fix = tuple(similar) or (f"{node.id} = 128", f'{node.id} = te.var("{node.id}")')
        error = self.error(node, "unknown-name", f"the name {node.id} is not defined here", expected="a name that is assigned above",
                           fix=("env = vta.get_env()",) if node.id == "env" else fix)  # fmt: skip
        raise undefined_error(error, node.id, similar)

    def define_outside(self) -> None:
        """Define the given variables that the text itself does not."""
        own = {name for node in self.source.tree.body for name in bound_names(node)}
        for name in self.outside.keys() - own:
            self.scope.define(name, self.outside[name])
            self.used.add(name)

    def _assumed(self, node: ast.Name) -> Value:
        """Define a name that the text uses and does not define."""
        if node.id == "env":
            what, value = "VTA's environment", environment()
        else:
            size = self.sizes.get(node.id)
            what, value = "a size", Var(node.id, "int32") if size is None else build.const(size, "int32")
        self.notes.append(
            Note(f"{node.id} is not defined in the text: it is assumed to be {what}", self.source.place(node))
        )
        self.scope.define(node.id, value)
        return value

    def shape(self, node: ast.expr) -> tuple[Expr, ...]:
        """Return the extents of a shape; quotients of Python numbers without a remainder are integers."""
        self.shapes += 1
        try:
            value = self.value(node)
        finally:
            self.shapes -= 1
        found = several(value)
        whole = (int(item) if isinstance(item, float) and item.is_integer() else item for item in found)
        return tuple(self.as_expr(item, node) for item in whole)

    # --- attributes and brackets

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

    def item(self, owner: Value, node: ast.Subscript) -> Value:
        """Return `owner[…]` of a tensor or schedule; None for others."""
        match owner:
            case Tensor():
                return self._indexed(owner, (), node)
            case Slice():
                return self._indexed(owner.tensor, owner.indices, node)
            case stages.TESchedule():
                return owner.stage(self, self.value(node.slice), node)
            case _:
                return None

    def applied(self, tensor: Tensor, node: ast.Call) -> Value:
        """Return `A(i, j)`, which is `A[i, j]`."""
        found = tuple(self._index(v, node) for v in self.items(node.args))
        if len(found) != len(tensor.buffer.shape):
            raise self.error(node, "wrong-arguments", f"{len(found)} indices do not match the rank of tensor {tensor.op.name}",
                             expected=f"{len(tensor.buffer.shape)} indices")  # fmt: skip
        return self._load(tensor, found, node)

    def _indexed(self, tensor: Tensor, before: tuple[Expr, ...], node: ast.Subscript) -> Value:
        parts = [node.slice] if not isinstance(node.slice, ast.Tuple) else list(node.slice.elts)
        found = [*before, *(self._index(v, node) for value in self.items(parts) for v in _spread(value))]
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


def _spread(value: Value) -> tuple[Value, ...]:
    """Return the indices of a tuple, as in `A[indices]`; another value as one index."""
    return value if isinstance(value, tuple) else (value,)


def _attribute_of(owner: Value, name: str) -> Value:
    """Return `owner.name`; None if there is no such attribute."""
    match owner, name:
        case Tensor(), "op":
            return owner.op
        case Tensor(), "shape":
            return owner.buffer.shape
        case Tensor(), "dtype":
            return owner.buffer.dtype
        case Tensor() | Operation() | stages.Stage(), "name":
            return (owner.op if isinstance(owner, Tensor | stages.Stage) else owner).name
        case Tensor(), "ndim":
            return len(owner.buffer.shape)
        case stages.Stage(), "op":
            return owner.op
        case Operation(tag=str() as tag), "tag":
            return tag
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


def expected_attributes(owner: Value) -> str:
    match owner:
        case Tensor():
            return ".op, .shape, .dtype"
        case Operation():
            return ".axis, .reduce_axis, .input_tensors, .tag"
        case _:
            return "an expression"


__all__ = ["TEReader", "expected_attributes"]
