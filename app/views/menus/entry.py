"""Menu items, and their entries in the form that the browser receives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from ..labels.values import Answer, Value
from .facts import Facts

FieldType = Literal["choice", "text", "index_map", "int", "ints", "names", "words", "literal"]


FieldValue = str | int | float | bool | list[str | int | list[int]] | None


class Choice(Value, frozen=True, omit_defaults=True):
    """A value of a field; `sets` are the defaults of other fields with this choice."""

    value: FieldValue
    label: str
    sets: dict[str, str] | None = None


class Chip(Value, frozen=True):
    """A value that is chosen with a press, with its predicted effect."""

    label: str
    value: str


class Field(Value, frozen=True, omit_defaults=True):
    """A form field; its name is the keyword of the Schedule method. Types: "ints" ("None, 16"), "names" ("io, ii"),
    "words" (texts), "literal" (a number or text), "index_map" (a lambda). With `spread`, a choice's value is a list
    with one item for each of these arguments; names follow the number of factors with `stem`; `empty`: whether an
    empty list is a value."""

    name: str
    label: str
    type: FieldType
    choices: list[Choice]
    default: FieldValue
    optional: bool
    help: str
    placeholder: str = ""
    stem: str = ""
    spread: tuple[str, ...] = ()
    empty: bool = False
    chips: list[Chip] | None = None


class Entry(Value, frozen=True, omit_defaults=True):
    """A menu entry. `disabled` is the reason why the program's structure rules out the call; the engine checks the
    other calls when they are applied. One that `revises` a step of the notebook has the row of the message as its
    `target`."""

    method: str
    label: str
    key: str
    help: str
    group: str
    rare: bool
    disabled: str
    fields: list[Field]
    revises: bool = False
    target: str = ""


class Menu(Answer, frozen=True, tag="menu"):
    """The menu of a row."""

    row: str
    entries: list[Entry]


class MenuItem(msgspec.Struct, frozen=True):
    """A primitive in a menu. `fields` returns the form fields; `blocked` returns why it is not applicable ("" if it is).

    A `rare` item is shown only after "More" or if the typed filter matches its name.
    """

    method: str
    label: str
    key: str
    help: str
    fields: Callable[[Facts, Any], list[Field]]
    blocked: Callable[[Facts, Any], str]
    rare: bool = False


class MenuGroup(msgspec.Struct, frozen=True):
    """Items under one heading, most frequently used first."""

    name: str
    items: tuple[MenuItem, ...]


def entries(groups: Sequence[MenuGroup], facts: Facts, node: Any) -> list[Entry]:
    """The menu entries of a loop or a block."""
    return [_entry(item, group.name, facts, node) for group in groups for item in group.items]


def _entry(item: MenuItem, group: str, facts: Facts, node: Any) -> Entry:
    blocked = item.blocked(facts, node)
    fields = [] if blocked else item.fields(facts, node)
    return Entry(item.method, item.label, item.key, item.help, group, item.rare, blocked, fields)


def field(
    name: str,
    label: str,
    kind: FieldType,
    default: Any = "",
    choices: Sequence[Any] = (),
    *,
    optional: bool = False,
    help: str = "",  # noqa: A002 - the field has this name
    **more: Any,
) -> Field:
    """A form field; `choices` are `Choice`s, or values."""
    options = [c if isinstance(c, Choice) else Choice(c, str(c)) for c in choices]
    return Field(name, label, kind, options, default, optional, help, **more)


def no_fields(_: Facts, __: Any) -> list[Field]:
    return []


def never(_: Facts, __: Any) -> str:
    return ""
