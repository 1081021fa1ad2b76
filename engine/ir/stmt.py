"""Statements: loops, blocks and stores, named as in TVM. A statement stands once in a program."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from .buffer import Buffer, BufferRegion, MatchBufferRegion
from .expr import Expr, IntImm, IterVar, Node, Var


class AnnotationMap(Node, frozen=True, eq=False):
    """A value of an annotation that is a dict itself."""

    items: Annotations


Annotation: TypeAlias = Expr | AnnotationMap | tuple[Any, ...]
"""A tuple is a list of annotations, which may be lists again."""
Annotations = tuple[tuple[str, Annotation], ...]
ForKind = Literal["serial", "parallel", "vectorized", "unrolled", "thread_binding"]


def shown(size: Expr) -> str:
    """A number or a name; what is longer needs the printer of `script`. The `repr` of loops, blocks and functions stays one line."""
    match size:
        case IntImm(value=value):
            return str(value)
        case Var(name=name):
            return name
        case _:
            return "…"


class Stmt(Node, frozen=True, eq=False):
    """Something that is done."""


class BufferStore(Stmt, frozen=True, eq=False):
    buffer: Buffer
    value: Expr
    indices: tuple[Expr, ...]


class For(Stmt, frozen=True, eq=False):
    """`for loop_var in range(min, min + extent)`; `thread_tag` ("threadIdx.x", …) when the kind is thread_binding."""

    loop_var: Var
    min: Expr
    extent: Expr
    kind: ForKind
    body: Stmt
    thread_tag: str | None = None
    annotations: Annotations = ()

    def __repr__(self) -> str:
        return f"For({self.loop_var.name}, {shown(self.min)}, {shown(self.extent)}, {self.kind!r})"


class SeqStmt(Stmt, frozen=True, eq=False):
    """Two or more statements in order. `build.seq` flattens nested ones."""

    seq: tuple[Stmt, ...]


class IfThenElse(Stmt, frozen=True, eq=False):
    condition: Expr
    then_case: Stmt
    else_case: Stmt | None = None


class LetStmt(Stmt, frozen=True, eq=False):
    var: Var
    value: Expr
    body: Stmt


class AssertStmt(Stmt, frozen=True, eq=False):
    condition: Expr
    message: str
    body: Stmt


class AttrStmt(Stmt, frozen=True, eq=False):
    """`body` with something said about it to later passes: TVM's attribute, of no node in particular."""

    key: str
    value: Expr
    body: Stmt


class LaunchThread(Stmt, frozen=True, eq=False):
    """`body` on every thread of an axis, `var` from 0 below `extent`: a loop bound to `thread_tag`, said as lowered programs say it."""

    var: Var
    thread_tag: str
    extent: Expr
    body: Stmt


class Evaluate(Stmt, frozen=True, eq=False):
    """An expression for its effect; `Evaluate(IntImm(0))` is the empty statement."""

    value: Expr


class Block(Stmt, frozen=True, eq=False):
    """TVM's SBlock: a unit of computation that is isolated from its loops by its iterators and by what it reads and writes.

    `init` runs at the first iteration of the reduction. Buffers in `alloc_buffers` live while the block runs.
    """

    name: str
    iter_vars: tuple[IterVar, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: tuple[Buffer, ...] = ()
    match_buffers: tuple[MatchBufferRegion, ...] = ()
    annotations: Annotations = ()

    def __repr__(self) -> str:
        return f"Block({self.name!r})"


class BlockRealize(Stmt, frozen=True, eq=False):
    """Runs `block` with `iter_values` for its iterators where `predicate` holds."""

    iter_values: tuple[Expr, ...]
    predicate: Expr
    block: Block

    def __repr__(self) -> str:
        return f"BlockRealize({self.block!r})"


class Allocate(Stmt, frozen=True, eq=False):
    """Lowered programs only: `buffers` (flat within their axis separators) live while `body` runs; `build.allocate` joins nested ones."""

    buffers: tuple[Buffer, ...]
    body: Stmt
    annotations: Annotations = ()
