"""Expressions of TVM's JSON as TVMScript text."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from .graph import Graph, Node, damaged, unread

MAX_CHARACTERS = 200_000
"""Maximum length of one expression: nodes that others share are written at each use."""

_OPERATORS = {
    "Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%", "And": "and", "Or": "or",
    "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=",
}  # fmt: skip
_FUNCTIONS = {"Max": "max", "Min": "min", "Mod": "truncmod"}
_CALLS = re.compile(
    "exp|exp2|exp10|a?(sin|cos|tan)h?|sqrt|rsqrt|log|log2|log10|log1p|sigmoid|erf|fabs|floor|ceil|round|trunc|nearbyint|pow|fmod|atan2|hypot"
    "|bitwise_(and|or|xor|not)|shift_(left|right)|if_then_else|likely|copysign|nextafter|clz|popcount|isnan|isinf|isfinite|ldexp"
)
"""Calls whose type follows from their arguments."""
_TYPED = frozenset(("reinterpret",))
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


class Names:
    """Names of variables and buffers in a function; equal ones in one scope get a number."""

    def __init__(self) -> None:
        self._taken = {"T", "I", "tvm", *keyword.kwlist}
        self._names: dict[int, str] = {}

    @contextmanager
    def scope(self) -> Generator[None]:
        """A part of the function after which the names that it defines are free."""
        taken = {*self._taken}
        yield
        self._taken = taken

    def name(self, node: Node, wanted: str) -> str:
        """Define a node and return its name, which is `wanted` if that is free."""
        if node.index in self._names:
            raise unread("a variable or buffer with two definitions")
        base = re.sub(r"\W", "_", wanted) or "v"
        base = base if _IDENTIFIER.fullmatch(base) else f"v_{base}"
        found, number = base, 1
        while found in self._taken:
            found, number = f"{base}_{number}", number + 1
        self._taken.add(found)
        self._names[node.index] = found
        return found

    def knows(self, node: Node) -> bool:
        """Whether a node has a name."""
        return node.index in self._names

    def __getitem__(self, node: Node) -> str:
        if node.index not in self._names:
            raise damaged(f"node {node.index} ({node.kind}) is used before it is defined")
        return self._names[node.index]


class ExpressionWriter:
    """Writes expressions."""

    def __init__(self, graph: Graph, names: Names) -> None:
        self.graph, self.names = graph, names
        self._written: dict[int, str] = {}

    def text(self, node: Node) -> str:
        """Return an expression as text. Raises JSONError "unsupported"."""
        if node.index in self._written:
            return self._written[node.index]
        found = self._text(node)
        if len(found) > MAX_CHARACTERS:
            raise unread("an expression of such a length")
        if node.kind not in ("Var", "SizeVar"):
            self._written[node.index] = found
        return found

    def field(self, node: Node, name: str) -> str:
        """Return an expression in a field as text."""
        return self.text(self.graph.get(node, name))

    def tuple_of(self, nodes: Sequence[Node]) -> str:
        """Return expressions as a tuple."""
        return f"({', '.join(map(self.text, nodes))}{',' * (len(nodes) == 1)})"

    def _text(self, node: Node) -> str:
        if node.kind in _OPERATORS:
            if node.kind in ("FloorDiv", "FloorMod") and "float" in self.graph.dtype(node):
                raise unread(f"{node.kind} of floats")
            return f"({self.field(node, 'a')} {_OPERATORS[node.kind]} {self.field(node, 'b')})"
        if node.kind in _FUNCTIONS:
            return f"T.{_FUNCTIONS[node.kind]}({self.field(node, 'a')}, {self.field(node, 'b')})"
        match node.kind:
            case "IntImm":
                return self._integer(node)
            case "FloatImm":
                return self._float(node)
            case "StringImm":
                return json.dumps(self.graph.text(node, "value"))
            case "Var" | "SizeVar":
                return self.names[node]
            case "Cast":
                return f'T.Cast("{_dtype(self.graph.dtype(node))}", {self.field(node, "value")})'
            case "Select":
                fields = ("condition", "true_value", "false_value")
                return f"T.Select({', '.join(self.field(node, field) for field in fields)})"
            case "Not":
                return f"(not {self.field(node, 'a')})"
            case "Div":
                left, right = self.field(node, "a"), self.field(node, "b")
                return f"({left} / {right})" if "float" in self.graph.dtype(node) else f"T.Div({left}, {right})"
            case "BufferLoad":
                return self._load(node)
            case "Ramp":
                return f"T.Ramp({self.field(node, 'base')}, {self.field(node, 'stride')}, {self._lanes(node)})"
            case "Broadcast":
                return f"T.Broadcast({self.field(node, 'value')}, {self._lanes(node)})"
            case "Call":
                return self._call(node)
            case kind:
                raise unread(f"the expression {kind!r}")

    def _integer(self, node: Node) -> str:
        value, dtype = self.graph.integer(node), self.graph.dtype(node)
        if dtype == "bool":
            return f"T.bool({bool(value)})"
        return str(value) if dtype == "int32" and value >= 0 else f"T.{_dtype(dtype)}({value})"

    def _float(self, node: Node) -> str:
        value = node.fields.get("value")
        try:
            number = float(value) if isinstance(value, str | int | float) else float("")
        except (ValueError, OverflowError):
            raise damaged(f"node {node.index} ({node.kind}) has no number") from None
        shown = repr(number) if math.isfinite(number) else f'"{number}"'
        return f"T.{_dtype(self.graph.dtype(node))}({shown})"

    def _load(self, node: Node) -> str:
        if self.graph.find(node, "predicate") is not None:
            raise unread("a load with a predicate")
        buffer = self.graph.get(node, "source" if "source" in node.fields else "buffer")
        indices = self.graph.items(self.graph.get(node, "indices"))
        return f"{self.names[buffer]}[{', '.join(map(self.text, indices)) or '()'}]"

    def _lanes(self, node: Node) -> int:
        lanes = node.fields.get("lanes")
        found = self.graph.at(lanes)
        if found is not None and found.kind in ("IntImm", "int"):
            return self.graph.integer(found)
        return self.graph.number(node, "lanes")

    def _call(self, node: Node) -> str:
        op = self.graph.get(node, "op")
        name = str(op.data if op.kind == "Op" else op.kind).rpartition(".")[2]
        arguments = ", ".join(map(self.text, self.graph.items(self.graph.get(node, "args"))))
        if op.kind == "Op" and _CALLS.fullmatch(name):
            return f"T.{name}({arguments})"
        if op.kind == "Op" and name in _TYPED:
            return f'T.{name}("{_dtype(self.graph.dtype(node))}", {arguments})'
        raise unread(f"the call of {name!r}")


def _dtype(name: str) -> str:
    if not _IDENTIFIER.fullmatch(name):
        raise damaged(f"{name[:20]!r} is not a type")
    return name


__all__ = ["ExpressionWriter", "Names"]
