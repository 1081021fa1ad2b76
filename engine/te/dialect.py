"""TE's modules, functions, tensors and schedules in Python text."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..ir import Expr, IntImm, Var, build
from ..ir import dtype as dt
from ..script import Note
from ..script.errors import UnknownValueError
from ..script.language import calls_old_te
from ..script.reading import operators
from ..script.reading.dialect import ScriptDialect, is_wrapping
from ..script.reading.intrinsics import is_intrinsic
from ..script.reading.source import Source
from ..script.subset.bindings import bound_names, free_names
from ..script.subset.calls import called
from ..script.subset.constants import compare, fold
from ..script.subset.core import Evaluator
from ..script.subset.memory import MAX_VALUES
from ..script.subset.scope import Scope, Unknown, Value
from ..script.subset.statements import evaluator
from ..script.subset.targets import items
from ..script.subset.values import Function, Module, reachable
from ..script.targets import KINDS, TARGET, TargetName, is_target, target_part
from ..script.tilelang.names import is_of_language, type_code, type_named, type_part
from . import functions, reductions, stage_calls, stages
from .arithmetic.index_maps import MapObject, map_attribute, map_call, map_maker
from .arithmetic.simplification import SIMPLIFYING, Analyzer, helper_named, simplified
from .model import Axis, Compute, Fixed, Operation, Placeholder, Reducer, Reduction, Scan, Tensor
from .operators import topi
from .reader import TEReader, expected_attributes
from .tuning import TunedAnnotation, TunedOrder, TunedSplit, TuningConfig, apply_choice, config_call, config_item

# fmt: off
_RUNNING = frozenset((
    "nd", "runtime", "cpu", "gpu", "cuda", "opencl", "device", "context", "target", "testing", "contrib", "auto_scheduler", "autotvm",
    "rpc", "transform", "random", "IRModule", "get_global_func", "environment", "ir", "relax", "relay", "meta_schedule", "dlight",
    "driver", "support", "script.from_source", "register_func", "tir.transform", "tir.analysis", "tir.stmt_functor", "tir.TensorIntrin",
    "build_config", "s_tir.transform", "s_tir.analysis", "s_tir.TensorIntrin", "s_tir.dlight", "s_tir.meta_schedule", "tirx.transform",
))
# fmt: on
"""Names of tvm that concern running a program, not its definition."""


_DEFAULT = ("tvm", "te", "tir", "tirx", "s_tir", "topi", "vta", "np", "numpy")
"""Modules that a part of a text may leave out to import."""
_MAKING = ("placeholder", "compute", "create_schedule", "create_prim_func", "extern", "scan", "Schedule", "extern_primfunc", "get_config",
           "hybrid", "script")  # fmt: skip
"""Functions that make a program or schedule."""


_UNREAD_PARTS = (
    "body",
    "attrs",
    "tag",
    "source",
    "iter_type",
    "thread_tag",
    "value_index",
    "num_outputs",
    "handle",
    "same_as",
    "__hash__",
)
"""Attributes of TVM's tensors, operations and axes that texts print and compare."""
_OPERATIONS = ("PlaceholderOp", "ComputeOp", "ScanOp", "ExternOp")
"""TVM's types of operations."""
_GRADIENTS = ("gradient", "grad_op")
"""Functions of TVM's forks and older versions that differentiate a tensor."""


