"""TVMScript in a Python file that runs without TVM: `from tilewright.script import ir as I, relax as R, tirx as T`.

`@T.prim_func` and `@I.ir_module` pass the source of the decorated object to Tilewright's parser; the body is never run. Every other name in
`T` and `I` (`T.Buffer(...)` in a signature) has a meaning for the parser only and is a placeholder in Python.
"""

# pyright: reportMissingImports=false
# (Installation maps `app` and `engine` into this package; a type checker does not find them here in the source tree.)

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from .engine.ir import IRModule, PrimFunc, Refusal, TilewrightError
from .engine.script import parse


class Word:
    """A placeholder name that only the parser interprets: it can be called and indexed, and has any attribute."""

    def __getattr__(self, name: str) -> Word:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> Word:
        return self

    def __getitem__(self, key: object) -> Word:
        return self


class _TirNamespace(Word):
    """The namespace `T`: `prim_func` parses, every other name is a Word."""

    def prim_func(self, func: Callable[..., Any] | None = None, **options: object) -> Any:
        """Parse the decorated function as a PrimFunc. Inside a class, `@I.ir_module` parses the text instead. Raises ParseError."""
        if func is None:
            return lambda func: self.prim_func(func, **options)
        owner = func.__qualname__.rpartition(".")[0]
        if owner and not owner.endswith("<locals>"):
            return func
        return _parsed(func)


class _RelaxNamespace(Word):
    """The namespace `R`: a decorated function stays as it is, because `load_network` reads its text; every other name is a Word."""

    def function(self, func: Callable[..., Any] | None = None, **options: object) -> Any:
        return func if func is not None else lambda func: func


class _IrNamespace(Word):
    """The namespace `I`: `ir_module` parses, every other name is a Word."""

    def ir_module(self, cls: type | None = None, **options: object) -> Any:
        """Parse the decorated class as an IRModule. Raises ParseError."""
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
    # Leading empty lines align the parser's line numbers with the file's.
    return parse("\n" * (first_line - 1) + textwrap.dedent("".join(lines)), filename).program


tirx: Any = _TirNamespace()
tir: Any = tirx
ir: Any = _IrNamespace()
relax: Any = _RelaxNamespace()

__all__ = ["ir", "relax", "tir", "tirx"]
