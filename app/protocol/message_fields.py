"""The types of the fields in a page's messages. A message with a missing field or a wrong type is refused before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from ...engine.ir import Refusal
from ..document import DocumentError
from ..state.model import Look

Texts = list[str]
Whole = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
"""An integer that JavaScript represents exactly."""

_TYPES: dict[str, Any] = {
    **dict.fromkeys(("cell", "item", "step", "position", "version", "trials", "seed"), Whole),
    **dict.fromkeys(("trial", "steps", "count", "base"), Whole | None),
    **dict.fromkeys(("rows", "loops", "targets", "calls", "choices", "objectives"), Texts),
    **dict.fromkeys(("start", "end", "seconds"), float | None),
    **dict.fromkeys(("kind", "method", "primitive", "block", "loop"), str),
    "order": Texts | None,
    "point": list[Whole],
    "budgets": dict[str, float],
    "arguments": dict[str, Any],
    "look": Look,
}
"""Types of fields by name, for messages of every kind."""

_OF_KIND: dict[tuple[str, str], Any] = {
    ("move_item", "target"): Whole,
    ("move_cell", "to"): Whole,
    ("call", "target"): str,
}
"""Types of fields by kind and name; they override `_TYPES`."""


class Fields(dict[str, Any]):
    """A message that refuses access to a missing field with an error that names it."""

    def __missing__(self, name: str) -> Any:
        raise _refused(self, f"has no {name!r}", expected=f"a field {name!r}")


def fields_of(message: Mapping[str, Any]) -> Fields:
    """Check the fields of a message and return it. Raises DocumentError "bad-message"."""
    fields = Fields(message)
    for name, value in message.items():
        wanted = _OF_KIND.get((str(message.get("kind")), name), _TYPES.get(name))
        if wanted is None:
            continue
        try:
            msgspec.convert(value, wanted, strict=False)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise _refused(message, f"cannot have this as {name!r}", _short(value), str(error)) from error
    return fields


def _refused(message: Mapping[str, Any], why: str, found: str = "", expected: str = "") -> DocumentError:
    return DocumentError(Refusal("bad-message", f"the message {_short(message.get('kind'))} {why}", found, expected))


def _short(value: object) -> str:
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):  # an integer of thousands of digits, a list nested deeply
        return type(value).__name__


__all__ = ["Fields", "fields_of"]
