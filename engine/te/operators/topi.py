"""TVM's operator library, topi, and the workloads of its tests: a call is read as the blocks of TVM's own definition, if TVM is installed.

Only functions of these modules are called, with shapes, numbers and strings of the text. Their schedules are gone from TVM: the
computation is read without them.
"""

from __future__ import annotations

import ast
import re
from importlib import import_module
from inspect import signature
from typing import Any, cast

from ...ir import (
    BlockRealize,
    Buffer,
    Expr,
    IntImm,
    IterVar,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    replace_buffers,
    substitute,
    walk,
)
from ...script import Note, parse
from ...script.errors import UnknownValueError
from ...script.subset.scope import Unknown, Value
from ...script.subset.values import unknown_error
from ..model import Axis, Fixed, Placeholder, Tensor
from ..reader import TEReader
from ..tensors import outputs_of

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
}  # fmt: skip
"""Operators on whole tensors."""


_WORKLOADS = re.compile(r"^(?:tvm\.)?(?:s_tir\.)?meta_schedule\.testing\.te_workload\.")
_WORKLOAD_MODULE = "tvm.s_tir.meta_schedule.testing.te_workload"
"""Computations of TVM's tests, which tuning scripts import."""


def is_topi(name: str | None) -> bool:
    """Whether a dotted name is one of the operator library or of its workloads."""
    return name is not None and (name.removeprefix("tvm.").startswith("topi.") or _WORKLOADS.match(name) is not None)


def is_on_arrays(name: str) -> bool:
    """Whether a name of the library is that of a function on arrays, which tests compare results with."""
    return name.removeprefix("tvm.").startswith("topi.testing.")


def is_schedule(name: str) -> bool:
    """Whether a name of the library is that of a schedule: topi.generic.schedule_injective."""
    return name.rpartition(".")[2].startswith("schedule_")


def read_topi(reader: TEReader, node: ast.Call) -> Value:
    """Read a call of an operator."""
    name = (reader.python.dotted(node.func) or "").removeprefix("tvm.").removeprefix("topi.")
    args = reader.items(node.args)
    kwargs = {k.arg: reader.value(k.value) for k in node.keywords if k.arg is not None}
    return operator_result(reader, name, args, kwargs, node)


def tensor_operator(reader: TEReader, node: ast.BinOp, a: Value, b: Value) -> Value:
    """Read `a + b` of whole tensors, which is an operator of the library."""
    if type(node.op) not in _OPERATORS:
        raise reader.error(node, "unsupported", "this operator is not supported on tensors", expected="+ - * /")
    return operator_result(reader, _OPERATORS[type(node.op)], [a, b], {}, node)


