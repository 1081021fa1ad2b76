"""The permanent address of a page: the start page, a file of the served folder, an example, a draft, a model, or a
kernel of a model."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import msgspec

PLACES = ("file", "example", "draft", "model", "kernel")

PATTERN = rf"/(?P<place>{'|'.join(PLACES)})/(?P<name>[^/?#]+)"
"""The path pattern of a notebook's address, after the server's prefix."""


class Address(msgspec.Struct, frozen=True):
    """An address: `place` is one of `PLACES`, "" for the start page; `name` is the name there, "" for a draft without a file; that of a
    kernel is MODEL.KERNEL."""

    place: str = ""
    name: str = ""

    @property
    def path(self) -> str:
        """The path after the server's prefix."""
        return f"/{self.place}/{quote(self.name, safe='')}" if self.place else "/"

    @property
    def model(self) -> str:
        """The name of the model at the address, or of the model that the kernel belongs to; "" for a notebook."""
        return {"model": self.name, "kernel": self.name.rpartition(".")[0]}.get(self.place, "")

    @property
    def kernel(self) -> str:
        """The name of the kernel at the address, "" for others. It has no dot, but the name of the model may."""
        return self.name.rpartition(".")[2] if self.place == "kernel" else ""


def address_of(path: str) -> Address | None:
    """The address of a path; None for a path of no page."""
    if path == "/":
        return Address()
    found = re.fullmatch(PATTERN, path)
    return None if found is None else Address(found["place"], unquote(found["name"]))


def model_address(model: str, kernel: str = "") -> Address:
    """The address of a model, or of one of its kernels."""
    return Address("kernel", f"{model}.{kernel}") if kernel else Address("model", model)


NEW_DRAFT = Address("draft")
"""The address of an opened text without a file."""

__all__ = ["NEW_DRAFT", "PATTERN", "Address", "address_of", "model_address"]
