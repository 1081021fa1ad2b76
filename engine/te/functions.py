"""TE's functions by name: variables, tensors, axes, reductions, schedules. Math functions are TVMScript's (`script.intrinsics`)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from ..ir import Buffer, Expr, Range, StringImm, Var, build
from ..ir import dtype as dt
from ..script import Note
from ..script.reading.intrinsics import INTRINSICS, parameters
from ..script.subset.scope import Unknown, Value
from ..script.subset.values import Attributes, Function, several
from . import reductions, stages
from .arithmetic.simplification import Analyzer, simplified
from .model import (
    Axis,
    Compute,
    Intrinsic,
    Placeholder,
    Reduction,
    Tensor,
    ThreadAxis,
)
from .operators import binds, extern, scan
from .reader import TEReader
from .sizes import require_small
from .tensors import identifier, outputs_of, read_dtype, read_shape
from .tuning import TuningConfig
from .vta import environment

Read: TypeAlias = Callable[[TEReader, ast.Call], Value]

# --- variables, shapes, tensors


def _var(reader: TEReader, node: ast.Call) -> Value:
    name_node, dtype_node = parameters(reader, node, ("name", "dtype"), 0)
    name = reader.string(name_node) if name_node is not None else "tindex"
    dtype = reader.dtype(dtype_node) if dtype_node is not None else "int32"
    return build.const(reader.sizes[name], dtype) if name in reader.sizes else Var(name, dtype)


def _data_type(reader: TEReader, node: ast.Call) -> Value:
    """Read `tvm.DataType("int4")`, for its bits and lanes."""
    (given,) = parameters(reader, node, ("dtype",))
    assert given is not None
    name = reader.dtype(given)
    if not dt.is_int(name) and not dt.is_float(name):
        raise reader.error(
            given, "unsupported", f"the bits of {name} are not known here", expected="an integer or float type"
        )
    return Attributes({"bits": dt.bits(name), "lanes": dt.lanes(name)}, f"DataType({name!r})")


def _placeholder(reader: TEReader, node: ast.Call) -> Value:
    shape, dtype, name, _ = parameters(reader, node, ("shape", "dtype", "name", "requires_grad"), 1)
    assert shape is not None
    title = reader.string(name) if name is not None else "placeholder"
    buffer = Buffer(identifier(title), read_shape(reader, shape), read_dtype(reader, dtype))
    return outputs_of(reader, Placeholder(title, (buffer,), node, tag=""))[0]


def _compute(reader: TEReader, node: ast.Call) -> Value:
    names = ("shape", "fcompute", "name", "tag", "attrs", "varargs_names", "requires_grad")
    shape_node, body_node, name, tag_node, attrs, varargs, _ = parameters(reader, node, names, 2)
    assert shape_node is not None and body_node is not None
    if varargs is not None:
        raise reader.error(node, "unsupported", "varargs_names= of te.compute is not supported",
                           expected="te.compute(shape, lambda …, name=…)")  # fmt: skip
    if attrs is not None:
        reader.notes.append(Note("the attributes of this computation are left out", reader.source.place(attrs)))
    shape, function = read_shape(reader, shape_node), reader.value(body_node)
    if not isinstance(function, Function):
        raise reader.error(
            body_node, "wrong-type", "te.compute needs a function of its axes", expected="lambda i, j: …"
        )
    axes = _axes(reader, function, shape, body_node)
    value = reader.call(function, [axis.var for axis in axes], body_node)
    title = reader.string(name) if name is not None else "compute"
    tag = reader.value(tag_node) if tag_node is not None else ""
    tag = tag if isinstance(tag, str) else None
    made = outputs_of(reader, _compute_op(reader, title, shape, axes, value, tag, node))
    return made[0] if len(made) == 1 else made


def _axes(reader: TEReader, function: Function, shape: tuple[Expr, ...], node: ast.expr) -> tuple[Axis, ...]:
    """Return an axis for each dimension of the shape, named after the parameters; those of `*i` are i0, i1, … counted from its start."""
    args = function.node.args
    names = [a.arg for a in (*args.posonlyargs, *args.args)]
    if args.vararg is not None or not names:
        names += [f"i{i}" for i in range(len(shape) - len(names))]
    if len(names) != len(shape):
        raise reader.error(node, "wrong-arguments", f"the function has {len(names)} axes, the shape {len(shape)}",
                           expected=f"lambda {', '.join(f'i{i}' for i in range(len(shape)))}: …")  # fmt: skip
    found: list[Axis] = []
    for name, extent in zip(names, shape, strict=True):
        found.append(Axis(Var(name, extent.dtype), Range(build.const(0, extent.dtype), extent), "spatial"))
    return tuple(found)


def _compute_op(
    reader: TEReader, name: str, shape: tuple[Expr, ...], axes: tuple[Axis, ...], value: Value, tag: str | None, node: ast.Call,
) -> Compute:  # fmt: skip
    if isinstance(value, tuple | list) and len(value) == 1 and isinstance(value[0], Reduction):
        value = value[0]
    if isinstance(value, Reduction):
        buffers = _outputs(name, shape, [source.dtype for source in value.sources])
        return Compute(name, buffers, node, axes, value.axes, tag, (), value)
    at = node.args[1] if len(node.args) > 1 else node
    values = tuple(reader.as_expr(v, at) for v in several(value))
    require_small(reader, values, at)
    if not values or any(v.dtype in ("handle", "void") or isinstance(v, StringImm) for v in values):
        raise reader.error(
            node, "wrong-type", "the function does not return a number", expected="an expression of the axes"
        )
    return Compute(name, _outputs(name, shape, [v.dtype for v in values]), node, axes, (), tag, values)


def _outputs(name: str, shape: tuple[Expr, ...], dtypes: list[str]) -> tuple[Buffer, ...]:
    names = [identifier(name)] if len(dtypes) == 1 else [f"{identifier(name)}_v{i}" for i in range(len(dtypes))]
    return tuple(Buffer(n, shape, dtype) for n, dtype in zip(names, dtypes, strict=True))


# --- logic


def _converted(reader: TEReader, node: ast.Call) -> Value:
    """Read `tvm.runtime.convert([i, 0])`: the values as TVM's."""
    (given,) = parameters(reader, node, ("value",))
    assert given is not None
    value = reader.require_known(reader.value(given), given)
    if isinstance(value, tuple | list):
        return tuple(reader.as_expr(item, given) for item in value)
    return reader.as_expr(value, given)


