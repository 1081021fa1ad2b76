"""What is given of the contents of a parameter buffer: its elements, a line that they follow, or facts about them."""

from __future__ import annotations

from typing import Literal

import msgspec

Fact = Literal["sorted", "distinct"]


class Contents(msgspec.Struct, frozen=True):
    """What is given of the integers in the parameter `buffer`, by name.

    `values`: all elements, row-major. `line`: (constant, numerator, denominator); an element with the last index x is
    `constant + x * numerator // denominator`. `facts` and the inclusive `low` and `high` hold for generated elements. `about` says in words
    what was given.
    """

    buffer: str
    values: tuple[int, ...] = ()
    line: tuple[int, int, int] | None = None
    facts: tuple[Fact, ...] = ()
    low: int | None = None
    high: int | None = None
    about: str = ""

    @property
    def is_known(self) -> bool:
        """Whether each element is determined."""
        return bool(self.values) or self.line is not None


__all__ = ["Contents", "Fact"]
