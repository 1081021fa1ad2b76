"""Objects of TE text: axes, operations and their tensors, reductions. The reader creates them, `prim_func` converts them to a program."""

from __future__ import annotations

import ast
from typing import Literal

import msgspec

from ..ir import Buffer, Expr, Range, Stmt, Var
from ..script.subset.scope import Foreign
from ..script.subset.values import Function


class Axis(msgspec.Struct, Foreign, frozen=True, eq=False):
    """TE's IterVar: an axis of an operation, or the result of a schedule's split or fuse. In an expression it is its variable."""

    var: Var
    dom: Range | None
    kind: Literal["spatial", "reduce"]

    @property
    def name(self) -> str:
        return self.var.name


class Operation(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A producer of tensors, with one buffer for each. `node` is its definition in the text, `tag` its kind in TVM's operator library,
    None if that is not known."""

    name: str
    buffers: tuple[Buffer, ...]
    node: ast.AST
    axes: tuple[Axis, ...] = ()
    reduce_axes: tuple[Axis, ...] = ()
    tag: str | None = None


class Placeholder(Operation, frozen=True, eq=False):
    """An input."""


class Compute(Operation, frozen=True, eq=False):
    """A `te.compute`: a value for each output in terms of the axes, or one reduction for all of them."""

    values: tuple[Expr, ...] = ()
    reduction: Reduction | None = None


class Fixed(Compute, frozen=True, eq=False, kw_only=True):
    """An operation that is given as a statement with its blocks, such as a call of other code. `reads` are its inputs."""

    stmt: Stmt
    reads: tuple[Buffer, ...]


class Scan(Compute, frozen=True, eq=False, kw_only=True):
    """A recurrence along the first axis, `te.scan`; `buffers` hold the states. Each `update` reads earlier steps of `states`."""

    init: tuple[Compute, ...]
    update: tuple[Compute, ...]
    states: tuple[Placeholder, ...]


class CacheOperation(Operation, frozen=True, eq=False):
    """A stage that `cache_read` or `cache_write` adds to a schedule; it is not part of the algorithm.

    `order` maps each axis of a written cache to an axis of the computation.
    """

    order: tuple[int, ...] = ()


class Tensor(msgspec.Struct, Foreign, frozen=True):
    """One output of an operation. Two tensors are equal if operation and position are."""

    op: Operation
    index: int = 0

    @property
    def buffer(self) -> Buffer:
        return self.op.buffers[self.index]


class Slice(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A partial index: `A[i]` of a tensor with more axes, as in `A[i][j]`."""

    tensor: Tensor
    indices: tuple[Expr, ...]


class Reducer(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A combiner of values: "sum", "prod", "min", "max", or a te.comm_reducer with its functions."""

    name: str
    join: Function | None = None
    identity: Function | None = None


class Reduction(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A reducer over axes: the whole body of a compute. `joined` is in terms of `left` and `right`; one of each per output."""

    axes: tuple[Axis, ...]
    sources: tuple[Expr, ...]
    left: tuple[Var, ...]
    right: tuple[Var, ...]
    joined: tuple[Expr, ...]
    identity: tuple[Expr, ...]


class ThreadAxis(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A thread axis, `te.thread_axis("threadIdx.x")`."""

    tag: str


class Intrinsic(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A tensor intrinsic, `te.decl_tensor_intrin(…)`: its instructions are not part of the program."""
