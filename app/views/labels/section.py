"""A titled table of facts in the inspector."""

from __future__ import annotations

from .values import Value


class Section(Value, frozen=True):
    """A table: `kind` says what the title or the values are, `swatch` is the colour of a buffer, and `buffer` its
    id. A row has a name, a value and an explanation."""

    title: str
    kind: str
    swatch: int | None
    rows: list[tuple[str, str, str]]
    note: str = ""
    buffer: str = ""
