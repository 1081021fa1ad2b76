"""The base classes of intents, the actions that a user can request, and of messages, the intents that a client sends as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec

Whole = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
"""An integer that JavaScript represents exactly."""

Texts = tuple[str, ...]


class Intent(msgspec.Struct, frozen=True):
    """An action that a user requests."""


class Message(Intent, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """An intent as a client sends it: rows of the tree by their ids, cells and schedule lines by their positions.

    `base` is the `revision` of the text that the client shows. A message about an older text is refused, unless it is typed text, which is
    merged with the changes since.
    """

    base: Whole | None = None


class PageMessage(Message, frozen=True):
    """A message that only a page sends."""


class Query(PageMessage, frozen=True):
    """A message that changes nothing; its answer goes to the view that sent it."""
