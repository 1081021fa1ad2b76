"""Enumerations of a text: members of `IntEnum` are read as their numbers, those of `Enum` as objects that equal only themselves."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..core import Evaluator
from ..scope import Unknown, Value
from ..values import Class, Instance

ENUMS = ("enum.Enum", "enum.IntEnum", "enum.IntFlag")


def with_members(run: Evaluator, of: Class, base: str, node: ast.ClassDef) -> Value:
    """Return an enumeration with its members. One whose values are not constants is not known."""
    names = [target.id for part in node.body if isinstance(part, ast.Assign) for target in part.targets
             if isinstance(target, ast.Name) and not target.id.startswith("_")]  # fmt: skip
    special = any(name in of.values for name in ("_missing_", "__new__", "__init__", "__eq__", "_generate_next_value_"))
    plain = (int,) if base != "enum.Enum" else (bool, int, float, str)
    if special or not all(type(of.values.get(name)) in plain for name in names):
        return Unknown(f"line {run.line(node)} defines an enumeration in a form that is not read")
    members: dict[Value, Value] = {}  # by value: a second name of a value is the same member
    for name in dict.fromkeys(names):
        value = of.values[name]
        is_number = base != "enum.Enum"
        member = value if is_number else Instance(of, {"name": name, "value": value})
        of.values[name] = members.setdefault((type(value).__name__, value), member)
    of.members.update(members)
    return of


def member_of(run: Evaluator, of: Class, args: Sequence[Value], named: Mapping[str, Value], node: ast.AST) -> Value:
    """Return the member that `Color(2)` names."""
    if len(args) == 1 and not named:
        if any(args[0] is member for member in of.members.values()):
            return args[0]
        if isinstance(args[0], bool | int | float | str):
            found = of.members.get((type(args[0]).__name__, args[0]))
            if found is not None:
                return found
    return run.runs(node, args)


__all__ = ["ENUMS", "member_of", "with_members"]
