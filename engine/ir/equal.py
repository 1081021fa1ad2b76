"""Structural equality with a report of the first difference. Names of variables, buffers and blocks are ignored, as in TVM."""

from __future__ import annotations

from functools import cache
from typing import cast

import msgspec

from .buffer import Buffer
from .expr import BinaryOp, FloatImm, IntImm, IterVar, Let, Node, Predicate, Var
from .func import IRModule, PrimFunc
from .stmt import Allocate, Block, DeclBuffer, For, LaunchThread, LetStmt


class Difference(msgspec.Struct, frozen=True, eq=False):
    """The first difference of two programs: a path of field names, and the value on each side."""

    path: str
    left: object
    right: object

    def __str__(self) -> str:
        return f"at {self.path or 'the top'}: {_show(self.left)} and {_show(self.right)}"


def _show(value: object) -> str:
    return (
        repr(value) if not isinstance(value, Node) else type(value).__name__ + f" {getattr(value, 'name', '')}".rstrip()
    )


def structural_equal(left: Node, right: Node) -> bool:
    while left is not right:
        # Most unequal pairs differ at the top; an undefined variable equals only itself.
        if type(left) is not type(right) or type(left) is Var:
            return isinstance(left, IRModule) and isinstance(right, IRModule) and first_difference(left, right) is None
        if type(left) is IntImm and type(right) is IntImm:
            return left.value == right.value and left.dtype == right.dtype
        if not isinstance(left, BinaryOp | Predicate) or not isinstance(right, BinaryOp | Predicate):
            return first_difference(left, right) is None
        # Definitions in one operand are not visible in the other. Long sums are chains of first operands.
        if not structural_equal(left.b, right.b):
            return False
        left, right = left.a, right.a
    return True


def first_difference(left: Node, right: Node) -> Difference | None:
    """Return None if the programs are equal up to the names of their definitions. Free variables and buffers must be identical objects."""
    try:
        _Matcher().match(left, right)
    except _DifferError as found:
        return found.difference()
    return None


_Path = tuple["_Path | None", str | int] | None
"""The matcher's path: the enclosing path, and a field or a position. It is formatted only for a difference."""


class _DifferError(Exception):
    def __init__(self, path: _Path, left: object, right: object) -> None:
        super().__init__()
        self.found = path, left, right

    def difference(self) -> Difference:
        path, left, right = self.found
        parts: list[str] = []
        while path is not None:
            path, step = path
            parts.append(f"[{step}]" if isinstance(step, int) else f".{step}")
        return Difference("".join(reversed(parts)).removeprefix("."), left, right)


# Fields that never make programs differ, such as names.
_NAMES: dict[type[Node], frozenset[str]] = {
    Var: frozenset({"name"}),
    Buffer: frozenset({"name", "data_alignment", "offset_factor"}),
    Block: frozenset({"name"}),
    PrimFunc: frozenset({"name", "data"}),
}


_DEFINING = (For, IterVar, Let, LetStmt, LaunchThread, PrimFunc, Block, Allocate, DeclBuffer, IRModule)


@cache
def _compared_fields(kind: type[Node]) -> tuple[str, ...]:
    """Return the fields from last to first, because the worklist is a stack."""
    return tuple(name for name in reversed(kind.__struct_fields__) if name not in _NAMES.get(kind, ()))


_Todo = list[tuple[object, object, "_Path"]]
"""Pairs that are still to be compared, the next one last."""


