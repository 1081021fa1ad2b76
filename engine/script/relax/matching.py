"""Binding of a call to the parameters of its tensor program: number of tensors, shapes, types and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...arith import simplify
from ...ir import Buffer, Expr, GraphTensor, KernelCall, PrimFunc, Var, build, free_vars, substitute
from ..printing.expressions import expr_text


class MismatchError(Exception):
    """A call that does not fit its program: the message, and what the program expects."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.expected = expected


class Constant:
    """A weight that the text refers to. Its shape is that of the first buffer it is given to; `value` is its number if the text has it."""

    def __init__(self, name: str, value: float | int | bool | None = None) -> None:
        self.name = name
        self.value = value
        self.tensor: GraphTensor | None = None


def bound_call(
    kernel: PrimFunc,
    arguments: Sequence[GraphTensor | Constant],
    results: Sequence[GraphTensor],
    scalars: Sequence[Expr] = (),
    in_place: Sequence[int] = (),
) -> KernelCall:
    """Return the call. Constants get their shapes. A result that is stored in an argument has no parameter.

    Raises MismatchError where the call does not fit the program.
    """
    if in_place and (len(in_place) != len(results) or not all(-1 <= at < len(arguments) for at in in_place)):
        raise MismatchError(
            "inplace_indices does not fit the call", "for each result, the position of an argument or -1"
        )
    fresh = [result for at, result in enumerate(results) if not in_place or in_place[at] < 0]
    handles = dict(kernel.buffer_map)
    buffers = [handles[p] for p in kernel.params if p in handles]
    variables = [p for p in kernel.params if p not in handles]
    _require_count(kernel, "tensors", len(buffers), len(arguments) + len(fresh))
    _require_count(kernel, "scalars", len(variables), len(scalars))
    values: dict[Var, Expr] = dict(zip(variables, scalars, strict=True))
    given = [*arguments, *fresh]
    for buffer, tensor in zip(buffers, given, strict=True):
        if isinstance(tensor, GraphTensor):
            values |= _sizes(buffer, tensor, values)
    known = [_tensor(buffer, tensor, values) for buffer, tensor in zip(buffers, given, strict=True)]
    for buffer, tensor in zip(buffers, known, strict=True):
        _require_fit(buffer, tensor, values)
    return KernelCall(
        kernel.name,
        tuple(known[: len(arguments)]),
        tuple(results),
        tuple(scalars),
        tuple(in_place),
        {var.name: value for var, value in values.items()},
    )


def _require_count(kernel: PrimFunc, what: str, expected: int, found: int) -> None:
    if expected != found:
        message = f"{kernel.name} has {expected} parameters that are {what}, and the call gives {found}"
        raise MismatchError(message, "the arguments and then the results of the call, one for each parameter")


def _sizes(buffer: Buffer, tensor: GraphTensor, known: Mapping[Var, Expr]) -> dict[Var, Expr]:
    """The size variables that are an extent of the buffer, with the tensor's extents."""
    pairs = zip(buffer.shape, tensor.shape, strict=False)
    return {extent: size for extent, size in pairs if isinstance(extent, Var) and extent not in known}


def _tensor(buffer: Buffer, given: GraphTensor | Constant, values: Mapping[Var, Expr]) -> GraphTensor:
    if isinstance(given, GraphTensor):
        return given
    if given.tensor is None:
        given.tensor = GraphTensor(given.name, tuple(_at(extent, values) for extent in buffer.shape), buffer.dtype)
    return given.tensor


def _require_fit(buffer: Buffer, tensor: GraphTensor, values: Mapping[Var, Expr]) -> None:
    shape = [_at(extent, values) for extent in buffer.shape]
    differs = len(shape) != len(tensor.shape) or any(map(_differ, shape, tensor.shape))
    if differs or buffer.dtype != tensor.dtype:
        message = f"{tensor.name} is {_shown(tensor.shape, tensor.dtype)} and its buffer {buffer.name} is another type"
        raise MismatchError(message, _shown(shape, buffer.dtype))


def _at(extent: Expr, values: Mapping[Var, Expr]) -> Expr:
    used = {v: values[v] for v in free_vars(extent) if v in values}
    return simplify(substitute(extent, {v: build.cast(e, v.dtype) for v, e in used.items()})) if used else extent


def _differ(a: Expr, b: Expr) -> bool:
    """Whether both are known and unequal; sizes that stay open may be equal."""
    left, right = build.int_value(a), build.int_value(b)
    return left is not None and right is not None and left != right


def _shown(shape: Sequence[Expr], dtype: str) -> str:
    return f"{dtype}[{', '.join(map(expr_text, shape))}]"
