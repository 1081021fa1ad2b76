"""`te.extern`: a call of other code. It becomes one block that declares what it reads and writes; its effect is not known here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...ir import Block, BlockRealize, Buffer, BufferData, Call, Evaluate, Expr, StringImm, build
from ...script import Note
from ...script.reading.intrinsics import parameters
from ...script.reading.vocabulary import OPAQUE
from ...script.subset.scope import Value
from ...script.subset.values import Function, several
from ..model import Fixed, Tensor
from ..reader import TEReader
from ..tensors import identifier, outputs_of, read_dtype, read_shape

LIBRARIES = ("cblas", "mkl", "dnnl", "cublas", "rocblas")
"""Modules of tvm.contrib with a matmul."""
_PACKED = ("T.call_packed", "T.call_cpacked", "T.tvm_call_packed")


def read_extern(reader: TEReader, node: ast.Call) -> Value:
    """Read `te.extern(shape, inputs, fcompute, name, dtype, …)`."""
    names = ("shape", "inputs", "fcompute", "name", "dtype", "in_buffers", "out_buffers", "tag", "attrs")
    shape, given, function, name, dtype, *_ = parameters(reader, node, names, 3)
    assert shape is not None and given is not None and function is not None
    inputs = _tensors(reader, given)
    title = reader.string(name) if name is not None else "extern"
    kinds = _dtypes(reader, dtype, inputs, node)
    shapes = [read_shape(reader, part) for part in _shapes(reader, shape)]
    if len(kinds) not in (1, len(shapes)):
        raise reader.error(
            node,
            "wrong-arguments",
            f"{len(kinds)} types do not match {len(shapes)} outputs",
            expected="a type for each",
        )
    kinds *= len(shapes) if len(kinds) == 1 else 1
    buffers = tuple(
        Buffer(identifier(title if len(shapes) == 1 else f"{title}_v{n}"), extents, kind)
        for n, (extents, kind) in enumerate(zip(shapes, kinds, strict=True))
    )
    return _called(reader, title, inputs, buffers, reader.value(function), node)


def library_matmul(library: str) -> Callable[[TEReader, ast.Call], Value]:
    """Return a reader of `cblas.matmul(A, B)` and its like, which are calls of te.extern in TVM."""

    def read(reader: TEReader, node: ast.Call) -> Value:
        lhs, rhs, *flags = parameters(reader, node, ("lhs", "rhs", "transa", "transb", "dtype"), 2)
        assert lhs is not None and rhs is not None
        a, b = _tensors(reader, ast.copy_location(ast.Tuple([lhs, rhs], ast.Load()), node))
        if len(a.buffer.shape) != 2 or len(b.buffer.shape) != 2:
            raise reader.error(node, "wrong-type", "a matmul needs two matrices", expected="tensors with two axes")
        transposed = [reader.value(flag) if flag is not None else False for flag in flags[:2]]
        kind = reader.dtype(flags[2]) if flags[2] is not None else a.buffer.dtype
        shape = (a.buffer.shape[1 if transposed[0] else 0], b.buffer.shape[0 if transposed[1] else 1])
        extra = tuple(build.const(bool(flag), "bool") for flag in transposed)
        made = _operation(
            reader, "C", (a, b), (Buffer("C", shape, kind),), f"tvm.contrib.{library}.matmul", extra, node
        )
        return made[0]

    return read


def _tensors(reader: TEReader, node: ast.expr) -> tuple[Tensor, ...]:
    value = reader.value(node)
    found = several(value)
    tensors = tuple(v for v in found if isinstance(v, Tensor))
    if len(tensors) != len(found):
        raise reader.error(node, "wrong-type", "the inputs must be tensors", expected="[A, B]")
    return tensors


def _shapes(reader: TEReader, node: ast.expr) -> list[ast.expr]:
    """Return the node of each output's shape: `te.extern([(n,), (m,)], …)` has two."""
    nested = isinstance(node, ast.Tuple | ast.List) and any(
        isinstance(part, ast.Tuple | ast.List) for part in node.elts
    )
    are_several = isinstance(node, ast.List) and any(isinstance(reader.value(part), tuple | list) for part in node.elts)
    return list(node.elts) if isinstance(node, ast.Tuple | ast.List) and (nested or are_several) else [node]


def _dtypes(reader: TEReader, node: ast.expr | None, inputs: Sequence[Tensor], call: ast.Call) -> list[str]:
    if node is not None and reader.value(node) is not None:
        return (
            [reader.dtype(part) for part in node.elts]
            if isinstance(node, ast.List | ast.Tuple)
            else [read_dtype(reader, node)]
        )
    found = list(dict.fromkeys(t.buffer.dtype for t in inputs))
    if len(found) != 1:
        raise reader.error(call, "wrong-arguments", "the type of the output is not known", expected='dtype="float32"')
    return found


def _called(
    reader: TEReader,
    title: str,
    inputs: tuple[Tensor, ...],
    buffers: tuple[Buffer, ...],
    function: Value,
    node: ast.Call,
) -> Value:
    packed, extra = "", ()
    if isinstance(function, Function) and isinstance(function.node, ast.Lambda):
        body = function.node.body
        if isinstance(body, ast.Call) and reader.called(body) in _PACKED and body.args:
            packed = reader.string(body.args[0])
            constants = [a.value for a in body.args[1:] if isinstance(a, ast.Constant)]
            extra = tuple(build.as_expr(value) for value in constants if isinstance(value, bool | int | float))
    made = _operation(reader, title, inputs, buffers, packed, extra, node)
    return made[0] if len(made) == 1 else made


def _operation(
    reader: TEReader, title: str, inputs: tuple[Tensor, ...], buffers: tuple[Buffer, ...], packed: str,
    extra: tuple[Expr, ...], node: ast.Call,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Make the operation: a block around a call of `packed` with the tensors and other arguments."""
    read = tuple(dict.fromkeys(t.buffer for t in inputs))
    arrays = tuple(_array(b) for b in (*(t.buffer for t in inputs), *buffers))
    call = Call("call_packed", (StringImm(packed or f"te.extern.{title}"), *arrays, *extra), OPAQUE["call_packed"])
    reads, writes = (tuple(map(build.full_region, part)) for part in (read, buffers))
    stmt = BlockRealize((), build.TRUE, Block(identifier(title), (), reads, writes, Evaluate(call)))
    text = f"{title} calls code that is not in the text: its block declares what it reads and writes, and cannot be verified"
    reader.notes.append(Note(text, reader.source.place(node)))
    return outputs_of(reader, Fixed(title, buffers, node, stmt=stmt, reads=read))


def _array(buffer: Buffer) -> Expr:
    """Return a tensor as an argument of a packed function, as TVM writes it."""
    shape = Call("tvm_stack_make_shape", buffer.shape, OPAQUE["tvm_stack_make_shape"])
    rank, zero = build.const(len(buffer.shape), "int32"), build.const(0, "int32")
    args = (BufferData(buffer), shape, zero, rank, build.const(0, buffer.dtype), zero)
    return Call("tvm_stack_make_array", args, OPAQUE["tvm_stack_make_array"])
