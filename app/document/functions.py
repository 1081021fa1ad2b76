"""The tensor functions of a module's text: each is a program of its own, opened by its number or name."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.execute import operation_count
from ...engine.ir import Buffer, Expr, IRModule, PrimFunc, build
from ...engine.script import expr_text
from ...engine.te import has_graph
from .posts import Post, numbered

MAIN = "main"
"""The function of a module that is open first, if there is one of this name; else it is the first."""

MOST_SHAPES = 4
"""The maximum number of parameters whose shapes are in a label."""


def has_choice(module: IRModule, text: str) -> bool:
    """Whether there is more to open than one function: several, or a relax function that calls them."""
    return len(module.functions) > 1 or has_graph(text)


def function_of(module: IRModule, text: str, wanted: int | str) -> tuple[PrimFunc, Post]:
    """The function that `wanted` names, and the choice of the others. Raises DocumentError "no-such-program"."""
    names = [func.name for func in module.functions]
    number = numbered(wanted, names, names.index(MAIN) + 1 if MAIN in names else 1)
    return module.functions[number - 1], Post(text, _labels(module.functions), number, "functions", has_graph(text))


def _labels(functions: Sequence[PrimFunc]) -> tuple[str, ...]:
    """For each function its name, the shapes of its parameters, and its part of the operations where all are constant."""
    counts = [operation_count(func) for func in functions]
    known = [count for count in counts if count is not None]
    total = sum(known) if len(known) == len(counts) else 0
    return tuple(
        f"{func.name} ({_shapes(func.buffers)})"
        + (f", {100 * count / total:.1f} % of the operations" if total and count else "")
        for func, count in zip(functions, counts, strict=True)
    )


def _shapes(buffers: Sequence[Buffer]) -> str:
    """The shapes of parameters with their types, a type once after shapes that have it."""
    shown = buffers[:MOST_SHAPES]
    texts: list[str] = []
    for at, buffer in enumerate(shown):
        is_last = at + 1 == len(shown) or shown[at + 1].dtype != buffer.dtype
        shape = "×".join(map(_extent, buffer.shape)) or "scalar"
        texts.append(f"{shape} {buffer.dtype}" if is_last else shape)
    return ", ".join([*texts, "…"] if len(buffers) > MOST_SHAPES else texts)


def _extent(extent: Expr) -> str:
    value = build.int_value(extent)
    return expr_text(extent) if value is None else str(value)


__all__ = ["function_of", "has_choice"]