def _math(name: str) -> Read:
    def read(reader: TEReader, node: ast.Call) -> Value:
        return INTRINSICS[name](reader, node)

    return read


# --- schedules, programs


def _thread_axis(reader: TEReader, node: ast.Call) -> Value:
    """Read `te.thread_axis("threadIdx.x")`, with or without a leading extent; the extent is ignored, because the bound loop has one."""
    dom, tag, *_ = parameters(reader, node, ("dom", "tag", "name", "span"), 0)
    found = reader.value(tag) if tag is not None else reader.value(dom) if dom is not None else None
    if not isinstance(found, str):
        raise reader.error(
            node, "wrong-arguments", "a thread axis needs a tag", expected='te.thread_axis("threadIdx.x")'
        )
    return ThreadAxis("vthread" if found in ("vthread", "cthread") else found)


def _create_schedule(reader: TEReader, node: ast.Call) -> Value:
    (ops,) = parameters(reader, node, ("ops",))
    assert ops is not None
    return create_schedule(reader, reader.value(ops), ops)


def create_schedule(reader: TEReader, value: Value, node: ast.expr) -> Value:
    """Return the schedule of operations or tensors."""
    found = [v.op if isinstance(v, Tensor) else v for v in several(value)]
    outputs = tuple(v for v in found if isinstance(v, Compute))
    unknown = next((v for v in found if isinstance(v, Unknown)), None)
    if unknown is not None:
        what = f"the computation of this schedule is not in the text: {unknown.why}"
        raise reader.error(node, "unsupported", what, expected="te.compute in the text, or in a file beside it",
                           fix=("put the folder of the package that computes it beside the file",))  # fmt: skip
    if len(outputs) != len(found) or not outputs:
        raise reader.error(
            node, "wrong-type", "te.create_schedule needs operations of te.compute", expected="te.create_schedule(C.op)"
        )
    made = stages.TESchedule(outputs, reader.operations)
    if reader.begin_schedule(node):
        reader.record.schedule, reader.record.parameters = made, None
    return made


def _lower(reader: TEReader, node: ast.Call) -> Value:
    """Read `tvm.lower(s, [A, C])` or `tvm.build(s, [A, C], target)`: the parameter tensors and their order."""
    keywords = {k.arg: k.value for k in node.keywords}
    args = node.args[1] if len(node.args) > 1 else keywords.get("args")
    schedule = reader.value(node.args[0]) if node.args else None
    if isinstance(schedule, Unknown) or (schedule is not None and not isinstance(schedule, stages.TESchedule)):
        return reader.python.passed_call(node, keeps=True)  # an already lowered module
    if schedule is not None and schedule is not reader.record.schedule:
        return reader.python.passed_call(node, keeps=True)  # another schedule of the text
    if args is None:
        raise reader.error(node, "wrong-arguments", "the parameters are missing", expected="tvm.lower(s, [A, B, C])")
    if "binds" in keywords:
        binds.bind_buffers(reader, keywords["binds"])
    _set_parameters(reader, args)
    return reader.python.runs(node)


