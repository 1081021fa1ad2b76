"""A rule of the derivation: it adds lines to the draft of a group where its precondition holds."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc

import msgspec

from .draft import Draft

Apply = Callable[[Draft], object]


class ScheduleRule(msgspec.Struct, frozen=True, eq=False):
    """One row of the table. The docstring of `apply` states the precondition and the lines that it writes. With `at_end` it is
    applied after the other rules of all groups."""

    code: str
    title: str
    apply: Apply
    at_end: bool = False

    @property
    def what(self) -> str:
        """The precondition and the lines, from the docstring of `apply`."""
        return getdoc(self.apply) or ""


__all__ = ["Apply", "ScheduleRule"]
