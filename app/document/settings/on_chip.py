"""The tensors of a model that stay on chip: a line `on_chip = {"lv3": "local.vtcm_Block_1"}` in the machine cell of `model.py`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ....engine.ir import Refusal
from ..cells import Document
from ..files.read_write import DocumentError
from ..places import at_place
from .lines import dictionary_lines, entries, place_of, with_dictionary_line

NAME = "on_chip"
EXAMPLE = 'on_chip = {"lv3": "local.vtcm_Block_1"}'


def read_on_chip(document: Document) -> Mapping[str, str]:
    """The scopes of the tensors on chip, by name; the last line wins, as in Python. Raises DocumentError with the file's line."""
    found: Mapping[str, str] = {}
    for cell in document.of_kind("machine"):
        for node in dictionary_lines(cell, NAME):
            found = at_place(place_of(cell, node, document), lambda node=node: _scopes(node))
    return found


def with_on_chip(document: Document, scopes: Mapping[str, str]) -> Document:
    """The document with these tensors on chip; without any it has no such line."""
    indent = document.newline + "    "
    rows = indent.join(f'"{name}": "{scope}",' for name, scope in scopes.items())
    line = f"{NAME} = {{{indent}{rows}{document.newline}}}" if scopes else ""
    return with_dictionary_line(document, NAME, line)


def _scopes(node: ast.Assign) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in entries(node):
        match key, value:
            case ast.Constant(value=str(name)), ast.Constant(value=str(scope)):
                found[name] = scope
            case _:
                message = "on_chip must map names of tensors to storage scopes"
                raise DocumentError(Refusal("bad-on-chip", message, found=ast.unparse(node), expected=EXAMPLE))
    return found


__all__ = ["NAME", "read_on_chip", "with_on_chip"]
