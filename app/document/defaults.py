"""Changes a hole's default, which is its first value and applies outside of a search."""

from __future__ import annotations

from ...engine.adopt import hole_of, is_hole, with_values
from ...engine.ir import Refusal
from .cells import Document
from .editing.apply import replace_call
from .files.read_write import DocumentError
from .notebook import Notebook


def with_default(notebook: Notebook, step: int, position: int) -> Document:
    """The document in which the value at `position` becomes the first value of the hole on schedule line `step`; the others keep order.
    Raises DocumentError "no-such-hole"."""
    call = notebook.steps[step].call if 0 <= step < len(notebook.steps) else None
    if call is None or not is_hole(call) or not 0 <= position < len(hole_of(call).texts):
        raise DocumentError(Refusal("no-such-hole", "this line has no hole with such a value", found=f"line {step}"))
    if position == 0:
        return notebook.document
    rest = (n for n in range(len(hole_of(call).texts)) if n != position)
    return replace_call(notebook.document, step, with_values(call, [position, *rest]).text)


__all__ = ["with_default"]
