"""Reader of Python's own values in a text: lists and their comprehensions, dicts, slices, formatted strings, conditions on constants.

A value that only running the code has is a `Runtime`; what is computed of it is one too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from ..ir import And, Expr, IntImm, Or
from ..script.errors import ParseError
from ..script.reading import operators
from ..script.reading.expressions import ExpressionReader
from ..script.reading.source import PositionTable, Source
from ..script.subset.bindings import root_name
from ..script.subset.constants import is_same
from ..script.subset.scope import Foreign, Value
from .model import Attributes, ListValue, Runtime

MAX_STEPS = 100_000
"""Maximum number of evaluated expressions: nested function calls can expand a short text into a large computation."""
MAX_ITEMS = 4096
"""Maximum number of items in a list."""


DICT = "the dict"
"""The title of the dicts of a text."""
MAX_TEXT = 10_000
"""Maximum length of a string that the text puts together."""


class RunTimeValueError(ParseError):
    """A value of the runtime where the value itself is needed."""


class PythonReader(ExpressionReader):
    """Reads Python's values."""

    def __init__(self, source: Source, positions: PositionTable) -> None:
        super().__init__(source, positions)
        self.steps = 0
        self._sizes: dict[
            int, tuple[Value, int]
        ] = {}  # by id: lists and dicts, and the number of values in them at all levels
        self.changed: dict[int, tuple[Value, ast.AST]] = {}  # by id: lists and dicts with the code that may change them

    def step(self, node: ast.AST) -> None:
        """Count a step of reading. Raises "too-large"."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise self.error(node, "too-large", "reading the text needs too many steps",
                             expected=f"at most {MAX_STEPS} expressions and statements, also in calls")  # fmt: skip

    def value(self, node: ast.expr) -> Value:
        self.step(node)
        found = self._value(node)
        if self.changed and id(found) in self.changed:
            raise self._changed_error(node, self.changed[id(found)][1])
        return found

    def _changed_error(self, node: ast.AST, by: ast.AST) -> ParseError:
        return self.error(node, "unsupported", f"these items are not known: line {self.source.place(by).line} may change them",
                          expected="a list or dict that is not changed after its definition")  # fmt: skip

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node)
            case ast.Dict():
                return self._dictionary(node)
            case ast.JoinedStr():
                return self._formatted(node)
            case ast.BoolOp():
                return self._bool_op(node)
            case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
                return self._identity(node)
            case ast.BinOp(op=ast.Add()) if self._is_sequence(node.left):
                return self._joined(node)
            case ast.BinOp() | ast.Compare() | ast.UnaryOp():
                try:
                    return self._operation(node)
                except RunTimeValueError:
                    return Runtime()
            case _:
                return super().value(node)

    def _operation(self, node: ast.BinOp | ast.Compare | ast.UnaryOp) -> Value:
        return super().value(node)

    def as_expr(self, value: Value, node: ast.AST) -> Expr:
        if isinstance(value, Runtime):
            raise RunTimeValueError(self.error(
                node, "unsupported", "this value is computed by code that is never run", expected="a constant or an expression"
            ).refusal)  # fmt: skip
        return super().as_expr(value, node)

    def items(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Return the values of arguments or of a list, with `*many` unpacked."""
        found: list[Value] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.value(node))
                continue
            many = self.value(node.value)
            if not isinstance(many, tuple):
                raise self.error(node, "wrong-type", "only a tuple or list can be unpacked", expected="*indices")
            found.extend(self.limited(many, node))
        return self.limited(found, node) if (node := next(iter(nodes), None)) is not None else found

    def limited(self, items: Sequence[Value], node: ast.AST) -> list[Value]:
        """Return the items as a list. Raises "too-large"."""
        if len(items) > MAX_ITEMS:
            raise self.error(node, "too-large", f"{len(items)} items are too many", expected=f"at most {MAX_ITEMS}")
        return list(items)

    def listed(self, items: Iterable[Value], node: ast.AST) -> tuple[Value, ...]:
        """Return a list of the text. Raises "too-large", also for lists that repeat others many times at deeper levels."""
        found = tuple(self.limited(tuple(items), node))
        if self._size(found) > MAX_STEPS:
            raise self.error(
                node, "too-large", "the list has too many values in its lists", expected=f"at most {MAX_STEPS}"
            )
        return found

    def _size(self, value: Value) -> int:
        if not isinstance(value, tuple | Attributes):
            return 1
        if id(value) not in self._sizes:
            inside = value.values.values() if isinstance(value, Attributes) else value
            self._sizes[id(value)] = (value, 1 + sum(map(self._size, inside)))
        return self._sizes[id(value)][1]

    def _text(self, text: str, node: ast.AST) -> str:
        if len(text) > MAX_TEXT:
            raise self.error(node, "too-large", "the string is too long", expected=f"at most {MAX_TEXT} characters")
        return text

    # --- conditions

    def truth(self, node: ast.expr) -> bool | None:
        """Return the truth of a condition; None if only running the code decides it."""
        value = self.value(node)
        value = value.value if isinstance(value, IntImm) else value
        if isinstance(value, Expr):
            raise self.error(
                node, "unsupported", "this condition is not known when the text is read", expected="a condition on constants",
                fix=("keep the lines of the branch that applies", "te.if_then_else(condition, a, b), in a computation"),
            )  # fmt: skip
        return None if isinstance(value, Runtime) else is_true(value)

    def _conditional(self, node: ast.IfExp) -> Value:
        test = self.truth(node.test)
        return Runtime() if test is None else self.value(node.body if test else node.orelse)

    def _bool_op(self, node: ast.BoolOp) -> Value:
        """Read `and` and `or`; constants decide from left to right, as in Python."""
        kind = And if isinstance(node.op, ast.And) else Or
        result = self.value(node.values[0])
        for part in node.values[1:]:
            if not isinstance(result, Expr | Runtime) and is_true(result) == (kind is Or):
                return result
            found = self.value(part)
            if not isinstance(result, Expr | Runtime):
                result = found
            elif isinstance(result, Runtime) or isinstance(found, Runtime):
                result = Runtime()
            else:
                result = operators.logical(self, kind, result, found, node)
        return result

    def _identity(self, node: ast.Compare) -> Value:
        """Read `x is None`, `name in ("A", "B")` and their opposites."""
        a, b = self.value(node.left), self.value(node.comparators[0])
        if isinstance(a, Runtime) or isinstance(b, Runtime):
            return Runtime()
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            if any(isinstance(value, Foreign | ListValue) for value in (a, b)):
                return (a is b) == isinstance(node.ops[0], ast.Is)
            try:
                return is_same(a, b) == isinstance(node.ops[0], ast.Is)
            except ValueError as error:
                raise self.error(node, "unsupported", str(error), expected="==") from None
        return self._has(a, b, node) == isinstance(node.ops[0], ast.In)

    def _has(self, item: Value, items: Value, node: ast.Compare) -> bool:
        """Return the truth of `item in items`."""
        if isinstance(items, Attributes):
            return self.key(item, node) in items.values
        if isinstance(items, str) and isinstance(item, str):
            return item in items
        if not isinstance(items, tuple):
            raise self.error(node, "wrong-type", "this value has no items", expected="a list, a dict or a string")
        return any(item is other or item == other for other in items)

    def key(self, key: Value, node: ast.AST) -> str:
        """Return the name under which a dict has a key: a string, or an integer as digits, which no string is."""
        if isinstance(key, int) and not isinstance(key, bool):
            return str(key)
        if not isinstance(key, str) or key.removeprefix("-").isdigit():
            raise self.error(node, "unsupported", "keys must be strings or integers", expected='{"key": value}')
        return key

    # --- constants, lists, dicts, strings

    def _constant(self, node: ast.Constant) -> Value:
        if node.value is ...:
            raise self.error(node, "unsupported", "the text leaves these arguments out", expected="the arguments")
        return super()._constant(node)

    def _rare(self, node: ast.expr) -> Value:
        match node:
            case ast.Tuple():
                return self.listed(self.items(node.elts), node)
            case ast.List():
                return ListValue(self.listed(self.items(node.elts), node))
            case _:
                return super()._rare(node)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        outer, self.scope = self.scope, self.scope.opened()
        try:
            return ListValue(self.listed([self.value(node.elt) for _ in self._each(node.generators)], node))
        finally:
            self.scope = outer

    def _each(self, generators: Sequence[ast.comprehension]) -> Iterator[None]:
        """Define the variables of a comprehension's loops for each of their combinations."""
        if not generators:
            yield
            return
        items = self.value(generators[0].iter)
        items = tuple(items) if isinstance(items, str) else items
        if not isinstance(items, tuple):
            raise self.error(generators[0].iter, "unsupported", "the items are not known when the text is read",
                             expected="range(4), a list, the result of get_loops, …")  # fmt: skip
        for item in items:
            self.assign(generators[0].target, item, generators[0].target)
            if all(self._kept(test) for test in generators[0].ifs):
                yield from self._each(generators[1:])

    def _kept(self, test: ast.expr) -> bool:
        """Return the truth of a comprehension's condition. Raises "unsupported" if only running the code decides it."""
        kept = self.truth(test)
        if kept is None:
            raise self.error(
                test,
                "unsupported",
                "the items are not known when the text is read",
                expected="a condition on constants",
            )
        return kept

    def _dictionary(self, node: ast.Dict) -> Value:
        found: dict[str, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            name = self.value(key) if key is not None else None
            found[self.key(name, key or value)] = self.value(value)
        made = Attributes(found, DICT)
        self.listed((made,), node)
        return made

    def _formatted(self, node: ast.JoinedStr) -> Value:
        """Read an f-string of constants; one of other values is for printing."""
        found = ""
        for part in node.values:
            plain = isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1
            value = self.value(part.value if plain and isinstance(part, ast.FormattedValue) else part)
            if (
                isinstance(value, bool)
                or not isinstance(value, str | int)
                or isinstance(part, ast.FormattedValue) != plain
            ):
                return Runtime()
            found = self._text(found + str(value), node)
        return found

    def _is_sequence(self, node: ast.expr) -> bool:
        """Whether a node is a list or a string, as far as its form tells."""
        match node:
            case ast.List() | ast.Tuple() | ast.ListComp() | ast.JoinedStr() | ast.Constant(value=str()):
                return True
            case ast.Name(id=name):
                return isinstance(self.scope.get(name), tuple | str)
            case ast.Subscript(slice=ast.Slice()):
                return self._is_sequence(node.value)
            case ast.BinOp(op=ast.Add()):
                return self._is_sequence(node.left)
            case ast.Call(func=ast.Name(id="list" | "tuple" | "str" as name)):
                return name not in self.scope
            case _:
                return False

    def _joined(self, node: ast.BinOp) -> Value:
        a, b = self.value(node.left), self.value(node.right)
        if isinstance(a, tuple) and isinstance(b, tuple):
            joined = self.listed((*a, *b), node)
            return ListValue(joined) if isinstance(a, ListValue) else joined
        if isinstance(a, str) and isinstance(b, str):
            return self._text(a + b, node)
        if isinstance(a, Runtime) or isinstance(b, Runtime):
            return Runtime()
        raise self.error(node, "wrong-type", "a list and another value cannot be joined", expected="two lists")

    def sliced(self, items: tuple[Value, ...], node: ast.Slice) -> Value:
        """Return `items[1:-1]`."""
        ends = [self.constant_int(end) if end is not None else None for end in (node.lower, node.upper, node.step)]
        if ends[2] == 0:
            raise self.error(node, "out-of-range", "the step of a slice is 0", expected="another number")
        found = items[slice(*ends)]
        return ListValue(found) if isinstance(items, ListValue) else found

    # --- assignment

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Define the names of a target."""
        match target:
            case ast.Name(id=name):
                self.define(name, value, target)
            case ast.Tuple() | ast.List():
                for part, item in zip(target.elts, self._unpacked(target, value), strict=True):
                    self.assign(part.value if isinstance(part, ast.Starred) else part, item, node)
            case _:
                root = root_name(target)
                if not isinstance(value, Runtime) or (root is not None and is_mutable(self.scope.get(root.id))):
                    raise self.error(target, "unsupported", "only names can be assigned", expected="name = …")

    def _unpacked(self, target: ast.Tuple | ast.List, value: Value) -> Sequence[Value]:
        """Return the value of each of several targets; one of them may be `*rest`."""
        names = target.elts
        if isinstance(value, Runtime):
            return (value,) * len(names)
        star = next((n for n, part in enumerate(names) if isinstance(part, ast.Starred)), None)
        if isinstance(value, tuple) and star is not None and len(value) >= len(names) - 1:
            end = len(value) - (len(names) - star - 1)
            return (*value[:star], value[star:end], *value[end:])
        if not isinstance(value, tuple) or star is not None or len(value) != len(names):
            count = len(value) if isinstance(value, tuple) else 1
            raise self.error(
                target, "wrong-arguments", f"{count} values for {len(names)} names", expected=f"{count} names"
            )
        return value


def is_true(value: Value) -> bool:
    """Return the truth of a value that is known; that of a dict is whether it has items."""
    return bool(value.values) if isinstance(value, Attributes) and value.title == DICT else bool(value)


def is_mutable(value: Value) -> bool:
    """Whether code can change the value in place: a list, a dict, or the attributes of a class."""
    return isinstance(value, ListValue | Attributes)


__all__ = ["MAX_ITEMS", "MAX_STEPS", "PythonReader", "RunTimeValueError", "is_mutable"]
