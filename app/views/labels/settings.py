"""The fields of a line of settings that a program needs, `sizes` or `data`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...document import DATA, SIZES, Document, fields_of
from .values import Value


class SettingField(Value, frozen=True):
    """A name in a line of settings, and an example of its value."""

    name: str
    example: str


def setting_fields(line: str, document: Document) -> tuple[str, Sequence[SettingField]]:
    """The name of a line of settings and its fields; "" and none for another line. Sizes have the numbers that the prose gives."""
    setting, values = fields_of(line, (SIZES, DATA))
    prose = "\n".join(cell.prose for cell in document.of_kind("markdown")) if setting == SIZES else ""
    return setting, [SettingField(name, _number_in(prose, name) or example) for name, example in values.items()]


def _number_in(prose: str, name: str) -> str:
    """The number of a size, as in "M = N = 1024"; "" if there is none."""
    found = re.search(rf"\b{re.escape(name)}(?: *=(?: *\w+ *=)* *| is )([1-9]\d{{0,8}})\b(?!\.\d)", prose)
    return found[1] if found is not None else ""
