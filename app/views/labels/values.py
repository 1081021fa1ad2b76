"""The base classes of what the server sends to the page. `static/components/views.d.ts` declares all classes below them for JavaScript."""

from __future__ import annotations

from typing import Literal

import msgspec

Trend = Literal["better", "worse", "same", ""]


class Value(msgspec.Struct, frozen=True):
    """A value that a component draws, or a part of one. It becomes JSON where the component sends it."""


class Change(Value, frozen=True):
    """A change as text, and whether it is an improvement."""

    text: str
    trend: Trend


class Answer(Value, frozen=True, tag_field="kind"):
    """A message to a component beside its value: the answer to a query, or a prediction."""
