"""Values that the reader of a text has besides Python's own: modules, functions, classes, and their instances."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ..errors import UnknownValueError
from ..reading.source import Source
from .scope import Foreign, Scope, Unknown, Value

Definition: TypeAlias = ast.Lambda | ast.FunctionDef


class Module(msgspec.Struct, Foreign, frozen=True):
    """A module or a name of one, as its dotted name: nothing is imported."""

    name: str


class TextModule(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A module whose file is read: its path and its names."""

    path: Path
    scope: Scope


class Function(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A lambda or a def of the text, with its enclosing scope, and the defaults of its parameters, which its definition evaluates. `owner`
    is the class of a method, `kind` its decorator, `known` the results of a function with a cache."""

    node: Definition
    scope: Scope
    defaults: Mapping[str, Value]
    kind: str = ""
    owner: Class | None = None
    known: dict[tuple[object, ...], Value] | None = None

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "the lambda"


class Class(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A class of the text. `values` are its attributes, `bases` the classes of the text that it extends. An `is_open` class also extends
    classes that the text does not define. `fields` are those of a dataclass, in order, `members` those of an enumeration by the types and
    values."""

    name: str
    values: dict[str, Value]
    bases: tuple[Class, ...] = ()
    is_open: bool = False
    fields: tuple[str, ...] | None = None
    members: dict[Value, Value] = msgspec.field(default_factory=dict[Value, Value])

    def owner_of(self, name: str) -> Class | None:
        """Return the class that has an attribute: this one, or a base."""
        return next((owner for owner in self.line() if name in owner.values), None)

    def line(self) -> Iterator[Class]:
        """Yield the class and its bases, in the order in which attributes are looked up."""
        yield self
        for base in self.bases:
            yield from base.line()

    @property
    def opens(self) -> bool:
        """Whether the class or one of its bases extends classes that the text does not define."""
        return any(owner.is_open for owner in self.line())


class Instance(msgspec.Struct, Foreign, frozen=True, eq=False):
    """An object of a class of the text."""

    of: Class
    values: dict[str, Value]


class RecordType(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A `namedtuple("Point", ["x", "y"])`."""

    name: str
    fields: tuple[str, ...]


class Record(tuple[Any, ...]):
    """An object of a named tuple of the text."""

    fields: tuple[str, ...] = ()


class Bound(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A method of an object or class."""

    function: Function
    owner: Value


class Parent(msgspec.Struct, Foreign, frozen=True, eq=False):
    """The result of `super()`: the classes after `of`."""

    of: Class
    owner: Value


class Field(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A `field(default=…)` of a dataclass; `factory` makes the value for each object."""

    default: Value = None
    factory: Value = None
    has_default: bool = False


class View(msgspec.Struct, Foreign, frozen=True, eq=False):
    """The keys, values or items of a dict, as they are when a loop asks for them."""

    owner: dict[Value, Value]
    kind: str

    def items(self) -> Iterator[Value]:
        match self.kind:
            case "keys":
                return iter(self.owner)
            case "values":
                return iter(self.owner.values())
            case _:
                return iter(self.owner.items())


class TypeVariable(Foreign):
    """The result of `TypeVar("n")`, which declares a size in the texts that TVM prints."""

    __slots__ = ()


class Lazy(Foreign):
    """An iterator of Python, such as the result of `zip`, which gives its items once."""

    __slots__ = ("items",)

    def __init__(self, items: Iterator[Value]) -> None:
        self.items = items


class Array(Foreign):
    """A small NumPy array of numbers, or of other values with one axis; `base` is the one whose memory it shares, itself for others."""

    __slots__ = ("base", "data")

    def __init__(self, data: Any, base: Array | None = None) -> None:
        self.data = data
        self.base: Array = self if base is None else base.base

    def items(self) -> Iterator[Value]:
        if self.data.dtype.kind == "O":
            return iter(self.data)
        return (item.item() if not item.ndim else Array(item, self) for item in self.data)


class ReadItem(ast.expr):
    """An expression that is read: an item of `*items` in a call."""

    def __init__(self, item: Value = None) -> None:
        super().__init__()
        self.item = item


class Options(msgspec.Struct, Foreign, frozen=True, eq=False):
    """The options of a command line by name."""

    values: dict[str, Value]


class Attributes(msgspec.Struct, Foreign, frozen=True, eq=False):
    """An object that is used only for its attributes, such as the configuration of an accelerator."""

    values: dict[str, Value]
    title: str


def unknown_error(source: Source, value: Unknown, node: ast.AST) -> UnknownValueError:
    """Create the error for a value that is not certain, where a program needs it."""
    if isinstance(node, ast.Name):
        found = source.error(node, "unknown-name", f"the value of {node.id} is not known for certain: {value.why}",
                             expected=f"a constant, assigned above the program: {node.id} = 128")  # fmt: skip
    else:
        found = source.error(node, "unsupported", f"this value is not known for certain: {value.why}",
                             expected="a constant or an expression")  # fmt: skip
    return UnknownValueError(found.refusal, value.name or dotted(node))


def dotted(node: ast.AST) -> str:
    """Return the text of a name or of attributes of one; "" for other expressions."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return ast.unparse(node) if isinstance(root, ast.Name) else ""


_OF_HOLES = (ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Subscript, ast.Constant, ast.Tuple, ast.expr_context)
MOST_CHARACTERS = 100


def hole_name(node: ast.AST) -> str:
    """Return the text of a name, attribute, item or call, under which its value can be given: `env["threads"]`, `threads_of(target)`; ""
    for other expressions."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return ""
    if not all(isinstance(part, _OF_HOLES) for part in ast.walk(node)):
        return ""
    text = ast.unparse(node).replace("'", '"').replace(", ", ",")
    return text if len(text) <= MOST_CHARACTERS else ""


def value_name(text: str) -> str:
    """Return the name of a value that code of the text asks for, as people may write it; "" for others."""
    try:
        return hole_name(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""


def several(value: Value) -> tuple[Value, ...]:
    """Return the items of a list or tuple; another value as one item."""
    return tuple(value) if isinstance(value, tuple | list | range) else (value,)


def frozen(value: Value) -> Value:
    """Return a value with tuples for lists and ranges, at all levels, as programs use them."""
    if isinstance(value, tuple | list | range):
        return tuple(map(frozen, value))
    return value


def is_mutable(value: object) -> bool:
    """Whether code can change the value in place."""
    if isinstance(value, Class | Instance):
        return not (value if isinstance(value, Class) else value.of).members
    return isinstance(value, list | dict | Lazy | Array | Options)


def parts(value: Value) -> Iterator[Value]:
    """Yield the values directly inside a value."""
    match value:
        case tuple() | list():
            yield from value
        case dict():
            yield from value.values()
        case Instance(values=values) | Class(values=values) | Attributes(values=values) | Options(values=values):
            yield from values.values()
        case Bound(function=function, owner=owner):
            yield function
            yield owner
        case Parent(owner=owner) | View(owner=owner):
            yield owner
        case Array(base=base) if base is not value:
            yield base
        case Function(defaults=defaults):
            yield from defaults.values()
        case _:
            pass


def reachable(value: Value, most: int) -> Iterator[Value]:
    """Yield a value and all values in it, each once, `most` at the utmost."""
    seen: dict[int, Value] = {}
    pending = [value]
    while pending and len(seen) < most:
        found = pending.pop()
        if id(found) not in seen:
            seen[id(found)] = found
            yield found
            pending.extend(parts(found))


__all__ = [
    "Array",
    "Attributes",
    "Bound",
    "Class",
    "Definition",
    "Field",
    "Function",
    "Instance",
    "Lazy",
    "Module",
    "Options",
    "Parent",
    "ReadItem",
    "Record",
    "RecordType",
    "TextModule",
    "TypeVariable",
    "Unknown",
    "View",
    "dotted",
    "frozen",
    "hole_name",
    "is_mutable",
    "parts",
    "reachable",
    "several",
    "unknown_error",
    "value_name",
]  # fmt: skip
