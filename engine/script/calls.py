"""Schedule code read as data: `ko, ki = sch.split(k, factors=[None, 32])` is one CallStep. Nothing is run; values are a closed set."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec.structs import replace as replace_fields

from ..cancellation import checkpoint
from ..ir import (
    AXIS_SEPARATOR,
    FAULTS,
    AxisSeparator,
    BufferLoad,
    Expr,
    FloatImm,
    IndexMap,
    IntImm,
    Place,
    RegionMap,
    Var,
    walk,
)
from ..ir import dtype as dt
from .errors import ParseError
from .reading.expressions import ExpressionReader
from .reading.source import PositionTable, Source
from .subset import constants

MAX_ITEMS = 256
"""Maximum number of items in a list, and of axes in an index map."""

_DOTTED_SEPARATORS = (
    "tilewright",
    "IndexMap",
    "te",
    "tvm.te",
    "T",
    "tir",
    "tirx",
    "tvm.tir.IndexMap",
    "tir.IndexMap",
    "s_tir",
    "tvm.tirx.IndexMap",
    "tvm.s_tir",
)
_SEPARATORS = ("AXIS_SEPARATOR", *(f"{owner}.AXIS_SEPARATOR" for owner in _DOTTED_SEPARATORS))


class Ref(msgspec.Struct, frozen=True):
    """A variable of the schedule code; `index` selects an item, as in `loops[0]`; `spread` marks a starred argument, as in
    `sch.reorder(*order)`."""

    name: str
    index: int | None = None
    spread: bool = False


_Simple: TypeAlias = int | float | str | bool | Ref | IndexMap | RegionMap | AxisSeparator | Expr | None
CallValue: TypeAlias = "_Simple | tuple[CallValue, ...] | list[CallValue] | dict[str, CallValue]"


class CallStep(msgspec.Struct, frozen=True, eq=False):
    """One statement: `targets = receiver.method(*args, **kwargs)[index]`; or `targets = value`, without a method (`is_value`).

    `targets` are the assigned names, none for a bare call; `unpacks` says that the assignment unpacks the result (`(x,) = …` does, even
    with one name; `x = …` does not). `receiver` is the dotted name before the method, "" for a plain function. Lists stay lists and tuples
    stay tuples, because TVM distinguishes them. `text` is the statement's source text, `place` its location.
    """

    targets: tuple[str, ...]
    receiver: str
    method: str
    args: tuple[CallValue, ...]
    kwargs: Mapping[str, CallValue]
    index: int | None
    place: Place
    text: str
    unpacks: bool = False


def is_value(step: CallStep) -> bool:
    """Whether the statement assigns a value, its only argument: `tile = 64`."""
    return not step.method


def read_calls(
    text: str, filename: str = "", first_line: int = 1, sizes: Mapping[str, Var] | None = None
) -> tuple[CallStep, ...]:
    """Return the calls and value assignments of `text`, one per statement; imports, comments and bare strings are skipped.

    `first_line` is the number of the first line of `text` in its file; `sizes` are the symbolic sizes that index maps may use, by name.
    Raises ParseError with the place for everything else.
    """
    source = Source(text, filename, first_line)
    reader = _CallReader(source, sizes or {})
    steps = (reader.statement(node) for node in source.tree.body)
    return tuple(step for step in steps if step is not None)


class _CallReader:
    def __init__(self, source: Source, sizes: Mapping[str, Var]) -> None:
        self.source = source
        self.sizes = sizes
        self.assigned: dict[str, Var] = {}

    # --- statements

    def statement(self, node: ast.stmt) -> CallStep | None:
        checkpoint()
        try:
            return self._statement(node)
        except RecursionError:
            raise self.source.too_deep(self.source.place(node)) from None
        except FAULTS as error:
            raise self.source.refused(node, error) from error

    def _statement(self, node: ast.stmt) -> CallStep | None:
        match node:
            case ast.Import() | ast.ImportFrom():
                self._require_known(node)
                return None
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return None
            case ast.Expr():
                return self._step(node, (), node.value)
            case ast.Assign(targets=[target]):
                unpacks = isinstance(target, ast.Tuple | ast.List)
                step = self._step(node, self._targets(target), node.value)
                self.assigned.update((name, Var(name)) for name in step.targets)
                return replace_fields(step, unpacks=unpacks)
            case _:
                raise self.source.error(
                    node,
                    "unsupported",
                    "schedule code must have one call per line",
                    expected="names = sch.method(arguments)",
                    fix=("write each call out, without loops, functions and conditions",),
                )

    def _require_known(self, node: ast.Import | ast.ImportFrom) -> None:
        """Reject imports of unknown packages: imports are not executed, so the text would promise more than the reader does."""
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        if any(m.partition(".")[0] not in ("tilewright", "tvm", "__future__") for m in modules):
            raise self.source.error(
                node, "unsupported", "imports are not supported in schedule code", expected="import tilewright"
            )

    def _targets(self, target: ast.expr) -> tuple[str, ...]:
        items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        names = [item.id for item in items if isinstance(item, ast.Name)]
        if len(names) != len(items) or not names:
            raise self.source.error(
                target, "unsupported", "results can only be assigned to names", expected="name = … or name, name = …"
            )
        repeated = [name for name in names if names.count(name) > 1 and name != "_"]
        if repeated:
            raise self.source.error(
                target, "wrong-arguments", f"{repeated[0]} is assigned twice", expected="distinct names for the results"
            )
        return tuple(names)

    def _step(self, node: ast.stmt, targets: tuple[str, ...], value: ast.expr) -> CallStep:
        index = None
        call = value
        if isinstance(call, ast.Subscript) and isinstance(call.value, ast.Call):
            index, call = self._index(call.slice), call.value
        if targets and not isinstance(call, ast.Call):
            given = self.value(value)
            return CallStep(targets, "", "", (given,), {}, None, self.source.place(node), self.source.segment(node))
        if not isinstance(call, ast.Call):
            raise self.source.error(value, "unsupported", "this is not a call", expected="sch.method(arguments)")
        receiver, _, method = self._dotted(call.func).rpartition(".")
        return CallStep(
            targets,
            receiver,
            method,
            self._arguments(call),
            self._keywords(call),
            index,
            self.source.place(node),
            self.source.segment(node),
        )

    def _dotted(self, node: ast.expr) -> str:
        parts: list[str] = []
        part = node
        while isinstance(part, ast.Attribute):
            parts.append(part.attr)
            part = part.value
        if not isinstance(part, ast.Name):
            raise self.source.error(
                node,
                "unsupported",
                "a call on the result of a call is not supported",
                expected="sch.method(arguments)",
                fix=("assign the first result to a name",),
            )
        return ".".join((part.id, *reversed(parts)))

    def _arguments(self, call: ast.Call) -> tuple[CallValue, ...]:
        if len(call.args) > MAX_ITEMS:
            raise self.source.error(
                call, "too-large", f"{len(call.args)} arguments are too many", expected=f"at most {MAX_ITEMS}"
            )
        return tuple(self._argument(argument) for argument in call.args)

    def _argument(self, node: ast.expr) -> CallValue:
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Name):
            return Ref(node.value.id, spread=True)
        return self.value(node)

    def _keywords(self, call: ast.Call) -> dict[str, CallValue]:
        found: dict[str, CallValue] = {}
        for keyword in call.keywords:
            if keyword.arg is None:
                raise self.source.error(keyword.value, "unsupported", "** is not supported", expected="name=value")
            found[keyword.arg] = self.value(keyword.value)
        return found

    # --- values

    def value(self, node: ast.expr) -> CallValue:
        """Read a number, string, truth value, None, name, list, tuple, or an index map written as a lambda."""
        match node:
            case ast.Constant(value=bool() | float() | str() | None as constant):
                return constant
            case ast.Constant(value=int(number)) if abs(number) <= constants.LIMIT:
                return number
            case ast.Constant(value=int()):
                raise self.source.error(node, "out-of-range", "the number is too large", expected="at most 64 bits")
            case ast.Name() | ast.Attribute():
                return self._name(node)
            case ast.List():
                return list(self._items(node))
            case ast.Tuple():
                return tuple(self._items(node))
            case ast.Dict():
                return self._dict(node)
            case ast.Lambda():
                return _IndexMapReader(self.source, self.sizes, self.assigned).read(node)
            case ast.Subscript(value=ast.Name(id=name)):
                return Ref(name, self._index(node.slice))
            case ast.UnaryOp() | ast.BinOp():
                return self._number(node)
            case ast.Call() if (typed := self._typed(node)) is not None:
                return typed
            case ast.Call():
                raise self._nested_error(node)
            case _:
                raise self.source.error(
                    node,
                    "unsupported",
                    "this cannot be an argument",
                    expected="a number, string, name, list, tuple or lambda",
                )

    def _dict(self, node: ast.Dict) -> dict[str, CallValue]:
        """Read a dict such as `{"pragma": 1}`, as in annotations."""
        found: dict[str, CallValue] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise self.source.error(key or value, "unsupported", "keys must be strings", expected='{"key": value}')
            found[key.value] = self.value(value)
        if len(found) != len(node.keys) or len(found) > MAX_ITEMS:
            raise self.source.error(node, "wrong-arguments", "a key occurs twice, or there are too many keys")
        return found

    def _typed(self, node: ast.Call) -> Expr | None:
        """Read a typed number, `T.float32(0)`. None for other calls."""
        exprs = ExpressionReader(self.source, PositionTable())
        name = (exprs.called(node) or "").removeprefix("T.")
        value = exprs.value(node) if dt.is_valid(name) and name not in ("handle", "void") else None
        return value if isinstance(value, IntImm | FloatImm) else None

    def _nested_error(self, node: ast.Call) -> ParseError:
        written = self.source.text(node)
        return self.source.error(
            node, "unsupported", "nested calls are not supported", expected="a name", fix=(f"block = {written}",)
        )

    def _name(self, node: ast.Name | ast.Attribute) -> CallValue:
        name = self._dotted(node)
        if name in _SEPARATORS:
            return AXIS_SEPARATOR
        if isinstance(node, ast.Attribute):
            raise self.source.error(node, "unsupported", "attributes have no value here", expected="a name")
        return Ref(name)

    def _items(self, node: ast.List | ast.Tuple) -> list[CallValue]:
        if len(node.elts) > MAX_ITEMS:
            raise self.source.error(
                node, "too-large", f"{len(node.elts)} items are too many", expected=f"at most {MAX_ITEMS}"
            )
        return [self.value(item) for item in node.elts]

    def _number(self, node: ast.UnaryOp | ast.BinOp) -> int | float:
        """Evaluate arithmetic on constants: `-1`, `4 * 16`."""
        operands = [
            self.value(n) for n in ([node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right])
        ]
        numbers = [o for o in operands if isinstance(o, int | float) and not isinstance(o, bool)]
        if len(numbers) != len(operands):
            raise self.source.error(node, "unsupported", "arithmetic is supported on numbers only", expected="numbers")
        if isinstance(node, ast.BinOp):
            try:
                return constants.fold(node.op, *numbers)
            except ValueError as error:
                raise self.source.error(node, "out-of-range", str(error)) from None
        if isinstance(node.op, ast.USub | ast.UAdd):
            return -numbers[0] if isinstance(node.op, ast.USub) else numbers[0]
        raise self.source.error(node, "unsupported", "arithmetic is supported on numbers only", expected="numbers")

    def _index(self, node: ast.expr) -> int:
        value = self.value(node)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.source.error(
            node, "wrong-type", "the index of a result must be a number", expected="[0], [1], … or [-1]"
        )


class _IndexMapReader:
    """Reader of `lambda m, k: [k // 64 % 2, AXIS_SEPARATOR, m, k % 64]`: parameters are int32 until the map is applied to a buffer.

    With an axis in parentheses, `lambda i, j: [(i - 1, i + 2), j]`, the lambda is a map to boxes. Names of earlier results stay
    variables of the map, which the evaluation of the call replaces by numbers.
    """

    def __init__(self, source: Source, sizes: Mapping[str, Var], assigned: Mapping[str, Var]) -> None:
        self.source = source
        self.sizes = sizes
        self.assigned = assigned
        self.exprs = ExpressionReader(source, PositionTable())

    def read(self, node: ast.Lambda) -> IndexMap | RegionMap:
        arguments = node.args
        extra = [*arguments.posonlyargs, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        if any(extra) or arguments.defaults or not arguments.args or len(arguments.args) > MAX_ITEMS:
            raise self.source.error(
                node,
                "wrong-arguments",
                "an index map needs one plain parameter per axis",
                expected="lambda i, j: [j, i]",
            )
        params = tuple(Var(a.arg) for a in arguments.args)
        for argument, param in zip(arguments.args, params, strict=True):
            self.exprs.define(argument.arg, param, argument)
        own = {p.name for p in params}
        sizes = {Var(n): size for n, size in self.sizes.items() if n not in own and n not in self.assigned}
        for var in (*sizes, *(v for n, v in self.assigned.items() if n not in own)):
            self.exprs.define(var.name, var, node)
        if len({p.name for p in params}) != len(params):
            raise self.source.error(
                node, "wrong-arguments", "two axes have the same name", expected="distinct names for the axes"
            )
        items = node.body.elts if isinstance(node.body, ast.List | ast.Tuple) else [node.body]
        if not items or len(items) > MAX_ITEMS:
            raise self.source.error(
                node.body,
                "wrong-arguments",
                "an index map must return at least one axis",
                expected="lambda i, j: [j, i]",
            )
        if any(isinstance(item, ast.Tuple) for item in items):
            return RegionMap.from_items(params, [self._ends(item) for item in items])
        return IndexMap.from_items(params, [self._item(item) for item in items]).with_sizes(sizes)

    def _ends(self, node: ast.expr) -> tuple[Expr, ...]:
        """Read an axis of a box: an index, or its begin and end."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if len(parts) not in (1, 2):
            raise self.source.error(
                node, "wrong-arguments", "an axis must be an index, or a pair (begin, end)", expected="(v - 1, v + 2)"
            )
        return tuple(self._value(part) for part in parts)

    def _item(self, node: ast.expr) -> Expr | AxisSeparator:
        if self._is_separator(node):
            return AXIS_SEPARATOR
        return self._value(node)

    def _value(self, node: ast.expr) -> Expr:
        expr = self.exprs.expr(node)
        constant = isinstance(expr, FloatImm)  # a padding value, which can be written as a function of the indices
        if not (dt.is_int(expr.dtype) or constant) or any(isinstance(part, BufferLoad) for part in walk(expr)):
            raise self.source.error(
                node,
                "wrong-type",
                "an axis must be an integer expression of the parameters",
                expected="i // 16, i % 16, …",
            )
        return expr

    def _is_separator(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in _SEPARATORS
