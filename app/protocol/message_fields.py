"""The fields of a page's messages by name and type: a message that lacks one, or has another type there, is refused before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from ...engine.ir import Refusal
from ..document import DocumentError
from ..state.model import Look

Texts = list[str]
Whole = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
"""What a browser has as an integer."""

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
"""What a field holds, in every message that has it."""

_OF_KIND: dict[tuple[str, str], Any] = {
    ("move_item", "target"): Whole,
    ("move_cell", "to"): Whole,
    ("call", "target"): str,
}
"""Fields that hold something else, or anything, in other kinds."""


class Fields(dict[str, Any]):
    """A message whose missing fields are refused by name."""

    def __missing__(self, name: str) -> Any:
        raise _refused(self, f"has no {name!r}", expected=f"a field {name!r}")


def fields_of(message: Mapping[str, Any]) -> Fields:
    """The message with its fields checked. Raises DocumentError "bad-message"."""
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
