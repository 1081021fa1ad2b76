"""The base class of all intents, the actions that a user can request on the page."""

from __future__ import annotations

import msgspec


class Intent(msgspec.Struct, frozen=True):
    """An action that a user requests."""
