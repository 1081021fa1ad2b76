"""Assignments to names, items and attributes, and the items of starred arguments."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .core import Evaluator
from .operators import key
from .scope import Unknown, Value
from .values import Class, Instance, Options, unknown_error


def items(run: Evaluator, nodes: Sequence[ast.expr]) -> list[Value]:
    """Return the values of arguments or of a list, with `*many` unpacked."""
    found: list[Value] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            found.append(run.value(node))
            continue
        value = run.value(node.value)
        many = run.iterate(value, node)
        if many is None:
            raise unknown_error(run.source, value if isinstance(value, Unknown) else Unknown("its items are not"), node)
        for item in many:
            found.append(item)
            run.budget.require_items(len(found), node)
    return found


def assign(run: Evaluator, target: ast.expr, value: Value) -> None:
    """Assign a value to a target: names, attributes and items of the text's objects."""
    match target:
        case ast.Name(id=name):
            if run.scope.is_module:
                run.lines[name] = run.line(target)
            if isinstance(value, Unknown) and not value.origin and (not value.written or run.dialect.takes(run, name)):
                value.origin = name
            run.scope.define(name, value)
            run.dialect.named(value, name)
        case ast.Tuple() | ast.List():
            for part, item in zip(target.elts, _unpacked(run, target, value), strict=True):
                assign(run, part.value if isinstance(part, ast.Starred) else part, item)
        case ast.Subscript():
            _set_item(run, target, value)
        case ast.Attribute():
            _set_attribute(run, target, value)
        case _:
            raise run.error(target, "unsupported", "this cannot be assigned", expected="name = …")


def _set_item(run: Evaluator, target: ast.Subscript, value: Value) -> None:
    owner = run.value(target.value)
    if isinstance(owner, Unknown):
        run.runs(target, (value,))
    elif isinstance(owner, dict):
        owner[key(run, run.known(target.slice), target)] = value
        run.budget.require_items(len(owner), target)
    elif isinstance(owner, list) and not isinstance(target.slice, ast.Slice):
        position = run.number(target.slice)
        if not -len(owner) <= position < len(owner):
            raise run.error(target, "out-of-range", f"there are {len(owner)} items")
        owner[position] = value
    else:
        raise run.error(target, "unsupported", "only items of lists and dicts can be assigned", expected="items[0] = …")


def _set_attribute(run: Evaluator, target: ast.Attribute, value: Value) -> None:
    owner = None if run.dotted(target.value) is not None else run.value(target.value)
    match owner:
        case Instance(of=of) if of.owner_of("__setattr__") is None and not _is_property(of, target.attr):
            owner.values[target.attr] = value
        case Class() | Options():
            owner.values[target.attr] = value
        case Unknown() | None:
            run.runs(target, (value,))
        case _:
            raise run.error(target, "unsupported", "this attribute cannot be assigned", expected="name = …")


def _is_property(of: Class, name: str) -> bool:
    found = of.owner_of(name)
    return found is not None and getattr(found.values[name], "kind", "") == "property"


def _unpacked(run: Evaluator, target: ast.Tuple | ast.List, value: Value) -> Sequence[Value]:
    """Return the value of each of several targets; one of them may be `*rest`."""
    names = target.elts
    found = run.iterate(value, target)
    if found is None:
        unknown = value if isinstance(value, Unknown) else run.runs(target, (value,))
        return [unknown if unknown.origin else Unknown(unknown.why) for _ in names]  # each is named after its variable
    given: list[Value] = []
    for item in found:
        given.append(item)
        run.budget.require_items(len(given), target)
    star = next((n for n, part in enumerate(names) if isinstance(part, ast.Starred)), None)
    if star is not None and len(given) >= len(names) - 1:
        end = len(given) - (len(names) - star - 1)
        return (*given[:star], run.new(given[star:end], target), *given[end:])
    if star is not None or len(given) != len(names):
        raise run.error(target, "wrong-arguments", f"{len(given)} values for {len(names)} names",
                        expected=f"{len(given)} names")  # fmt: skip
    return given


__all__ = ["assign", "items"]
