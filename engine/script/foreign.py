"""Conversion of TVM objects of any generation to programs, by their printed text."""

from __future__ import annotations

from typing import Any

from ..ir import IRModule, PrimFunc, Refusal, TilewrightError
from .reading.modules import parse


def from_tvm(mod: Any) -> IRModule | PrimFunc:
    """Return the program of TVM's IRModule, PrimFunc or Schedule, read from the text of `.script()`; relax functions are skipped.

    Tilewright programs and TVMScript text pass through. Raises ParseError for unreadable text, TilewrightError "not-a-program" for other
    objects.
    """
    if isinstance(mod, IRModule | PrimFunc):
        return mod
    if isinstance(mod, str):
        return parse(mod).program
    scripted = getattr(mod, "mod", mod)  # a schedule's current program
    if isinstance(scripted, IRModule):
        return scripted
    if not callable(getattr(scripted, "script", None)):
        raise TilewrightError(
            Refusal(
                "not-a-program",
                "this is not a TVM program",
                found=type(mod).__name__,
                expected="an IRModule, a PrimFunc or a Schedule of TVM, or TVMScript text",
            )
        )
    try:
        # TVM prints metadata for constants after the program; the reader does not need it.
        text = scripted.script(show_meta=False)
    except TypeError:
        text = scripted.script()
    return parse(str(text), "<tvm>").program