class _Matcher:
    """Walks two programs in step; variables and buffers are paired at their first definition."""

    def __init__(self) -> None:
        self.paired: dict[Node, Node] = {}
        self.paired_back: dict[Node, Node] = {}
        self.defined: dict[Buffer, Buffer] = {}

    def match(self, left: object, right: object) -> None:
        todo: _Todo = [(left, right, None)]
        while todo:
            left, right, path = todo.pop()
            if isinstance(left, Node) and isinstance(right, Node):
                self._match_node(left, right, path, todo)
            elif isinstance(left, tuple) and isinstance(right, tuple):
                self._match_tuple(cast("tuple[object, ...]", left), cast("tuple[object, ...]", right), path, todo)
            else:
                _match_plain(left, right, path)  # pyright: ignore[reportUnknownArgumentType]

    def _match_tuple(self, left: tuple[object, ...], right: tuple[object, ...], path: _Path, todo: _Todo) -> None:
        if _is_annotations(left) or _is_annotations(right):
            left, right = tuple(sorted(left, key=_key)), tuple(sorted(right, key=_key))
        if len(left) != len(right):
            raise _DifferError((path, "length"), len(left), len(right))
        todo.extend((left[i], right[i], (path, i)) for i in reversed(range(len(left))))

    def _match_node(self, left: Node, right: Node, path: _Path, todo: _Todo) -> None:
        if left in self.paired or right in self.paired_back:
            if self.paired.get(left) is not right:
                raise _DifferError(path, left, right)
            return
        if type(left) is not type(right) and not (isinstance(left, IRModule) and isinstance(right, IRModule)):
            raise _DifferError(path, left, right)
        if isinstance(left, FloatImm) and left.value != left.value:
            right_value = cast("FloatImm", right).value
            if right_value == right_value:
                raise _DifferError(path, left, right)
            return
        if isinstance(left, Var) and left is not right:
            raise _DifferError(path, left, right)
        kind = IRModule if isinstance(left, IRModule) else type(left)
        if issubclass(kind, _DEFINING):
            self._pair_definitions(left, right, path)
        if isinstance(left, Buffer):
            # An undefined buffer equals only itself: another buffer of its shape holds other values.
            if left is not right and self.defined.get(left) is not right:
                raise _DifferError(path, left, right)
            self._pair(left, right)
        todo.extend((getattr(left, name), getattr(right, name), (path, name)) for name in _compared_fields(kind))

    def _pair_definitions(self, left: Node, right: Node, path: _Path) -> None:
        match left, right:
            case For(), For():
                self._define(left.loop_var, right.loop_var, (path, "loop_var"))
            case ((IterVar() | Let() | LetStmt() | LaunchThread()), (IterVar() | Let() | LetStmt() | LaunchThread())):
                self._define(left.var, right.var, (path, "var"))
            case PrimFunc(), PrimFunc():
                if len(left.params) != len(right.params):
                    raise _DifferError(((path, "params"), "length"), len(left.params), len(right.params))
                for a, b in zip(left.params, right.params, strict=True):
                    self._define(a, b, (path, "params"))
                for (_, a), (_, b) in zip(left.buffer_map, right.buffer_map, strict=False):
                    self._define_sizes(a, b)
                    self.defined[a] = b
            case Block(), Block():
                for a, b in zip(left.match_buffers, right.match_buffers, strict=False):
                    self._define_sizes(a.buffer, b.buffer)
                    self.defined[a.buffer] = b.buffer
                self.defined.update(zip(left.alloc_buffers, right.alloc_buffers, strict=False))
            case Allocate(), Allocate():
                self.defined.update(zip(left.buffers, right.buffers, strict=False))
            case DeclBuffer(), DeclBuffer():
                self.defined[left.buffer] = right.buffer
            case IRModule(), IRModule():
                names = [f.name for f in left.functions], [f.name for f in right.functions]
                if names[0] != names[1]:
                    raise _DifferError((path, "functions"), *names)
            case _:
                pass

    def _define_sizes(self, left: Buffer, right: Buffer) -> None:
        """Pair the size variables that a matched buffer defines: those that are a whole entry of its shape, strides or offset."""
        for a, b in zip(
            (*left.shape, *left.strides, left.elem_offset),
            (*right.shape, *right.strides, right.elem_offset),
            strict=False,
        ):
            if isinstance(a, Var) and isinstance(b, Var) and a not in self.paired and b not in self.paired_back:
                self._pair(a, b)

    def _define(self, left: Var, right: Var, path: _Path) -> None:
        if left.dtype != right.dtype:
            raise _DifferError((path, "dtype"), left.dtype, right.dtype)
        if left.points_to != right.points_to:
            raise _DifferError((path, "points_to"), left.points_to, right.points_to)
        self._pair(left, right)

    def _pair(self, left: Node, right: Node) -> None:
        self.paired[left] = right
        self.paired_back[right] = left


def _match_plain(left: object, right: object, path: _Path) -> None:
    if type(left) is not type(right) or left != right:
        raise _DifferError(path, left, right)


def _is_annotations(value: tuple[object, ...]) -> bool:
    return (
        bool(value)
        and isinstance(value[0], tuple)
        and all(
            isinstance(item, tuple)
            and len(cast("tuple[object, ...]", item)) == 2
            and isinstance(cast("tuple[object, ...]", item)[0], str)
            for item in value
        )
    )


def _key(item: object) -> str:
    return str(cast("tuple[object, ...]", item)[0])
