"""The sizes for simulation and tests of a notebook: a line `sizes = {"M": 256, "K": 512}` in its machine or schedule cell."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ....engine.ir import IRModule, PrimFunc, Refusal
from ....engine.lower import size_values, size_variables
from ..cells import Document
from ..files.read_write import DocumentError
from ..places import at_place
from .lines import dictionary_lines, entries, place_of, with_entries

NAME = "sizes"
EXAMPLE = 'sizes = {"M": 256, "K": 512}'


def read_sizes(document: Document, program: IRModule | PrimFunc | None) -> Mapping[str, int]:
    """The sizes by name; the last line wins, as in Python. Raises DocumentError and LowerError with the file's line."""
    found: Mapping[str, int] = {}
    for cell in (*document.of_kind("machine"), *document.of_kind("schedule")):
        for node in dictionary_lines(cell, NAME):
            place = place_of(cell, node, document)
            found = at_place(place, lambda node=node: _checked(_sizes(node), program))
    return found


def with_sizes_line(document: Document, line: str) -> Document:
    """The document with the sizes of `line`, beside its other sizes."""
    return with_entries(document, NAME, line)


def is_sizes_line(text: str) -> bool:
    """Whether a line sets the sizes."""
    return text.startswith(f"{NAME} = {{")


def _sizes(node: ast.Assign) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in entries(node):
        match key, value:
            case ast.Constant(value=str(name)), ast.Constant(value=int(size)):
                found[name] = size
            case _:
                raise DocumentError(
                    Refusal("bad-sizes", "sizes must map names to integers", found=ast.unparse(node), expected=EXAMPLE)
                )
    return found


def _checked(sizes: dict[str, int], program: IRModule | PrimFunc | None) -> dict[str, int]:
    """The sizes, after a check that each is a size variable of a function of the program."""
    if program is None:
        return sizes
    functions = program.functions if isinstance(program, IRModule) else (program,)
    known = {name: f for f in functions for name in size_variables(f)}
    for name, size in sizes.items():
        size_values(known.get(name, functions[0]), {name: size})
    return sizes


def sizes_for(func: PrimFunc, sizes: Mapping[str, int]) -> dict[str, int]:
    """The entries of `sizes` that `func` uses; another function of the module may use others."""
    known = size_variables(func) if sizes else {}
    return {name: size for name, size in sizes.items() if name in known}


__all__ = ["NAME", "is_sizes_line", "read_sizes", "sizes_for", "with_sizes_line"]
