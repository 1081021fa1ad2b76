"""The structure of a kernel: what it has in common with kernels that differ in their sizes alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...ir import PrimFunc
from ...script import to_script

_TOKENS = re.compile(r'"[^"]*"|T\.\w+|[A-Za-z_]\w*|\d[\w.+-]*')

_DIGITS = re.compile(r"\d+")


def structure_of(program: PrimFunc) -> str:
    """The text of a program without the numbers in names, and without sizes above one: equal for kernels that differ in sizes alone."""
    return "".join(_parts(to_script(program)))


def _parts(text: str) -> Iterator[str]:
    at = 0
    for found in _TOKENS.finditer(text):
        yield text[at : found.start()]
        at, token = found.end(), found.group()
        if token[0].isdigit():
            yield token if token in ("0", "1") else "n"
        else:
            yield token if token[0] == '"' or token.startswith("T.") else _DIGITS.sub("", token)
    yield text[at:]


__all__ = ["structure_of"]
