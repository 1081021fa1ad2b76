"""Statements: loops, blocks and stores, named as in TVM. A statement occurs once in a program."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from .buffer import Buffer, BufferRegion, MatchBufferRegion
from .expr import Expr, IntImm, IterVar, Node, Var


class AnnotationMap(Node, frozen=True, eq=False):
    """An annotation value that is a dict."""

    items: Annotations


Annotation: TypeAlias = Expr | Buffer | AnnotationMap | tuple[Any, ...]
"""A tuple is a list of annotations, which may be nested lists."""
Annotations = tuple[tuple[str, Annotation], ...]
ForKind = Literal["serial", "parallel", "vectorized", "unrolled", "thread_binding"]


def shown(size: Expr) -> str:
    """Return a number or a name for one-line reprs of loops, blocks and functions; "…" for expressions that need the printer of
    `script`."""
    match size:
        case IntImm(value=value):
            return str(value)
        case Var(name=name):
            return name
        case _:
            return "…"


class Stmt(Node, frozen=True, eq=False):
    """Base class of statements."""


class BufferStore(Stmt, frozen=True, eq=False):
    buffer: Buffer
    value: Expr
    indices: tuple[Expr, ...]


class For(Stmt, frozen=True, eq=False):
    """A loop, `for loop_var in range(min, min + extent)`; `thread_tag` ("threadIdx.x", …) when the kind is thread_binding."""

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
    """A check that must hold before `body` runs; otherwise the error `kind` is raised with `message`, which TVM may split into parts."""

    condition: Expr
    message: str
    body: Stmt
    kind: str = "RuntimeError"
    more: tuple[str, ...] = ()


class AttrStmt(Stmt, frozen=True, eq=False):
    """An attribute on `body` for later passes: TVM's attribute, without a particular node."""

    key: str
    value: Expr
    body: Stmt


class LaunchThread(Stmt, frozen=True, eq=False):
    """Runs `body` on every thread of an axis, `var` from 0 to `extent`, exclusive: the lowered form of a loop bound to `thread_tag`."""

    var: Var
    thread_tag: str
    extent: Expr
    body: Stmt


class Evaluate(Stmt, frozen=True, eq=False):
    """An expression evaluated for its effect; `Evaluate(IntImm(0))` is the empty statement."""

    value: Expr


class Block(Stmt, frozen=True, eq=False):
    """TVM's SBlock: a unit of computation, isolated from its loops by its iterators and its read and write regions.

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
    """Runs `block` with `iter_values` for its iterators if `predicate` holds."""

    iter_values: tuple[Expr, ...]
    predicate: Expr
    block: Block

    def __repr__(self) -> str:
        return f"BlockRealize({self.block!r})"


class While(Stmt, frozen=True, eq=False):
    """A loop that runs while `condition` holds. The number of its iterations depends on memory and is unknown before a run."""

    condition: Expr
    body: Stmt


class Allocate(Stmt, frozen=True, eq=False):
    """An allocation in a lowered program: `buffers` (flat within their axis separators) live while `body` runs; `build.allocate` merges
    nested ones."""

    buffers: tuple[Buffer, ...]
    body: Stmt
    annotations: Annotations = ()


class Opaque(Stmt, frozen=True, eq=False):
    """Base class of statements that are only read and printed. Everything else refuses a program with one (`opaque_part`)."""


class IntegerBranch(Opaque, frozen=True, eq=False):
    """`branch`, whose condition is an integer: TVM's `if n:`."""

    branch: IfThenElse


class Return(Opaque, frozen=True, eq=False):
    value: Expr


class SteppedFor(Opaque, frozen=True, eq=False):
    """`loop`, whose variable advances by `step`."""

    loop: For
    step: Expr


class DeclBuffer(Opaque, frozen=True, eq=False):
    """`buffer` is a name, in `body`, for the memory at the address `data`, which other buffers may share. A view is written
    `A.view(16, 16)`."""

    buffer: Buffer
    data: Expr
    body: Stmt
    is_view: bool = False


class NodeAttr(Opaque, frozen=True, eq=False):
    """TVM's attribute of `node`: a variable, an address, or another object of TVM."""

    node: Expr
    key: str
    value: Expr
    body: Stmt
