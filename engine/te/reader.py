"""Reader of TE text without its calls: TVMScript's expressions, plus tensors, axes, functions of the text and schedules as values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..ir import FAULTS, BufferLoad, Expr, Place, Var, build
from ..ir import dtype as dt
from ..script import Note
from ..script.errors import parse_error
from ..script.reading import operators
from ..script.reading.expressions import ExpressionReader
from ..script.reading.scope import Foreign, Value
from ..script.reading.source import PositionTable, Source
from ..script.reading.static import fold
from . import stages
from .model import Axis, Cached, Function, Names, Operation, Reduction, Runtime, Slice, Tensor
from .vta import ENVIRONMENT

MAX_STEPS = 100_000
"""Maximum number of evaluated expressions: nested function calls can expand a short text into a large computation."""
MAX_ITEMS = 4096
"""Maximum number of items in a list."""
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
    "rpc", "transform", "random", "IRModule", "get_global_func", "environment",
))
# fmt: on
"""Names of tvm that concern running a program, not its definition."""


class TEReader(ExpressionReader):
    """Reads expressions of TE text. `old` is the dialect until 0.6 (`tvm.compute`), where / of integers rounds toward zero."""

    def __init__(self, source: Source, sizes: Mapping[str, int], *, assumes: bool = False) -> None:
        """Create a reader; `sizes` are the known values of te.var's variables. If it `assumes`, an undefined name in a shape is a
        variable, and `env` the environment of VTA."""
        super().__init__(source, PositionTable())
        self.sizes = sizes
        self.aliases: dict[str, str] = {
            m: m for m in ("tvm", "te", "tir", "tirx", "s_tir", "topi", "vta", "np", "numpy")
        }
        self.old = False
        self.operations: list[Operation] = []
        self.record = stages.Record()
        self.notes: list[Note] = []
        self._assumes = assumes
        self._shapes = 0  # levels of shapes around the expression that is read
        self._steps = 0
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
            module == "tvm" and bool(rest) and rest[0] in _RUNNING
        )

    # --- values

    def value(self, node: ast.expr) -> Value:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise self.error(node, "too-large", "reading the text needs too many steps",
                             expected=f"at most {MAX_STEPS} expressions, including those in calls of its functions")  # fmt: skip
        match node:
            case ast.BinOp(op=ast.Div()):
                return self._divide(node)
            case ast.Lambda():
                return Function(node, self.scope)
            case ast.JoinedStr():
                return Runtime()  # a string formatted at run time, for printing
            case _:
                return super().value(node)

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
            case Foreign():
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
            return self.scope[node.id]
        if node.id in self.aliases:
            raise self.error(node, "wrong-type", f"{node.id} is a module", expected=f"{node.id}.…")
        if self._assumes and (self._shapes or node.id == "env"):
            return self._assumed(node)
        fix = tuple(self.scope.similar(node.id)) or (f"{node.id} = 128", f'{node.id} = te.var("{node.id}")')
        raise self.error(node, "unknown-name", f"the name {node.id} is not defined here", expected="a name that is assigned above",
                         fix=("env = vta.get_env()",) if node.id == "env" else fix)  # fmt: skip

    def _assumed(self, node: ast.Name) -> Value:
        """Define a name that the text uses and does not define."""
        if node.id == "env":
            what, value = "VTA's environment", Names(dict(ENVIRONMENT), "VTA's environment")
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

    def _rare(self, node: ast.expr) -> Value:
        match node:
            case ast.Tuple() | ast.List() if any(isinstance(item, ast.Starred) for item in node.elts):
                return tuple(self.items(node.elts))
            case _:
                return super()._rare(node)

    def items(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Return the values of arguments or of a list, with `*many` unpacked."""
        found: list[Value] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.value(node))
                continue
            many = self.value(node.value)
            if not isinstance(many, tuple):
                raise self.error(node, "wrong-type", "only a tuple or list can be unpacked", expected="*indices")
            found.extend(many)
            if len(found) > MAX_ITEMS:
                raise self.error(node, "too-large", f"{len(found)} items are too many", expected=f"at most {MAX_ITEMS}")
        return found

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
        found = _attribute_of(owner, node.attr)
        if found is None:
            raise self.error(
                node, "unsupported", f".{node.attr} is not supported here", expected=_expected_attributes(owner)
            )
        return found

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
                raise self.error(node, "unsupported", "slices of lists are not supported", expected="one item: [0]")
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
        if isinstance(tensor.op, Cached):
            raise self.error(node, "unsupported", f"{tensor.op.name} belongs to a schedule and cannot be used in an expression",
                             expected="a tensor of te.placeholder or te.compute")  # fmt: skip
        load = BufferLoad(tensor.buffer, indices)
        self.positions.add(load, self.source.place(node))
        return load

    # --- functions of the text

    def call(
        self, function: Function, args: Sequence[Value], node: ast.AST, named: dict[str | None, Value] | None = None
    ) -> Value:
        """Return the result of a function of the text for these arguments: its evaluated body."""
        if self._calls >= MAX_CALLS:
            raise self.error(
                node, "too-deep", "calls of functions are nested too deeply", expected=f"at most {MAX_CALLS} levels"
            )
        outer, self.scope = self.scope, function.scope.opened()
        self._calls += 1
        try:
            for name, value in self._bound(function, args, named or {}, node).items():
                self.scope.define(name, value)
            return self._result(function.node)
        finally:
            self._calls -= 1
            self.scope = outer

    def _bound(
        self, function: Function, args: Sequence[Value], named: dict[str | None, Value], node: ast.AST
    ) -> dict[str, Value]:
        signature = function.node.args
        names = [a.arg for a in (*signature.posonlyargs, *signature.args)]
        defaults = dict(zip(reversed(names), (self.value(d) for d in reversed(signature.defaults)), strict=False))
        found = {
            **defaults,
            **dict(zip(names, args, strict=False)),
            **{k: v for k, v in named.items() if k is not None},
        }
        if signature.vararg is not None:
            found[signature.vararg.arg] = tuple(args[len(names) :])
        known = {*names, *([signature.vararg.arg] if signature.vararg else [])}
        extra = len(args) > len(names) and signature.vararg is None
        if extra or set(found) != known or signature.kwonlyargs or signature.kwarg:
            raise self.error(node, "wrong-arguments", f"the function takes ({', '.join(names)})",
                             expected=f"{len(names)} arguments, here are {len(args) + len(named)}")  # fmt: skip
        return found

    def _result(self, function: ast.Lambda | ast.FunctionDef) -> Value:
        if isinstance(function, ast.Lambda):
            return self.value(function.body)
        for statement in function.body:
            match statement:
                case ast.Return(value=None):
                    return None
                case ast.Return(value=ast.expr() as value):
                    return self.value(value)
                case _:
                    self.statement(statement)
        return None

    # --- statements, at the top and in functions

    def statement(self, node: ast.stmt) -> None:
        """Read a statement. Raises "unsupported" for loops, classes and conditions."""
        try:
            self._statement(node)
        except FAULTS as error:
            raise self.source.refused(node, error) from error

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Assert() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Expr():
                self._stated(node.value)
            case ast.Assign():
                value = self._stated(node.value)
                for target in node.targets:
                    self._assign(target, value, node)
            case ast.FunctionDef(decorator_list=[]):
                self.scope.define(node.name, Function(node, self.scope))
            case ast.With(items=[item]) if isinstance(self.value(item.context_expr), Runtime):
                for part in node.body:
                    self.statement(part)
            case _:
                raise parse_error("unsupported", "this is not part of the supported subset of TE", self._first_line(node),
                                  found=self.source.text(node),
                                  expected="name = te.…, calls of te and of schedules, functions of such lines",
                                  fix=("write loops and conditions out, one line per step",))  # fmt: skip

    def _stated(self, node: ast.expr) -> Value:
        """Return the value of a statement; a computation on runtime results has none."""
        computed = isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp | ast.UnaryOp | ast.IfExp)
        if computed and any(
            isinstance(part, ast.Name) and isinstance(self.scope.get(part.id), Runtime) for part in ast.walk(node)
        ):
            return Runtime()
        return self.value(node)

    def _first_line(self, node: ast.stmt) -> Place:
        return (
            self.source.header(node)
            if isinstance(node, ast.For | ast.With | ast.If | ast.FunctionDef | ast.ClassDef)
            else self.source.place(node)
        )

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Register the imported names with their modules; nothing is imported."""
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                self.aliases[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}".lstrip(".")
            else:
                self.aliases[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )

    def _assign(self, target: ast.expr, value: Value, node: ast.Assign) -> None:
        match target:
            case ast.Name(id=name):
                self.define(name, value, target)
                self.record.named(value, name)
            case ast.Tuple() | ast.List():
                many = (value,) * len(target.elts) if isinstance(value, Runtime) else value
                if not isinstance(many, tuple) or len(many) != len(target.elts):
                    count = len(many) if isinstance(many, tuple) else 1
                    raise self.error(target, "wrong-arguments", f"{count} values for {len(target.elts)} names",
                                     expected=f"{count} names")  # fmt: skip
                for part, item in zip(target.elts, many, strict=True):
                    self._assign(part, item, node)
            case _:
                if not isinstance(value, Runtime):
                    raise self.error(target, "unsupported", "only names can be assigned", expected="name = …")


def _attribute_of(owner: Value, name: str) -> Value:
    """Return `owner.name`; None if there is no such attribute."""
    match owner, name:
        case Runtime(), _:
            return owner
        case Names(values=values), _:
            return values.get(name)
        case Tensor(), "op":
            return owner.op
        case Tensor(), "shape":
            return owner.buffer.shape
        case Tensor(), "dtype":
            return owner.buffer.dtype
        case Tensor() | Operation() | stages.Stage(), "name":
            return (owner.op if isinstance(owner, Tensor | stages.Stage) else owner).name
        case stages.Stage(), "op":
            return owner.op
        case Operation(), "axis":
            return owner.axes
        case Operation(), "reduce_axis":
            return owner.reduce_axes
        case Axis(), "var":
            return owner.var
        case Expr() | Slice(), "dtype":
            return owner.dtype if isinstance(owner, Expr) else owner.tensor.buffer.dtype
        case _:
            return None


def _expected_attributes(owner: Value) -> str:
    match owner:
        case Tensor():
            return ".op, .shape, .dtype"
        case Operation():
            return ".axis, .reduce_axis"
        case Names():
            return f"an entry of {owner.title}"
        case _:
            return "an expression"


__all__ = ["MAX_CALLS", "MAX_STEPS", "TEReader", "Var"]