class TEDialect(ScriptDialect):
    """Adds TE."""

    reader: TEReader

    def __init__(self, reader: TEReader) -> None:
        super().__init__(reader)
        self._concerned: dict[int, bool] = {}  # functions of the text by id

    # --- names

    def module(self, name: str) -> Module | None:
        return Module(name) if name in _DEFAULT else None

    def named(self, value: Value, name: str) -> None:
        self.reader.record.named(value, name)
        if isinstance(value, Unknown):
            self._give(self.reader.python, name)

    def imported(self, run: Evaluator, name: str) -> None:
        self._give(run, name)

    def forgot(self, run: Evaluator, node: ast.stmt) -> None:
        for name in bound_names(node):
            self._give(run, name)

    def _give(self, run: Evaluator, name: str) -> None:
        """Give a variable whose value is not known the value from outside."""
        if self.takes(run, name):
            self.give(run.scope, name)

    def supplied(self, name: str, value: Unknown) -> Value:
        if name not in self.reader.outside:
            return value
        self.reader.used.add(name)
        return self.reader.outside[name]

    def is_whole(self, name: str) -> bool:
        return is_target(name)

    def give(self, scope: Scope, name: str) -> None:
        """Give a variable the value from outside, if there is one."""
        if name in self.reader.outside:
            scope.define(name, self.reader.outside[name])
            self.reader.used.add(name)

    def takes(self, run: Evaluator, name: str) -> bool:
        return not run.functions or (self._is_own(run) and not self.has_axes(run))

    def _is_own(self, run: Evaluator) -> bool:
        return run.source.owner(run.functions[-1].node) is run.source

    def has_axes(self, run: Evaluator) -> bool:
        taken = run.functions[-1].node.args
        names = (argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs))
        return any(isinstance(run.scope.get(name), Expr) for name in names)

    def name(self, run: Evaluator, node: ast.Name) -> Value:
        return self.reader.undefined(node)

    def global_value(self, run: Evaluator, name: str, node: ast.expr) -> Value:
        known = type_code(name) if type_named(name) is None else type_named(name)
        if known is not None:
            return known
        if self.is_running(name):
            return run.runs(node)
        if self.reader.script_name(node) == "T.AXIS_SEPARATOR":
            return stages.SEPARATOR
        return Module(name)

    def is_running(self, name: str) -> bool:
        """Whether a dotted name belongs to the runtime: `np.zeros`, `tvm.nd.array`, `tvm.cpu`."""
        if is_of_language(name):
            return False
        module, *rest = name.split(".")
        if module in ("tvm", "vta"):
            return ".".join(rest[:1]) in _RUNNING or ".".join(rest[:2]) in _RUNNING
        return module not in ("te", "tir", "tirx", "s_tir", "topi", "vta", "T", "tilewright")

    # --- calls

    def call(self, run: Evaluator, name: str, node: ast.Call) -> Value:
        known = self.of_tiles(name, node)
        if known is not None:
            return known
        script_name = self.reader.script_name(node.func)
        read = functions.FUNCTIONS.get(script_name.removeprefix("T.")) if script_name is not None else None
        if read is not None:
            return read(self.reader, node)
        made = map_maker(name, self.reader, node)
        if made is not None:
            return made
        helper = helper_named(name)
        if helper is not None:
            return helper(self.reader, node)
        if topi.is_on_arrays(name):
            return run.passed_call(node, keeps=True)
        if topi.is_topi(name):
            if topi.is_schedule(name):
                return functions.create_schedule(self.reader, topi.read_schedule(self.reader, node), node)
            return topi.read_topi(self.reader, node)
        is_unread = name.startswith("tvm.") and not is_intrinsic(script_name or "")
        if name.endswith((".target.Target.current", ".current_target")) or name == "Target.current":
            return self._current_target(run, node)
        if name.endswith(".target.Target") and len(node.args) == 1 and not node.keywords:
            kind = run.value(node.args[0])
            return TargetName(kind) if isinstance(kind, str) and kind in KINDS else run.runs(node)
        if name.rpartition(".")[2] in _GRADIENTS:
            raise run.error(node, "unsupported", "gradients of TE are not read: TVM 0.27 has none",
                            expected="the gradient, written with te.compute")  # fmt: skip
        if is_wrapping(name, node):
            return run.value(node.args[0])
        if script_name is None or self.is_running(name) or is_unread:
            return self._run(run, name, node)
        return self.reader.intrinsic(node)

    def _current_target(self, run: Evaluator, node: ast.Call) -> Value:
        """Read `tvm.target.Target.current()`: the target that is given."""
        unknown = Unknown(f"line {run.line(node)} asks for the current target", TARGET)
        return self.supplied(TARGET, unknown)

    def _run(self, run: Evaluator, name: str, node: ast.Call) -> Value:
        """Pass over code that runs. A task of a tuner, `SearchTask(func=matmul, args=(128, "float32"))`, calls a function of the text."""
        keywords = {k.arg: k.value for k in node.keywords}
        if name.endswith("task.create") and node.args:
            keywords["func"] = node.args[0]
        if {"func", "args"} <= keywords.keys():
            function, args = run.value(keywords["func"]), run.value(keywords["args"])
            if isinstance(function, Function) and isinstance(args, tuple | list):
                called(run, function, args, node)
        return run.passed_call(node, keeps=self.keeps(name))

    def apply(self, run: Evaluator, callee: Value, node: ast.Call) -> Value:
        match callee:
            case Reducer():
                return reductions.reduced(self.reader, callee, node)
            case Tensor():
                return self.reader.applied(callee, node)
            case _:
                return super().apply(run, callee, node)

    def method(self, run: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
        match owner:
            case stages.TESchedule():
                return stage_calls.schedule_call(self.reader, owner, name, node)
            case stages.Stage():
                return stage_calls.stage_call(self.reader, owner, name, node)
            case TuningConfig():
                return config_call(self.reader, owner, name, node)
            case TunedSplit() | TunedOrder() | TunedAnnotation() if name == "apply":
                return apply_choice(self.reader, owner, node)
            case MapObject():
                return map_call(self.reader, owner, name, node)
            case Analyzer() if name in SIMPLIFYING:
                return simplified(self.reader, node)
            case str() if name == "matches_code" and (code := type_part(owner, "type_code")) is not None:
                codes = items(run, node.args)
                return code in codes if all(isinstance(known, int) for known in codes) else run.runs(node)
            case Operation() if name == "output":
                return Tensor(owner, self.reader.constant_int(node.args[0]) if node.args else 0)
            case Expr() if name == "equal" and len(node.args) == 1 and not node.keywords:
                written = ast.copy_location(ast.Compare(node.func, [ast.Eq()], [node.args[0]]), node)
                return operators.compared(self.reader, written, ast.Eq(), owner, run.value(node.args[0]))
            case Tensor() if name == "astype" and owner.buffer.shape and len(node.args) == 1 and not node.keywords:
                return topi.operator_result(self.reader, "cast", [owner, self.reader.dtype(node.args[0])], {}, node)
            case _ if name == "astype" and len(node.args) == 1 and not node.keywords:
                return build.cast(self.reader.as_expr(owner, node), self.reader.dtype(node.args[0]))
            case Tensor() | Operation() | Axis() if name in _UNREAD_PARTS:
                return run.passed_call(node, keeps=True)
            case _:
                raise run.error(node.func, "unsupported", f".{name}() is not part of the supported subset of TE",
                                expected="te.… functions, methods of a schedule and its stages, .astype")  # fmt: skip

    def builtin(self, run: Evaluator, name: str, args: Sequence[Value], node: ast.Call) -> Value:
        if name == "len":
            if isinstance(args[0], Tensor):
                return len(args[0].buffer.shape)
            raise run.error(node, "wrong-type", "this value has no length", expected="a list or a tensor")
        return reductions.larger(self.reader, name, args, node)

    # --- values

    def attribute(self, run: Evaluator, owner: Value, name: str, node: ast.Attribute) -> Value:
        if isinstance(owner, stages.TESchedule) and name in ("stages", "outputs"):
            return owner.outputs if name == "outputs" else run.runs(node)
        if isinstance(owner, TunedSplit) and name == "size":
            return owner.sizes
        if isinstance(owner, TuningConfig) and name == "is_fallback":
            return False
        found = map_attribute(owner, name) if isinstance(owner, MapObject) else self.reader.attribute_of(owner, name)
        if found is None and isinstance(owner, TargetName):
            found = target_part(owner, name)
            if isinstance(found, int):
                self.reader.notes.append(
                    Note(f"{name}={found}, as TVM has it for the target {owner}", run.source.place(node))
                )
        elif found is None and isinstance(owner, str):
            found = type_part(owner, name)
        if found is None and isinstance(owner, Tensor | Operation | Axis) and name in _UNREAD_PARTS:
            return Unknown(f"line {run.line(node)} asks for .{name}, which is not read")
        if found is None:
            raise run.error(node, "unsupported", f".{name} is not supported here", expected=expected_attributes(owner))
        return found

    def item(self, run: Evaluator, owner: Value, node: ast.Subscript) -> Value:
        if isinstance(owner, TuningConfig):
            return config_item(self.reader, owner, node)
        found = self.reader.item(owner, node)
        if found is None:
            raise run.error(node, "wrong-type", "this value has no items", expected="a tensor, a list, or a schedule")
        return found

    def fold(self, op: ast.operator, a: int | float, b: int | float) -> int | float:
        """Return `a op b`; / between integers truncates, as in C, in texts of TVM 0.6 and older."""
        if isinstance(op, ast.Div) and self.reader.old and isinstance(a, int) and isinstance(b, int):
            if b == 0:
                raise ValueError("division by zero")
            return a // b
        return fold(op, a, b)

    def binary(self, run: Evaluator, node: ast.BinOp, a: Value, b: Value) -> Value:
        if any(isinstance(value, Tensor) and value.buffer.shape for value in (a, b)):
            return topi.tensor_operator(self.reader, node, a, b)
        if isinstance(node.op, ast.Div):
            return self._divided(run, node, a, b)
        return super().binary(run, node, a, b)

    def _divided(self, run: Evaluator, node: ast.BinOp, a: Value, b: Value) -> Expr:
        """Read `/`: ambiguous between integers, except in old texts."""
        x, y = self.reader.as_expr(a, node.left), self.reader.as_expr(b, node.right)
        if self.reader.old and dt.is_int(x.dtype) and dt.is_int(y.dtype):
            return build.div(x, y)
        return operators.arithmetic(self.reader, node, node.op, x, y)

    def truth(self, run: Evaluator, value: Value, node: ast.AST) -> bool | None:
        if isinstance(value, IntImm):
            return bool(value.value)
        found = run.error(node, "unsupported", "this condition is not known when the text is read",
                          expected="a condition on constants",
                          fix=("keep the lines of the branch that applies",
                               "te.if_then_else(condition, a, b), in a computation"))  # fmt: skip
        raise UnknownValueError(found.refusal, value.name) if isinstance(value, Var) else found

    def is_same(self, a: Value, b: Value) -> bool | None:
        kinds = Tensor | Operation | Axis | stages.Stage
        return a == b if isinstance(a, kinds) and isinstance(b, kinds) else None

    def is_of(self, value: Value, name: str) -> bool | None:
        if name.rpartition(".")[2] == "Tensor":
            return isinstance(value, Tensor)
        if name.rpartition(".")[2] in _OPERATIONS:
            return _is_operation(value, name.rpartition(".")[2])
        if name.rpartition(".")[2] == "Any":  # the unknown size of older TVM, which no text gives
            return False
        return super().is_of(value, name)

    def compare(self, run: Evaluator, node: ast.Compare, op: ast.cmpop, a: Value, b: Value) -> Value:
        if isinstance(a, Tensor) and isinstance(b, Tensor) and isinstance(op, ast.Eq | ast.NotEq) and a.buffer.shape:
            return (a == b) == isinstance(op, ast.Eq)
        constants = [value.value if isinstance(value, IntImm) else value for value in (a, b)]
        if all(isinstance(value, int) for value in constants) and not isinstance(op, ast.Is | ast.IsNot):
            return compare(op, *constants)
        return super().compare(run, node, op, a, b)

    # --- other files

    def is_alike(self, source: Source) -> bool:
        return any(map(calls_old_te, source.nodes)) <= self.reader.old

    def note(self, run: Evaluator, text: str, node: ast.AST) -> None:
        self.reader.notes.append(Note(text, run.source.place(node)))

    def read_beside(self, run: Evaluator, path: Path, node: ast.AST) -> None:
        self.note(run, f"names are read from {path.name} beside the text", node)

    # --- what must be read

    def concerns(self, run: Evaluator, node: ast.AST) -> bool:
        return self._concerns(node, run.scope)

    def _concerns(self, node: ast.AST, scope: Scope) -> bool:
        if any(self._makes(part) for part in ast.walk(node) if isinstance(part, ast.Call)):
            return True
        return any(self._is_concerned(scope.get(name)) for name in free_names(node) if not self.only_asks(node, name))

    def only_asks(self, node: ast.AST, name: str) -> bool:
        """Whether code uses a name only for values that do not change it."""
        return False

    def _makes(self, call: ast.Call) -> bool:
        """Whether a call makes a program or a schedule."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        return name in _MAKING

    def _is_concerned(self, value: Value) -> bool:
        """Whether a value is one of a program or schedule, or a function of the text that uses such values."""
        return any(
            self.holds(part) or (isinstance(part, Function) and self._uses(part))
            for part in reachable(value, MAX_VALUES)
        )

    def holds(self, value: Value) -> bool:
        """Whether a value is a part of a program or a schedule."""
        return isinstance(value, Tensor | Operation | Axis | Reduction | stages.Stage | stages.TESchedule)

    def _uses(self, function: Function) -> bool:
        known = self._concerned.get(id(function))
        if known is None:
            self._concerned[id(function)] = False  # for recursive functions
            known = self._concerned[id(function)] = self._concerns(function.node, function.scope)
        return known


def _is_operation(value: Value, kind: str) -> bool | None:
    """Whether a value is an operation of one of TVM's types; None for one of the operator library whose type is not known."""
    match value:
        case Scan():
            return kind == "ScanOp"
        case Fixed(tag=None):
            return None
        case Compute():
            return kind == "ComputeOp"
        case _:
            return isinstance(value, Placeholder) and kind == "PlaceholderOp"


def te_reader(
    source: Source, given: Mapping[str, int | str], *, assumes: bool = False, chosen: int | None = None
) -> TEReader:
    """Return a reader of TE text with its evaluator."""
    reader = TEReader(source, given, assumes=assumes, chosen=chosen)
    reader.python = evaluator(source, TEDialect(reader))
    reader.scope = reader.python.scope
    reader.define_outside()
    return reader


__all__ = ["TEDialect", "te_reader"]