def _create_prim_func(reader: TEReader, node: ast.Call) -> Value:
    ops, _ = parameters(reader, node, ("ops", "index_dtype_override"), 1)
    assert ops is not None
    _set_parameters(reader, ops)
    return reader.python.runs(node)


def _block_schedule(reader: TEReader, node: ast.Call) -> Value:
    """Read the creation of a TensorIR schedule for te.create_prim_func: `adopt` reads its calls."""
    for argument in reader.items(node.args):
        if not isinstance(argument, Unknown):
            raise reader.error(
                node, "wrong-type", "the schedule needs a program", expected="Schedule(te.create_prim_func([A, B]))"
            )
    return reader.python.runs(node)


def _set_parameters(reader: TEReader, node: ast.expr) -> None:
    value = reader.value(node)
    found = several(value)
    kept = tuple(v for v in found if isinstance(v, Tensor | Var))
    if len(kept) != len(found) or not kept:
        raise reader.error(node, "wrong-type", "parameters must be tensors and variables", expected="[A, B, C]")
    reader.record.parameters = kept


def _tensor_intrin(reader: TEReader, node: ast.Call) -> Value:
    """Read the declaration of a tensor intrinsic; the function that emits its instructions is ignored."""
    return Intrinsic()


def _environment(reader: TEReader, node: ast.Call) -> Value:
    return environment()


def _config(reader: TEReader, node: ast.Call) -> Value:
    return TuningConfig()


def _analyzer(reader: TEReader, node: ast.Call) -> Value:
    return Analyzer()


def _immediate(reader: TEReader, node: ast.Call) -> Value:
    """Read `IntImm("int32", 0)`."""
    dtype, value = parameters(reader, node, ("dtype", "value"))
    assert dtype is not None and value is not None
    number = reader.value(value)
    if not isinstance(number, int | float):
        raise reader.error(value, "wrong-type", "an immediate is a number", expected='IntImm("int32", 0)')
    return build.const(number, reader.dtype(dtype))


UNREAD = {
    "extern_primfunc": "te.extern_primfunc calls a function that the text does not show",
    "hybrid.script": "hybrid script is a different language",
}
"""Functions that are refused, with the reason."""
_FIXES = {
    "hybrid.script": ("write the loops as a @T.prim_func, or the computation with te.compute",),
}


def _refused(name: str, reason: str) -> Read:
    def read(reader: TEReader, node: ast.Call) -> Value:
        raise reader.error(node, "unsupported", reason, expected="te.placeholder, te.compute and a schedule of them",
                           fix=_FIXES.get(name, ()))  # fmt: skip

    return read


FUNCTIONS: dict[str, Read] = {
    "var": _var,
    "size_var": _var,
    "Var": _var,
    "SizeVar": _var,
    "DataType": _data_type,
    "const": _math("const"),
    **{f"{module}{kind}": _immediate for kind in ("IntImm", "FloatImm") for module in ("", "expr.")},
    "placeholder": _placeholder,
    "compute": _compute,
    "reduce_axis": reductions.reduce_axis,
    **{name: reductions.reducer_or_math(name) for name in ("sum", "prod", "min", "max")},
    "comm_reducer": reductions.comm_reducer,
    "all": _math("all"),
    "any": _math("any"),
    "convert": _converted,
    "runtime.convert": _converted,
    "expr.Select": _math("Select"),
    "select": _math("Select"),
    "indexdiv": _math("floordiv"),
    "indexmod": _math("floormod"),
    "thread_axis": _thread_axis,
    "create_schedule": _create_schedule,
    "lower": _lower,
    "build": _lower,
    "create_prim_func": _create_prim_func,
    "Schedule": _block_schedule,
    "decl_buffer": binds.read_layout,
    "decl_tensor_intrin": _tensor_intrin,
    "extern": extern.read_extern,
    "scan": scan.read_scan,
    **{f"contrib.{library}.matmul": extern.library_matmul(library) for library in extern.LIBRARIES},
    "get_env": _environment,
    "autotvm.get_config": _config,
    "arith.Analyzer": _analyzer,
    "ir_pass.Simplify": simplified,
    **{name: _refused(name, reason) for name, reason in UNREAD.items()},
}
