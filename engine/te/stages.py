"""A TE schedule while it is read: what its lines ask for, in TE's terms. Nothing is moved yet; TE too decides at the end (`translate`).

Each operation has a stage with loops of its own. Splitting, fusing and reordering change the list of its leaf axes at once, as in TE, so a
line that names an axis which is gone is refused where it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..ir import Expr, Var
from ..script.reading.scope import Foreign, Value
from .model import Axis, Operation, Tensor
from .prim_func import needed

if TYPE_CHECKING:
    from .reader import TEReader


class Separator(Foreign):
    """`te.AXIS_SEPARATOR` in the map of a transform_layout."""


SEPARATOR = Separator()


class Event(msgspec.Struct, frozen=True, eq=False):
    """One request: the method by TE's name, the axes it is about and those it makes, what else it says, and its line."""

    method: str
    node: ast.AST
    axes: tuple[Axis, ...] = ()
    results: tuple[Axis, ...] = ()
    options: dict[str, Any] = {}


class Layout(msgspec.Struct, Foreign, frozen=True, eq=False):
    """`tvm.decl_buffer(shape, scope=…, strides=…)`: how a tensor is to be stored."""

    scope: str
    strides: tuple[Expr, ...]
    node: ast.AST


class Stage(Foreign):
    """The part of a schedule that one operation has. `attach` is "root", "inline", or the stage and axis it is computed at."""

    def __init__(self, op: Operation, axes: Sequence[Axis], reduce_axes: Sequence[Axis]) -> None:
        self.op = op
        self.axes = tuple(axes)
        self.reduce_axes = tuple(reduce_axes)
        self.leaves = [*axes, *reduce_axes]
        self.events: list[Event] = []
        self.attach: str | tuple[Stage, Axis] = "root"
        self.attached_by: ast.AST = op.node
        self.storage: list[Event] = []

    def require_leaf(self, reader: TEReader, axis: Value, node: ast.AST) -> Axis:
        """An axis that a loop of this stage runs over now."""
        if not isinstance(axis, Axis):
            raise reader.error(node, "wrong-type", "this is no axis", expected=f"an axis of s[{self.op.name}]")
        if axis not in self.leaves:
            raise reader.error(node, "unknown-axis", f"{axis.name} is no loop of the stage {self.op.name} (any more)",
                               expected="one of " + ", ".join(a.name for a in self.leaves))  # fmt: skip
        return axis

    def replace(self, old: Sequence[Axis], new: Sequence[Axis]) -> None:
        """Put `new` where the first of `old` was."""
        at = self.leaves.index(old[0])
        rest = [a for a in self.leaves if a not in old]
        self.leaves = [*rest[:at], *new, *rest[at:]]


class TESchedule(Foreign):
    """`te.create_schedule(…)`: its stages in order, producers first, and the requests that change which stages there are."""

    def __init__(self, outputs: Sequence[Operation], reader: TEReader) -> None:
        owners = {buffer: op for op in reader.operations for buffer in op.buffers}
        self.outputs = tuple(outputs)
        self.order: list[Stage] = [Stage(op, op.axes, op.reduce_axes) for op in needed(outputs, owners)]
        self.stages: dict[Operation, Stage] = {stage.op: stage for stage in self.order}
        self.events: list[tuple[Stage, Event]] = []

    def stage(self, reader: TEReader, value: Value, node: ast.AST) -> Stage:
        """`s[X]` and, as in old texts, `s[X.op]`."""
        op = value.op if isinstance(value, Tensor) else value
        if not isinstance(op, Operation) or op not in self.stages:
            names = ", ".join(s.op.name for s in self.order)
            raise reader.error(node, "unknown-name", "the schedule has no such stage", expected=f"one of {names}")
        return self.stages[op]


class Record:
    """What the text has said so far beside its tensors: the schedule, the parameters, and the variables that hold axes and tensors."""

    def __init__(self) -> None:
        self.schedule: TESchedule | None = None
        self.parameters: tuple[Tensor | Var, ...] | None = None
        self.names: dict[Axis | Operation, str] = {}

    def named(self, value: Value, name: str) -> None:
        """The text's variable for an axis or a tensor; the first one stays."""
        target = value.op if isinstance(value, Tensor) else value
        if isinstance(target, Axis | Operation):
            self.names.setdefault(target, name)
