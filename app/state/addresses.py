"""The permanent address of a page: the start page, a file of the served folder, an example, or a draft."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import msgspec

PLACES = ("file", "example", "draft")

PATTERN = rf"/(?P<place>{'|'.join(PLACES)})/(?P<name>[^/?#]+)"
"""The path pattern of a notebook's address, after the server's prefix."""


class Address(msgspec.Struct, frozen=True):
    """An address: `place` is one of `PLACES`, "" for the start page; `name` is the notebook's name there, "" for a draft without a file."""

    place: str = ""
    name: str = ""

    @property
    def path(self) -> str:
        """The path after the server's prefix."""
        return f"/{self.place}/{quote(self.name, safe='')}" if self.place else "/"


def address_of(path: str) -> Address | None:
    """The address of a path; None for a path of no page."""
    if path == "/":
        return Address()
    found = re.fullmatch(PATTERN, path)
    return None if found is None else Address(found["place"], unquote(found["name"]))


NEW_DRAFT = Address("draft")
"""The address of an opened text without a file."""

TOUR = Address("example", "tour")

__all__ = ["NEW_DRAFT", "PATTERN", "TOUR", "Address", "address_of"]
