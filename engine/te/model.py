"""What TE text speaks of: axes, operations and their tensors, reductions. The reader makes them, `prim_func` a program of them."""

from __future__ import annotations

import ast
from typing import Literal

import msgspec

from ..ir import Buffer, Expr, Range, Var
from ..script.reading.scope import Foreign, Scope


class Axis(msgspec.Struct, Foreign, frozen=True, eq=False):
    """TE's IterVar: an axis of an operation, or what a schedule's split and fuse make of axes. In an expression it is its variable."""

    var: Var
    dom: Range | None
    kind: Literal["spatial", "reduce"]

    @property
    def name(self) -> str:
        return self.var.name


class Operation(msgspec.Struct, Foreign, frozen=True, eq=False):
    """What gives tensors: one buffer for each of them. `node` is where the text makes it."""

    name: str
    buffers: tuple[Buffer, ...]
    node: ast.AST
    axes: tuple[Axis, ...] = ()
    reduce_axes: tuple[Axis, ...] = ()


class Placeholder(Operation, frozen=True, eq=False):
    """An input."""


class Compute(Operation, frozen=True, eq=False):
    """`te.compute`: a value for each output in terms of the axes, or one reduction for all of them."""

    values: tuple[Expr, ...] = ()
    reduction: Reduction | None = None


class Cached(Operation, frozen=True, eq=False):
    """The stage that `cache_read` or `cache_write` adds to a schedule; the algorithm does not know it.

    `order` says for each axis of a written cache which axis of the computation it is.
    """

    order: tuple[int, ...] = ()


class Tensor(msgspec.Struct, Foreign, frozen=True):
    """One output of an operation. Two are the same when operation and position are."""

    op: Operation
    index: int = 0

    @property
    def buffer(self) -> Buffer:
        return self.op.buffers[self.index]


class Slice(msgspec.Struct, Foreign, frozen=True, eq=False):
    """`A[i]` of a tensor with more axes, on the way to `A[i][j]`."""

    tensor: Tensor
    indices: tuple[Expr, ...]


class Reducer(msgspec.Struct, Foreign, frozen=True, eq=False):
    """How values are joined: "sum", "prod", "min", "max", or a te.comm_reducer with the functions it was given."""

    name: str
    join: Function | None = None
    identity: Function | None = None


class Reduction(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A reducer over axes: the whole body of a compute. `joined` is in terms of `left` and `right`; one of each for an output."""

    axes: tuple[Axis, ...]
    sources: tuple[Expr, ...]
    left: tuple[Var, ...]
    right: tuple[Var, ...]
    joined: tuple[Expr, ...]
    identity: tuple[Expr, ...]


class Function(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A lambda or a def of the text, with the names around it."""

    node: ast.Lambda | ast.FunctionDef
    scope: Scope


class ThreadAxis(msgspec.Struct, Foreign, frozen=True, eq=False):
    """`te.thread_axis("threadIdx.x")`."""

    tag: str


class Names(msgspec.Struct, Foreign, frozen=True, eq=False):
    """An object of which only the attributes are used, as the configuration of an accelerator."""

    values: dict[str, int | float | str]
    title: str


class Runtime(msgspec.Struct, Foreign, frozen=True, eq=False):
    """What belongs to running a program (targets, devices, arrays, built functions): read over, without a value."""
