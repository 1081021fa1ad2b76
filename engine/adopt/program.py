"""A program out of an object of TVM, of any generation that prints itself."""

from __future__ import annotations

from typing import Any

from ..ir import IRModule, PrimFunc, Refusal, TilewrightError
from ..script import parse


def from_tvm(mod: Any) -> IRModule | PrimFunc:
    """The program of TVM's IRModule, PrimFunc or Schedule, read from the text that `.script()` gives; relax functions are passed over.

    Our own programs and their text pass through. Raises ParseError for what is not read, TilewrightError "not-a-program" for other objects.
    """
    if isinstance(mod, IRModule | PrimFunc):
        return mod
    if isinstance(mod, str):
        return parse(mod).program
    scripted = getattr(mod, "mod", mod)  # a schedule's program as it is now
    if not callable(getattr(scripted, "script", None)):
        raise TilewrightError(
            Refusal(
                "not-a-program",
                "this is no program of TVM",
                found=type(mod).__name__,
                expected="an IRModule, a PrimFunc or a Schedule of TVM, or TVMScript text",
            )
        )
    try:
        # The metadata that TVM prints for constants is behind the program and says nothing of it.
        text = scripted.script(show_meta=False)
    except TypeError:
        text = scripted.script()
    return parse(str(text), "<tvm>").program
