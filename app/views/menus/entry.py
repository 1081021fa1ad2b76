"""Menu items, and their entries in the form that the browser receives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from .facts import Facts

Field = dict[str, Any]
Entry = dict[str, Any]


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
    return {
        "method": item.method,
        "label": item.label,
        "key": item.key,
        "help": item.help,
        "group": group,
        "rare": item.rare,
        "disabled": blocked,
        "fields": [] if blocked else item.fields(facts, node),
    }


def field(name: str, label: str, kind: str, default: Any = "", choices: Sequence[Any] = (), **more: Any) -> Field:
    """A form field. `choices` are values, or {value, label, sets}, where `sets` are the defaults of other fields for that choice. With
    `spread`, a choice's value is a list with one item for each of these arguments.
    """
    options = [c if isinstance(c, dict) else {"value": c, "label": str(c)} for c in choices]
    return {
        "name": name,
        "label": label,
        "type": kind,
        "choices": options,
        "default": default,
        "optional": False,
        "help": "",
        **more,
    }


def no_fields(_: Facts, __: Any) -> list[Field]:
    return []


def never(_: Facts, __: Any) -> str:
    return ""
