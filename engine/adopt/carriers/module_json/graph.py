"""The graph of nodes in TVM's JSON of an object (`save_json`), of TVM 0.8 to 0.20 (`type_key`, attributes as text) and of newer ones
(`type`, fields as data). Nodes are read by name; nothing of TVM is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ....ir import Refusal
from ..content import CarrierError

_NAMES = {
    "SBlock": "Block",
    "SBlockRealize": "BlockRealize",
    "TensorLoad": "BufferLoad",
    "TensorRegion": "BufferRegion",
    "Str": "String",
}
"""Kinds of TVM 0.24 and newer, and their names before."""


class JSONError(CarrierError):
    """TVM's JSON that is damaged, or has a part that is not read."""


class Node(msgspec.Struct, frozen=True, eq=False):
    """A node: its kind without the namespace, its fields, and its items or text."""

    index: int
    kind: str
    fields: Mapping[str, Any]
    data: Any = None
    keys: Sequence[str] = ()


class Graph:
    """The nodes of a JSON object. All methods raise JSONError for a graph that TVM would not write."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.is_old = "root" in data and "root_index" not in data
        raw: Any = data.get("nodes")
        if not isinstance(raw, list):
            raise damaged("it has no list of nodes")
        self._raw = cast("list[Any]", raw)
        self._nodes: dict[int, Node] = {}
        self.root = self._required(data.get("root" if self.is_old else "root_index"))

    def _required(self, index: Any) -> Node:
        found = self.at(index)
        if found is None:
            raise damaged("a node is missing")
        return found

    def at(self, index: Any) -> Node | None:
        """Return the node at an index; None for the null node."""
        if isinstance(index, str) and index.isdecimal() and len(index) < 10:
            index = int(index)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(self._raw):
            raise damaged(f"{str(index)[:20]!r} is not the number of a node")
        if index not in self._nodes:
            self._nodes[index] = self._read(index)
        found = self._nodes[index]
        return None if found.kind in ("", "None") else found

    def _read(self, index: int) -> Node:
        raw = self._raw[index]
        if not isinstance(raw, dict):
            raise damaged(f"node {index} is not an object")
        node = cast("dict[str, Any]", raw)
        name = node.get("type_key" if self.is_old else "type")
        if not isinstance(name, str):
            raise damaged(f"node {index} has no type")
        kind = name.rpartition(".")[2]
        kind = _NAMES.get(kind, kind)
        if self.is_old:
            text = node.get("repr_str")
            return Node(
                index,
                kind,
                _fields(node.get("attrs")),
                node.get("data", ()) if text is None else text,
                node.get("keys", ()),
            )
        data = node.get("data")
        return Node(index, kind, _fields(data) if isinstance(data, dict) else {}, data)

    def find(self, node: Node, field: str) -> Node | None:
        """Return the node that a field refers to; None for null, or without the field."""
        return self.at(node.fields[field]) if field in node.fields else None

    def get(self, node: Node, field: str) -> Node:
        """Return the node that a field refers to."""
        found = self.find(node, field)
        if found is None:
            raise damaged(f"node {node.index} ({node.kind}) has no {field}")
        return found

    def items(self, node: Node | None) -> list[Node]:
        """Return the items of an array; none of null."""
        if node is None:
            return []
        if node.kind not in ("Array", "List") or not isinstance(node.data, list | tuple):
            raise damaged(f"node {node.index} is not an array")
        return [self._required(index) for index in cast("Sequence[Any]", node.data)]

    def pairs(self, node: Node | None) -> list[tuple[Node | str, Node | None]]:
        """Return the keys and values of a map; keys that are text have no node in old graphs."""
        if node is None:
            return []
        if node.kind not in ("Map", "Dict") or not isinstance(node.data, list | tuple):
            raise damaged(f"node {node.index} is not a map")
        data = cast("Sequence[Any]", node.data)
        if node.keys:
            if len(node.keys) != len(data):
                raise damaged(f"node {node.index} has keys without values")
            return [(str(key), self.at(value)) for key, value in zip(node.keys, data, strict=True)]
        if len(data) % 2:
            raise damaged(f"node {node.index} has a key without a value")
        return [(self._required(data[n]), self.at(data[n + 1])) for n in range(0, len(data), 2)]

    def named(self, node: Node | None) -> list[tuple[str, Node | None]]:
        """Return the keys and values of a map whose keys are text."""
        return [(key if isinstance(key, str) else self.string(key), value) for key, value in self.pairs(node)]

    def attributes(self, node: Node | None) -> list[tuple[str, Node | None]]:
        """Return the attributes of a function or module."""
        return [] if node is None else self.named(self.find(node, "__dict__"))

    def string(self, node: Node) -> str:
        """Return the text of a node."""
        found: Any = node.data or ""  # an old graph has no text for an empty one
        if node.kind != "String" or not isinstance(found, str):
            raise damaged(f"node {node.index} is not text")
        return found

    def text(self, node: Node, field: str) -> str:
        """Return the text of a field."""
        return self.string(self.get(node, field))

    def number(self, node: Node, field: str) -> int:
        """Return an integer that is not a node, such as the kind of a loop."""
        value = node.fields.get(field)
        try:
            return int(value) if isinstance(value, int | str) else int("")
        except ValueError:
            raise damaged(f"node {node.index} ({node.kind}) has no number {field}") from None

    def integer(self, node: Node) -> int:
        """Return the value of a constant integer."""
        if node.kind in ("int", "bool") and isinstance(node.data, int):
            return node.data
        if node.kind != "IntImm":
            raise damaged(f"node {node.index} ({node.kind}) is not an integer")
        return self.number(node, "value") if self.is_old else self.integer(self.get(node, "value"))

    def dtype(self, node: Node) -> str:
        """Return the type of an expression."""
        if self.is_old or isinstance(node.fields.get("dtype"), str):
            found = node.fields.get("dtype")
        else:
            found = self.get(node, "ty" if "ty" in node.fields else "dtype").fields.get("dtype")
        if not isinstance(found, str):
            raise damaged(f"node {node.index} ({node.kind}) has no type")
        return found


def _fields(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def damaged(why: str) -> JSONError:
    """Return the error for a graph that TVM would not write."""
    return JSONError(Refusal("bad-module-json", f"TVM's JSON is damaged: {why}", expected="the result of save_json"))


def unread(what: str) -> JSONError:
    """Return the error for a part of a module that is not read."""
    return JSONError(
        Refusal("unsupported", f"{what} of TVM's JSON is not read", expected="tensor programs with blocks",
                fix=("paste what print(mod.script()) prints",))
    )  # fmt: skip


__all__ = ["Graph", "JSONError", "Node", "damaged", "unread"]
