"""Methods of lists, dicts, tuples, strings and numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any, TypeAlias, cast

from .core import Evaluator
from .operators import equal, key
from .scope import Unknown, Value
from .values import View

ReadMethod: TypeAlias = Callable[[Evaluator, Any, Sequence[Value], Mapping[str, Value], ast.Call], Value]


def _plain(least: int, most: int, read: Callable[..., Value]) -> ReadMethod:
    """Return a reader of a method with that many positional arguments."""

    def method(run: Evaluator, owner: Any, args: Sequence[Value], named: Mapping[str, Value], node: ast.Call) -> Value:
        if named or not least <= len(args) <= most:
            raise run.error(node, "wrong-arguments", "these are not the arguments of this method",
                            expected=f"{least} to {most} arguments")  # fmt: skip
        return read(run, owner, node, *args)

    return method


# --- lists


def _append(run: Evaluator, owner: list[Value], node: ast.Call, item: Value) -> None:
    owner.append(item)
    run.budget.require_items(len(owner), node)


def _extend(run: Evaluator, owner: list[Value], node: ast.Call, items: Value) -> None:
    found = run.iterate(run.require_known(items, node), node)
    for item in [*owner] if items is owner else found or ():
        _append(run, owner, node, item)


def _insert(run: Evaluator, owner: list[Value], node: ast.Call, position: Value, item: Value) -> None:
    owner.insert(_integer(run, position, node), item)
    run.budget.require_items(len(owner), node)


def _pop(run: Evaluator, owner: list[Value], node: ast.Call, position: Value = -1) -> Value:
    at = _integer(run, position, node)
    if not -len(owner) <= at < len(owner):
        raise run.error(node, "out-of-range", f"there are {len(owner)} items")
    return owner.pop(at)


def _index(run: Evaluator, owner: Sequence[Value], node: ast.Call, item: Value) -> Value:
    for number, other in enumerate(owner):
        if _same(run, node, item, other):
            return number
    raise run.error(node, "out-of-range", "the list has no such item")


def _count(run: Evaluator, owner: Sequence[Value], node: ast.Call, item: Value) -> Value:
    return sum(_same(run, node, item, other) for other in owner)


def _remove(run: Evaluator, owner: list[Value], node: ast.Call, item: Value) -> None:
    position = _index(run, owner, node, item)
    assert isinstance(position, int)
    del owner[position]


def _same(run: Evaluator, node: ast.Call, a: Value, b: Value) -> bool:
    same = a is b or equal(run, node, a, b)
    if not isinstance(same, bool):
        raise run.error(node, "unsupported", "these values cannot be compared", expected="constants")
    return same


def _reverse(run: Evaluator, owner: list[Value], node: ast.Call) -> None:
    owner.reverse()


def _clear(run: Evaluator, owner: list[Value] | dict[Value, Value], node: ast.Call) -> None:
    owner.clear()


def _copy(run: Evaluator, owner: list[Value] | dict[Value, Value], node: ast.Call) -> Value:
    return run.new(owner.copy(), node)


def _sort(
    run: Evaluator, owner: list[Value], args: Sequence[Value], named: Mapping[str, Value], node: ast.Call
) -> Value:
    owner[:] = ordered(run, owner, named, node)
    return None


def ordered(run: Evaluator, items: Sequence[Value], named: Mapping[str, Value], node: ast.Call) -> list[Value]:
    """Return items that are all numbers or all strings in order. Raises "unsupported"."""
    reverse = named.get("reverse", False)
    numbers, strings = (all(isinstance(item, kinds) for item in items) for kinds in (int | float, str))
    if not named.keys() <= {"reverse"} or not isinstance(reverse, bool) or not (numbers or strings):
        raise run.error(node, "unsupported", "only numbers or strings are sorted here", expected="sorted(numbers)")
    return sorted(items, reverse=reverse)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]


def _integer(run: Evaluator, value: Value, node: ast.Call) -> int:
    if not isinstance(value, int):
        raise run.error(node, "wrong-type", "this must be a constant integer", expected="an integer")
    return value


# --- dicts


def _get(run: Evaluator, owner: dict[Value, Value], node: ast.Call, name: Value, default: Value = None) -> Value:
    return run.runs(node) if isinstance(name, Unknown) else owner.get(key(run, name, node), default)


def _take(run: Evaluator, owner: dict[Value, Value], node: ast.Call, name: Value, *default: Value) -> Value:
    name = key(run, name, node)
    if name not in owner and not default:
        raise run.error(node, "unknown-name", f"the dict has no entry {name}")
    return owner.pop(name, *default)


def _set_default(
    run: Evaluator, owner: dict[Value, Value], node: ast.Call, name: Value, default: Value = None
) -> Value:
    return owner.setdefault(key(run, name, node), default)


def _update(
    run: Evaluator, owner: dict[Value, Value], args: Sequence[Value], named: Mapping[str, Value], node: ast.Call
) -> Value:
    for other in (*args, dict(named)):
        if not isinstance(other, dict):
            raise run.error(node, "unsupported", "only a dict can be added to a dict here", expected="a dict")
        owner |= other
    run.budget.require_items(len(owner), node)
    return None


def _keys(run: Evaluator, owner: dict[Value, Value], node: ast.Call) -> Value:
    return View(owner, "keys")


def _values(run: Evaluator, owner: dict[Value, Value], node: ast.Call) -> Value:
    return View(owner, "values")


def _pairs(run: Evaluator, owner: dict[Value, Value], node: ast.Call) -> Value:
    return View(owner, "items")


# --- strings and numbers


def _of_text(name: str, most: int = 1) -> ReadMethod:
    """Return a reader of a method of strings whose arguments are strings or integers."""

    def read(run: Evaluator, owner: str, node: ast.Call, *args: Value) -> Value:
        if any(isinstance(value, Unknown) for value in args):
            return run.runs(node)
        given = [value for value in args if isinstance(value, str | int | tuple) or value is None]
        try:
            found = getattr(owner, name)(*given) if len(given) == len(args) else None
        except (TypeError, ValueError):
            found = None
        if found is None:
            raise run.error(node, "wrong-arguments", f"str.{name} does not take these values", expected="strings")
        return run.new(cast("Value", found), node)

    return _plain(0, most, read)


def _replace(run: Evaluator, owner: str, node: ast.Call, old: Value, new: Value) -> Value:
    if not isinstance(old, str) or not isinstance(new, str):
        return run.runs(node)
    run.budget.require_text((len(owner) + 1) * (len(new) + 1), node)
    return owner.replace(old, new)


def _join(run: Evaluator, owner: str, node: ast.Call, items: Value) -> Value:
    found = run.iterate(items, node)
    words = [*found] if found is not None else [items]
    if not all(isinstance(word, str) for word in words):
        return run.runs(node)
    run.budget.require_text(sum(len(str(word)) + len(owner) for word in words), node)
    return owner.join(str(word) for word in words)


def _format(run: Evaluator, owner: str, args: Sequence[Value], named: Mapping[str, Value], node: ast.Call) -> Value:
    """Read `"{}_{}".format(name, 3)` of constants; other forms are for printing."""
    try:
        fields = [(name, spec, kind) for _, name, spec, kind in Formatter().parse(owner) if name is not None]
    except ValueError:
        return run.runs(node)
    is_plain = all(spec in ("", "d") and not kind and re.fullmatch(r"\w*", name) for name, spec, kind in fields)
    if not is_plain or not all(isinstance(value, bool | int | str) for value in (*args, *named.values())):
        return run.runs(node)
    run.budget.require_text(
        len(owner) + len(fields) * max((len(str(v)) for v in (*args, *named.values())), default=0), node
    )
    try:
        return owner.format(*args, **named)
    except (ValueError, IndexError, KeyError):
        return run.runs(node)


def _bit_length(run: Evaluator, owner: int, node: ast.Call) -> Value:
    return owner.bit_length()


def _is_integer(run: Evaluator, owner: float, node: ast.Call) -> Value:
    return owner.is_integer()


METHODS: Mapping[tuple[type, str], ReadMethod] = {
    (list, "append"): _plain(1, 1, _append),
    (list, "extend"): _plain(1, 1, _extend),
    (list, "insert"): _plain(2, 2, _insert),
    (list, "pop"): _plain(0, 1, _pop),
    (list, "remove"): _plain(1, 1, _remove),
    (list, "reverse"): _plain(0, 0, _reverse),
    (list, "clear"): _plain(0, 0, _clear),
    (list, "copy"): _plain(0, 0, _copy),
    (list, "sort"): _sort,
    **{(kind, "index"): _plain(1, 1, _index) for kind in (list, tuple)},
    **{(kind, "count"): _plain(1, 1, _count) for kind in (list, tuple)},
    (dict, "get"): _plain(1, 2, _get),
    (dict, "pop"): _plain(1, 2, _take),
    (dict, "setdefault"): _plain(1, 2, _set_default),
    (dict, "update"): _update,
    (dict, "copy"): _plain(0, 0, _copy),
    (dict, "clear"): _plain(0, 0, _clear),
    (dict, "keys"): _plain(0, 0, _keys),
    (dict, "values"): _plain(0, 0, _values),
    (dict, "items"): _plain(0, 0, _pairs),
    (str, "join"): _plain(1, 1, _join),
    (str, "replace"): _plain(2, 2, _replace),
    (str, "format"): _format,
    **{
        (str, name): _of_text(name)
        for name in ("startswith", "endswith", "removeprefix", "removesuffix", "upper", "lower", "capitalize", "title", "strip",
                     "lstrip", "rstrip", "isdigit", "isdecimal", "isalpha", "isalnum", "isidentifier", "isupper", "islower", "find",
                     "rfind", "count", "partition", "rpartition")
    },
    **{(str, name): _of_text(name, 2) for name in ("split", "rsplit")},
    (int, "bit_length"): _plain(0, 0, _bit_length),
    (float, "is_integer"): _plain(0, 0, _is_integer),
}  # fmt: skip
"""Methods of Python's own values by type and name."""

__all__ = ["METHODS", "ordered"]
