"""The root of all intents: what a person can want on the page."""

from __future__ import annotations

import msgspec


class Intent(msgspec.Struct, frozen=True):
    """Something a person wants."""
