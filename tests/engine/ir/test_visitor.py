"""Traversal follows the annotated types of the fields; this test derives them from the types."""

from __future__ import annotations

from types import NoneType
from typing import get_args, get_type_hints

import tilewright
from tilewright.engine.ir import Node, PrimFunc, Stmt
from tilewright.engine.ir.visitor import _child_fields, _stmt_fields

assert tilewright.__name__  # every package is imported, so that every class of nodes is there
DEFINED = {"loop_var", "var", "params"}


def classes_below(kind: type[Node]) -> list[type[Node]]:
    found = [k for sub in kind.__subclasses__() for k in (sub, *classes_below(sub))]
    return [k for k in found if k.__module__.startswith("tilewright")]


def holds(hint: object, *wanted: type[Node]) -> bool:
    """Whether a value of this type can be, or contain in tuples, one of the classes."""
    parts = get_args(hint)
    if isinstance(hint, type) and not parts:
        return issubclass(hint, wanted)
    return any(holds(part, *wanted) for part in parts)


def shape_of(hint: object) -> str:
    if isinstance(hint, type) and not get_args(hint):
        return "node"
    if NoneType in get_args(hint):
        return "maybe"
    return (
        "nodes" if all((isinstance(a, type) and not get_args(a)) or a is Ellipsis for a in get_args(hint)) else "nested"
    )


def test_traversal_follows_exactly_the_fields_that_hold_nodes():
    classes = classes_below(Node)
    assert len(classes) > 40
    names = {kind.__name__: kind for kind in classes}
    for kind in classes:
        hints = get_type_hints(kind, localns=names)
        fields = kind.__struct_fields__
        found = dict(_child_fields(kind))
        assert set(found) == {f for f in fields if holds(hints[f], Node)} - DEFINED, kind
        assert all(shape == shape_of(hints[f]) for f, shape in found.items()), kind
        assert {f for f, _ in _stmt_fields(kind)} == {f for f in fields if holds(hints[f], Stmt, PrimFunc)}, kind
