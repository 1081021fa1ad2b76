"""`from tilewright.script import ir as I, tirx as T`: TVMScript in a Python file that runs without TVM.

`@T.prim_func` and `@I.ir_module` take the source of what they decorate and hand it to Tilewright's parser; the body is never run.
Everything else in `T` and `I` (`T.Buffer(...)` in a signature) is a word for the parser and stands for nothing when Python meets it.
"""

# pyright: reportMissingImports=false
# (`app` and `engine` are mapped into this package when it is installed; a checker of the source tree does not find them here.)

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from .engine.ir import IRModule, PrimFunc, Refusal, TilewrightError
from .engine.script import parse


class Word:
    """A name that only the parser gives a meaning: it can be called, indexed and asked for further names."""

    def __getattr__(self, name: str) -> Word:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> Word:
        return self

    def __getitem__(self, key: object) -> Word:
        return self


class _TirNamespace(Word):
    """`T`: `prim_func` parses, every other name is a Word."""

    def prim_func(self, func: Callable[..., Any] | None = None, **options: object) -> Any:
        """The decorated function as a PrimFunc. In a class the text is left to `@I.ir_module`. Raises ParseError."""
        if func is None:
            return lambda func: self.prim_func(func, **options)
        owner = func.__qualname__.rpartition(".")[0]
        if owner and not owner.endswith("<locals>"):
            return func
        return _parsed(func)


class _IrNamespace(Word):
    """`I`: `ir_module` parses, every other name is a Word."""

    def ir_module(self, cls: type | None = None, **options: object) -> Any:
        """The decorated class as an IRModule. Raises ParseError."""
        if cls is None:
            return lambda cls: self.ir_module(cls, **options)
        return _parsed(cls)


def _parsed(target: Callable[..., Any] | type) -> IRModule | PrimFunc:
    try:
        lines, first_line = inspect.getsourcelines(target)
        filename = inspect.getsourcefile(target) or ""
    except OSError as error:
        raise TilewrightError(
            Refusal(
                "no-source",
                f"the source text of {target.__name__} is not there",
                expected="a function in a file, or tilewright.parse(text)",
            )
        ) from error
    # Empty lines in front make the parser's lines the file's.
    return parse("\n" * (first_line - 1) + textwrap.dedent("".join(lines)), filename).program


tirx: Any = _TirNamespace()
tir: Any = tirx
ir: Any = _IrNamespace()

__all__ = ["ir", "tir", "tirx"]
