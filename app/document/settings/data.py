"""The data for simulation and tests of a notebook: a line `data = {"j": 12, "P": [0, 3, 7]}` in its machine or schedule cell.

A number is a mean trip count of a loop, or a mean of a parameter. A list, or the name of a `.npy` file beside the notebook, has the
elements of a parameter. Words such as "sorted" and "0..63" are facts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ....engine.data import DataValue, with_data
from ....engine.ir import IRModule, PrimFunc, Refusal
from ..cells import Document
from ..files.arrays import beside, read_integers
from ..files.read_write import DocumentError
from ..places import at_place
from .lines import dictionary_lines, entries, place_of, with_entries

NAME = "data"
EXAMPLE = 'data = {"j": 12, "indptr": [0, 3, 7], "rows": "distinct"}'


def read_data(document: Document) -> Mapping[str, DataValue]:
    """The data by name; the last line wins, as in Python. Raises DocumentError with the file's line."""
    found: Mapping[str, DataValue] = {}
    for cell in (*document.of_kind("machine"), *document.of_kind("schedule")):
        for node in dictionary_lines(cell, NAME):
            found = at_place(place_of(cell, node, document), lambda node=node: _values(node, document))
    return found


def program_with_data(
    program: IRModule | PrimFunc, document: Document, given: Mapping[str, DataValue]
) -> IRModule | PrimFunc:
    """The program with this data; an error has the place of the notebook's line. Raises DataError."""
    for cell in (*document.of_kind("machine"), *document.of_kind("schedule")):
        for node in dictionary_lines(cell, NAME):
            return at_place(place_of(cell, node, document), lambda: with_data(program, given))
    return with_data(program, given)


def with_data_line(document: Document, line: str) -> Document:
    """The document with the data of `line`, beside its other data."""
    return with_entries(document, NAME, line)


def is_data_line(text: str) -> bool:
    """Whether a line sets the data."""
    return text.startswith(f"{NAME} = {{")


def _values(node: ast.Assign, document: Document) -> dict[str, DataValue]:
    found: dict[str, DataValue] = {}
    for key, value in entries(node):
        try:
            name, given = ast.literal_eval(key) if key is not None else None, ast.literal_eval(value)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            name, given = None, None
        if not isinstance(name, str) or not isinstance(given, int | float | str | list | tuple):
            message = "data must map names of loops and parameters to numbers, lists or words"
            raise DocumentError(Refusal("bad-data", message, found=ast.unparse(node)[:200], expected=EXAMPLE))
        found[name] = (
            read_integers(beside(document.path, given)) if isinstance(given, str) and given.endswith(".npy") else given
        )
    return found


def data_line(given: Iterable[tuple[str, DataValue]]) -> str:
    """The line of this data."""
    return f"{NAME} = {{{', '.join(f'{name!r}: {value!r}' for name, value in given)}}}".replace("'", '"')


__all__ = ["NAME", "data_line", "is_data_line", "program_with_data", "read_data", "with_data_line"]
