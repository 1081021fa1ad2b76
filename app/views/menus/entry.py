"""An entry of a menu as the browser gets it, and the item it is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from .facts import Facts

Field = dict[str, Any]
Entry = dict[str, Any]


class Item(msgspec.Struct, frozen=True):
    """A primitive in a menu. `fields` are asked for; `blocked` says why it cannot be done here ("" where it can).

    A `rare` one is not shown before it is asked for, by "More" or by typing a part of its name.
    """

    method: str
    label: str
    key: str
    help: str
    fields: Callable[[Facts, Any], list[Field]]
    blocked: Callable[[Facts, Any], str]
    rare: bool = False


class Group(msgspec.Struct, frozen=True):
    """Items under one heading, most used first."""

    name: str
    items: tuple[Item, ...]


def entries(groups: Sequence[Group], facts: Facts, node: Any) -> list[Entry]:
    """What a menu says of a loop or a block."""
    return [_entry(item, group.name, facts, node) for group in groups for item in group.items]


def _entry(item: Item, group: str, facts: Facts, node: Any) -> Entry:
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
    """One thing that a form asks for. `choices` are values, or {value, label, sets}: what a choice `sets` are the defaults of other fields
    that go with it. With `spread`, a choice's value is a list, one for each of these arguments.
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
