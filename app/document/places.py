"""Places in the file for errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace as replace_fields

from ...engine.ir import Place, TilewrightError
from .cells import Cell, Document

T = TypeVar("T")


def marker_place(cell: Cell, document: Document) -> Place:
    """The place of a cell's marker line."""
    return Place(cell.first_line, 1, cell.first_line, len(cell.marker.rstrip("\r\n")) + 1, document.path or "")


def at_place(place: Place, work: Callable[[], T]) -> T:
    """The result of `work()`; an error without a place in this file gets `place`."""
    try:
        return work()
    except TilewrightError as error:
        if error.refusal.place is not None and error.refusal.place.file == place.file:
            raise
        raise type(error)(replace_fields(error.refusal, place=place)) from error
