"""Type checks for schedule-call arguments that come from text, before the method is called.

The annotations of Schedule's methods are the only list of accepted types. A loop can be given by its handle or by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, ForwardRef, Union, cast, get_args, get_origin, get_type_hints

from ..export import signature_of
from ..ir import Buffer, Expr, IndexMap, Refusal, RegionMap, Var
from ..schedule import Schedule, TensorIntrin

_WORDS: dict[Any, str] = {
    Var: "a loop",
    str: "a name or a string",
    int: "an integer of 64 bits",
    float: "a number",
    bool: "True or False",
    NoneType: "None",
    Expr: "an expression",
    IndexMap: "a map such as lambda i, j: [j, i]",
    RegionMap: "a map to ranges",
    Buffer: "a buffer",
    TensorIntrin: "an intrinsic",
}
_KINDS: dict[Any, str] = {
    list: "a list",
    tuple: "a tuple",
    dict: "a dict",
    str: "a string",
    bool: "a bool",
    int: "this integer",
}
_MOST_NESTED = 64
"""Maximum nesting depth of an annotation's value."""


def find_wrong_argument(method: str, arguments: Mapping[str, Any]) -> Refusal | None:
    """Return the reason why the method rejects these arguments, given by parameter name; None if all types match."""
    hints = _hints(method)
    several = {p.name for p in signature_of(method).parameters.values() if p.kind is p.VAR_POSITIONAL}
    for name, value in arguments.items():
        values = cast("Sequence[Any]", value) if name in several else (value,)
        for item in values:
            if not _fits(item, hints[name]):
                expected = " or ".join(dict.fromkeys(_words(hints[name])))
                return Refusal(
                    "bad-arguments", f"{method}: {name} cannot be {_kind(item)}", found=_said(item), expected=expected
                )
    return None


@lru_cache(maxsize=256)
def _hints(method: str) -> dict[str, Any]:
    return get_type_hints(getattr(Schedule, method))


def _fits(value: Any, hint: Any, depth: int = 0) -> bool:
    """Whether the value matches the type of an annotation."""
    if hint is Any:
        return True
    if depth > _MOST_NESTED:
        return False
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, part, depth) for part in inner)
    if origin is Callable or hint is Callable:
        return callable(value)
    if origin in (Sequence, list):
        items = cast("Sequence[Any]", value)
        return isinstance(value, list | tuple) and all(_fits(item, inner[0], depth + 1) for item in items)
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(cast("tuple[Any, ...]", value), inner, depth)
    if origin in (dict, Mapping):
        items = cast("Mapping[Any, Any]", value)
        return isinstance(value, Mapping) and all(
            isinstance(k, str) and _fits(v, inner[1], depth + 1) for k, v in items.items()
        )
    if hint is Var:
        return isinstance(value, Var | str)
    if hint is bool:
        return isinstance(value, bool) or value in (0, 1)
    if hint is int:
        return isinstance(value, int) and -(2**63) <= value < 2**64
    if hint is float:
        return isinstance(value, float) or (not isinstance(value, bool) and _fits(value, int, depth))
    if isinstance(hint, ForwardRef):  # recursive type of annotation values: a list of annotations is an annotation
        return _fits(value, _hints("annotate")["ann_val"], depth + 1)
    return isinstance(hint, type) and isinstance(value, hint)


def _fits_tuple(value: tuple[Any, ...], inner: tuple[Any, ...], depth: int) -> bool:
    if len(inner) == 2 and inner[1] is ...:
        return all(_fits(item, inner[0], depth + 1) for item in value)
    return len(value) == len(inner) and all(_fits(v, part, depth + 1) for v, part in zip(value, inner, strict=True))


def _words(hint: Any) -> list[str]:
    """Describe a type in words, one text for each alternative."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return [word for part in inner for word in _words(part)]
    if origin in (Sequence, list):
        return [f"a list, each item {' or '.join(dict.fromkeys(_words(inner[0])))}"]
    if origin is tuple:
        return ['("read", 0) or ("write", 0)'] if inner[:1] == (str,) else ["a tuple"]
    if origin in (dict, Mapping):
        return ["a dict with string keys"]
    if origin is Callable:
        return [_WORDS[IndexMap]]
    if isinstance(hint, ForwardRef):
        return ["such a value"]
    return [_WORDS.get(hint, getattr(hint, "__name__", str(hint)))]


def _kind(value: Any) -> str:
    words = {**_WORDS, **_KINDS}
    return next((said for kind, said in words.items() if type(value) is kind), f"a {type(value).__name__}")


def _said(value: Any) -> str:
    try:
        return value.name if isinstance(value, Var) else repr(value)[:80]
    except (ValueError, RecursionError):  # an integer with thousands of digits, a deeply nested value
        return _kind(value)


__all__ = ["find_wrong_argument"]
