"""Names of derived values: an entry of a store is a derived value of given inputs, and knows the type of its result."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Entry(Generic[Result_co]):
    """A derived value of some inputs.

    Programs, machines and other frozen values count as equal if they are the same object; texts, numbers, and tuples, lists and
    mappings of such count as equal by value.
    """

    __slots__ = ("inputs", "key", "name")

    def __init__(self, name: str, of: Hashable, inputs: tuple[object, ...]) -> None:
        self.name = name
        self.inputs = inputs
        self.key: tuple[Hashable, ...] = (of, *map(_identity, inputs))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Derived(Generic[Result]):
    """A named kind of derived value. Called with inputs, it gives their entry."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *inputs: object) -> Entry[Result]:
        return Entry(self.name, self, inputs)


def result_of(function: Callable[..., Result], *inputs: object) -> Entry[Result]:
    """The entry of the result of a pure function of the inputs."""
    return Entry(getattr(function, "__name__", ""), function, inputs)


def _identity(value: Any) -> Hashable:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return type(value), value  # else 1, 1.0 and True are one key
    if type(value) is tuple or isinstance(value, list):
        return tuple(map(_identity, value))
    if isinstance(value, Mapping):
        return tuple((key, _identity(part)) for key, part in sorted(value.items()))
    return id(value)


__all__ = ["Derived", "Entry", "result_of"]
