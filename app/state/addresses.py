"""The permanent address of what a page shows: the start page, a file of the served folder, an example, or a draft."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import msgspec

PLACES = ("file", "example", "draft")

PATTERN = rf"/(?P<place>{'|'.join(PLACES)})/(?P<name>[^/?#]+)"
"""The path of a notebook's address, behind the server's prefix."""


class Address(msgspec.Struct, frozen=True):
    """`place` is one of `PLACES`, "" for the start page; `name` is the notebook's there, "" for a draft that has no file yet."""

    place: str = ""
    name: str = ""

    @property
    def path(self) -> str:
        """Behind the server's prefix."""
        return f"/{self.place}/{quote(self.name, safe='')}" if self.place else "/"


def address_of(path: str) -> Address | None:
    """The address that a path names; None for a path that is no page's."""
    if path == "/":
        return Address()
    found = re.fullmatch(PATTERN, path)
    return None if found is None else Address(found["place"], unquote(found["name"]))


NEW_DRAFT = Address("draft")
"""Of a text that was opened and is in no file yet."""

TOUR = Address("example", "tour")

__all__ = ["NEW_DRAFT", "PATTERN", "TOUR", "Address", "address_of"]
