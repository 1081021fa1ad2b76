"""State of a TE schedule during reading: its requests in TE's terms. Nothing moves yet; like TE, `translate` decides at the end.

Each operation has a stage with its own loops. Splitting, fusing and reordering change the stage's leaf axes immediately, as in TE, so a
line that names a removed axis is refused at its place.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import msgspec

from ..ir import Expr, Var
from ..script.reading.reader import Reader
from ..script.subset.scope import Foreign, Value
from .model import Axis, Operation, Tensor
from .prim_func import needed


class Separator(Foreign):
    """The separator `te.AXIS_SEPARATOR` in the map of a transform_layout."""


SEPARATOR = Separator()


class StageRequest(msgspec.Struct, frozen=True, eq=False):
    """One request: TE's method name, its operand axes and resulting axes, other options, and its line."""

    method: str
    node: ast.AST
    axes: tuple[Axis, ...] = ()
    results: tuple[Axis, ...] = ()
    options: dict[str, Any] = {}


class DeclaredBuffer(msgspec.Struct, Foreign, frozen=True, eq=False):
    """The storage of a tensor, `tvm.decl_buffer(shape, scope=…, strides=…)`."""

    scope: str
    strides: tuple[Expr, ...]
    node: ast.AST


class Stage(Foreign):
    """The stage of one operation in a schedule. `attach` is "root", "inline", or the stage and axis that it is computed at."""

    def __init__(self, op: Operation, axes: Sequence[Axis], reduce_axes: Sequence[Axis]) -> None:
        self.op = op
        self.axes = tuple(axes)
        self.reduce_axes = tuple(reduce_axes)
        self.leaves = [*axes, *reduce_axes]
        self.events: list[StageRequest] = []
        self.attach: str | tuple[Stage, Axis] = "root"
        self.attached_by: ast.AST = op.node
        self.storage: list[StageRequest] = []

    def require_leaf(self, reader: Reader, axis: Value, node: ast.AST) -> Axis:
        """Return an axis that is currently a loop of this stage."""
        if not isinstance(axis, Axis):
            raise reader.error(node, "wrong-type", "this is not an axis", expected=f"an axis of s[{self.op.name}]")
        if axis not in self.leaves:
            raise reader.error(node, "unknown-axis", f"{axis.name} is not a loop of stage {self.op.name}, or no longer one",
                               expected="one of " + ", ".join(a.name for a in self.leaves))  # fmt: skip
        return axis

    def replace(self, old: Sequence[Axis], new: Sequence[Axis]) -> None:
        """Put `new` at the position of the first of `old`."""
        at = self.leaves.index(old[0])
        rest = [a for a in self.leaves if a not in old]
        self.leaves = [*rest[:at], *new, *rest[at:]]


class TESchedule(Foreign):
    """A schedule, `te.create_schedule(…)`: its stages in order, producers first, and the requests that add stages."""

    def __init__(self, outputs: Sequence[Operation], operations: Sequence[Operation]) -> None:
        """Create the schedule of `outputs`; `operations` are all of the text."""
        owners = {buffer: op for op in operations for buffer in op.buffers}
        self.outputs = tuple(outputs)
        self.order: list[Stage] = [Stage(op, op.axes, op.reduce_axes) for op in needed(outputs, owners)]
        self.stages: dict[Operation, Stage] = {stage.op: stage for stage in self.order}
        self.events: list[tuple[Stage, StageRequest]] = []

    def stage(self, reader: Reader, value: Value, node: ast.AST) -> Stage:
        """Return `s[X]` or, in old texts, `s[X.op]`."""
        op = value.op if isinstance(value, Tensor) else value
        if not isinstance(op, Operation) or op not in self.stages:
            names = ", ".join(s.op.name for s in self.order)
            raise reader.error(node, "unknown-name", "the schedule has no such stage", expected=f"one of {names}")
        return self.stages[op]


class Record:
    """The reader's state besides tensors: the schedule, the parameters, and the variables that hold axes and tensors."""

    def __init__(self) -> None:
        self.schedule: TESchedule | None = None
        self.parameters: tuple[Tensor | Var, ...] | None = None
        self.names: dict[Axis | Operation, str] = {}

    def named(self, value: Value, name: str) -> None:
        """Record the text's variable for an axis or a tensor; the first name is kept."""
        target = value.op if isinstance(value, Tensor) else value
        if isinstance(target, Axis | Operation):
            self.names.setdefault(target, name)