def operator_result(reader: TEReader, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """Return the tensors that an operator computes. Raises "unsupported" without TVM, and with TVM's reason."""
    made = _Converted()
    shown = name if _WORKLOADS.match(name) else f"topi.{name}"
    given = [made.argument(reader, value, node) for value in args]
    named = {key: made.argument(reader, value, node) for key, value in kwargs.items()}
    try:
        tvm = import_module("tvm")
    except ImportError:
        raise reader.error(node, "unsupported", f"{shown} is defined in TVM, which is not installed here",
                           expected="te.compute", fix=("pip install apache-tvm",)) from None  # fmt: skip
    if given[:1] == [None]:  # TVM's code ends the process for some of these
        raise reader.error(node, "unsupported", f"{shown} of None has no result", expected="a tensor")
    function = _function(tvm, name)
    if function is None:
        raise reader.error(node, "unsupported", f"TVM {tvm.__version__} has no {shown}", expected="an operator of tvm.topi",
                           fix=("write the computation with te.compute",))  # fmt: skip
    named = _current(function, named)
    try:
        found = function(*(made.tvm(tvm, v) for v in given), **{key: made.tvm(tvm, v) for key, v in named.items()})
        sizes = _numbers(tvm, found)
        if sizes is not None:
            return sizes
        outputs: list[Any] = list(found) if hasattr(found, "__len__") else [found]
        text = tvm.te.create_prim_func([*made.placeholders.values(), *outputs]).script()
    except Exception as error:  # TVM's Python functions raise any exception for arguments that they do not take
        reason = str(error).strip().rpartition("\n")[2][:200]
        raise reader.error(node, "unsupported", f"TVM refuses {shown} with these arguments: {reason}",
                           expected="the operator's arguments") from error  # fmt: skip
    func = parse(text).program
    assert isinstance(func, PrimFunc)
    results = _operations(reader, func, made, _tags(tvm, outputs), node)
    return results[0] if len(results) == 1 else results


_RENAMED = {"layout": "data_layout", "input": "data", "filter": "weight"}
"""Parameters of operators that have another name in TVM 0.27."""


def _current(function: Any, named: dict[str, Value]) -> dict[str, Value]:
    """Return keyword arguments with today's names."""
    try:
        taken = signature(function).parameters
    except (TypeError, ValueError):
        return named
    renamed = {old: new for old, new in _RENAMED.items() if old not in taken and new in taken}
    return {renamed.get(name, name): value for name, value in named.items()}


def _numbers(tvm: Any, found: Any) -> Value:
    """Return the numbers that a helper of the library computes, such as `get_pad_tuple`; None for tensors."""
    if isinstance(found, int):
        return found
    if isinstance(found, tvm.tirx.IntImm):
        return int(found.value)
    if isinstance(found, tuple | list):
        items = [_numbers(tvm, item) for item in cast("tuple[Any, ...]", found)]
        return None if not items or None in items else tuple(items)
    return None


def _function(tvm: Any, name: str) -> Any:
    """Return an operator of the library; one of a target (`topi.cuda.conv2d_nchw`) is that of `topi.nn` today."""
    workload = _WORKLOADS.match(name)
    if workload is not None:
        made = getattr(import_module(_WORKLOAD_MODULE), name[workload.end() :], None)
        return made if getattr(made, "__module__", "") == _WORKLOAD_MODULE and not isinstance(made, type) else None
    parts = name.split(".")
    if parts[0] in ("testing", "utils"):
        return None  # these compute on arrays
    for path in (parts, ["nn", parts[-1]], parts[-1:]):
        found: Any = tvm.topi
        for part in path:
            found = None if part.startswith("_") else getattr(found, part, None)
        module = getattr(found, "__module__", "") or ""
        if callable(found) and not isinstance(found, type) and module.startswith("tvm.topi"):
            return found
    return None


class _Converted:
    """The arguments of an operator as TVM's values."""

    def __init__(self) -> None:
        self.tensors: dict[Tensor, None] = {}
        self.placeholders: dict[Tensor, Any] = {}
        self.sizes: dict[str, Any] = {}

    def argument(self, reader: TEReader, value: Value, node: ast.AST) -> Value:
        """Check an argument: tensors, constants, and lists of them."""
        match value:
            case Tensor() | bool() | int() | float() | str() | None:
                return value
            case IntImm():
                return value.value
            case tuple() | list():
                return tuple(self.argument(reader, item, node) for item in value)
            case Unknown():
                raise unknown_error(reader.source, value, node)
            case _:
                error = reader.error(node, "unsupported", "an operator of topi takes tensors and constants here",
                                     expected="a tensor, a number, a string, or a list of them")  # fmt: skip
                raise UnknownValueError(error.refusal, value.name) if isinstance(value, Var) else error

    def tvm(self, tvm: Any, value: Value) -> Any:
        if isinstance(value, tuple | list):
            return [self.tvm(tvm, item) for item in value]
        if not isinstance(value, Tensor):
            return value
        if value not in self.placeholders:
            shape = [self._extent(tvm, extent) for extent in value.buffer.shape]
            self.placeholders[value] = tvm.te.placeholder(shape, value.buffer.dtype, value.buffer.name)
        return self.placeholders[value]

    def _extent(self, tvm: Any, extent: Expr) -> Any:
        if isinstance(extent, IntImm):
            return extent.value
        if isinstance(extent, Var):
            return self.sizes.setdefault(extent.name, tvm.te.var(extent.name, extent.dtype))
        raise ValueError("a size of a tensor is neither a number nor a variable")


def _tags(tvm: Any, outputs: list[Any]) -> dict[str, str]:
    """Return the tags of TVM's operations by name, of those whose name is not used twice."""
    found: dict[str, str] = {}
    pending = [tensor.op for tensor in outputs]
    seen: list[Any] = []
    names: list[str] = []
    while pending:
        op = pending.pop()
        if any(op.same_as(known) for known in seen):
            continue
        seen.append(op)
        if isinstance(op, tvm.te.ComputeOp):
            names.append(op.name)
            found[op.name] = op.tag
            pending += [tensor.op for tensor in op.input_tensors]
    return {name: tag for name, tag in found.items() if names.count(name) == 1}


def _operations(
    reader: TEReader, func: PrimFunc, made: _Converted, tags: dict[str, str], node: ast.AST
) -> tuple[Tensor, ...]:
    """Add an operation for each loop nest of TVM's program, and return the outputs."""
    buffers: dict[Buffer, Buffer] = {}
    sizes: dict[Var, Expr] = {}
    given = list(made.placeholders)
    for tensor, theirs in zip(given, func.buffers, strict=False):
        buffers[theirs] = tensor.buffer
        sizes |= {e: own for e, own in zip(theirs.shape, tensor.buffer.shape, strict=True) if isinstance(e, Var)}
    root = func.body
    assert isinstance(root, BlockRealize)
    body = substitute(replace_buffers(root.block.body, buffers), sizes)
    outputs: dict[str, Tensor] = {}
    written = {region.buffer for part in walk(body) if isinstance(part, BlockRealize) for region in part.block.writes}
    inputs = [Placeholder(b.name, (b,), node, tag="") for b in func.buffers[len(given) :] if b not in written]
    parts = body.seq if isinstance(body, SeqStmt) else (body,)
    for operation in (*inputs, *(_operation(stmt, tags, node) for stmt in parts)):
        outputs |= {tensor.buffer.name: tensor for tensor in outputs_of(reader, operation)}
    return tuple(outputs[b.name] for b in func.buffers[len(given) :])


def _operation(stmt: Stmt, tags: dict[str, str], node: ast.AST) -> Fixed:
    blocks = [n.block for n in walk(stmt) if isinstance(n, BlockRealize)]
    written = tuple(dict.fromkeys(r.buffer for block in blocks for r in block.writes))
    read = tuple(dict.fromkeys(r.buffer for block in blocks for r in block.reads if r.buffer not in written))
    axes = [Axis(Var(v.var.name.removeprefix("v_"), v.var.dtype), v.dom, _kind(v)) for v in blocks[0].iter_vars]
    spatial = tuple(a for a in axes if a.kind == "spatial")
    reduced = tuple(a for a in axes if a.kind == "reduce")
    name = written[0].name
    return Fixed(name, written, node, spatial, reduced, tags.get(name), stmt=stmt, reads=read)


def _kind(iter_var: IterVar) -> Any:
    return "spatial" if iter_var.iter_type == "spatial" else "reduce"


def read_schedule(reader: TEReader, node: ast.Call) -> Value:
    """Return the tensors that a schedule of the library is for, with a note."""
    name = ast.unparse(node.func)
    text = f"{name} is gone from TVM: the computation is read without its schedule"
    reader.notes.append(Note(text, reader.source.place(node)))
    found = reader.items(node.args)
    lists = [value for value in found if isinstance(value, tuple | list)]
    return lists[-1] if lists else tuple(value for value in found if isinstance(value, Tensor))


__all__ = ["is_on_arrays", "is_schedule", "is_topi", "operator_result", "read_schedule", "read_topi", "tensor_operator"]
