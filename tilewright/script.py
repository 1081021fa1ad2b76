"""TVMScript in a Python file that runs without TVM: `from tilewright.script import ir as I, relax as R, tirx as T`.

`@T.prim_func` and `@I.ir_module` pass the source of the decorated object to Tilewright's parser; the body is never run. Every other name in
`T` and `I` (`T.Buffer(...)` in a signature) has a meaning for the parser only and is a placeholder in Python.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from .engine.ir import IRModule, PrimFunc, Refusal, TilewrightError
from .engine.script import parse

F = TypeVar("F", bound=Callable[..., object])


class Word:
    """A placeholder name that only the parser interprets: it can be called and indexed, and has any attribute.

    Attributes have the type Any, so that a type checker accepts the body of a program.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> Word:
        return self

    def __getitem__(self, key: object) -> Word:
        return self


class _TirNamespace(Word):
    """The namespace `T`: `prim_func` parses, every other name is a Word."""

    @overload
    def prim_func(self, func: Callable[..., object], **options: object) -> PrimFunc: ...
    @overload
    def prim_func(self, func: None = None, **options: object) -> Callable[[Callable[..., object]], PrimFunc]: ...
    def prim_func(self, func: Callable[..., object] | None = None, **options: object) -> Any:
        """Parse the decorated function as a PrimFunc. Inside a class, `@I.ir_module` parses the text instead. Raises ParseError."""
        if func is None:
            return partial(self.prim_func, **options)
        owner = func.__qualname__.rpartition(".")[0]
        if owner and not owner.endswith("<locals>"):
            return func
        return _parsed(func)


class _RelaxNamespace(Word):
    """The namespace `R`: a decorated function stays as it is, because `load_network` reads its text; every other name is a Word."""

    @overload
    def function(self, func: F, **options: object) -> F: ...
    @overload
    def function(self, func: None = None, **options: object) -> Callable[[F], F]: ...
    def function(self, func: Callable[..., object] | None = None, **options: object) -> object:
        return func if func is not None else partial(self.function, **options)


class _IrNamespace(Word):
    """The namespace `I`: `ir_module` parses, every other name is a Word."""

    @overload
    def ir_module(self, cls: type, **options: object) -> IRModule: ...
    @overload
    def ir_module(self, cls: None = None, **options: object) -> Callable[[type], IRModule]: ...
    def ir_module(self, cls: type | None = None, **options: object) -> Any:
        """Parse the decorated class as an IRModule. Raises ParseError."""
        if cls is None:
            return partial(self.ir_module, **options)
        return _parsed(cls)


def _parsed(target: Callable[..., object] | type) -> IRModule | PrimFunc:
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


tirx = _TirNamespace()
tir = tirx
ir = _IrNamespace()
relax = _RelaxNamespace()

__all__ = ["ir", "relax", "tir", "tirx"]
