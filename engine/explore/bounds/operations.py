"""The operations of a block that no schedule removes, counted exactly over the iterations in which they happen.

A schedule may divide loops so that a condition on iterators is constant in each part, and an operand that follows iterators alone too:
neither conditions, choices between values, nor operations with such an operand count. A block that only converts what it copies may
become part of its reader, which may apply conversions in passing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from ...analysis import Guard, branches
from ...hwsim import operation_name
from ...ir import Block, BufferLoad, Cast, Expr, Var, children, walk
from .touched import iterations


class LastingOperation(msgspec.Struct, frozen=True):
    """An operation of this name in the rates of engines ("" without a rate), and the iterations of its block that execute it."""

    rated: str
    iterations: int


def lasting_operations(block: Block, value: Expr, *, only: Collection[str] | None = None) -> list[LastingOperation]:
    """The operations of a block's value; with `only`, those with these names."""
    copied = value
    while isinstance(copied, Cast):
        copied = copied.value
    if isinstance(copied, BufferLoad):
        return []
    found = (LastingOperation(name, iterations(block, guards)) for name, guards in _operations(value, ()))
    return [one for one in found if only is None or one.rated in only]


def _operations(value: Expr, guards: tuple[Guard, ...]) -> Iterator[tuple[str, tuple[Guard, ...]]]:
    """Yields the name of each operation, with the conditions under which it happens."""
    if isinstance(value, BufferLoad):
        return
    choice = branches(value)
    if choice is not None:
        condition, then, other = choice
        yield from _operations(then, (*guards, (condition, True)))
        yield from _operations(other, (*guards, (condition, False)))
        return
    operands = [child for child in children(value) if isinstance(child, Expr)]
    name = operation_name(value)
    if name is not None and not value.dtype.startswith("bool") and not any(map(_follows_iterators_alone, operands)):
        yield name, guards
    for operand in operands:
        yield from _operations(operand, guards)


def _follows_iterators_alone(value: Expr) -> bool:
    """Whether a value depends on iterators and on no data, so that it is a constant in some part of the loops."""
    return any(isinstance(n, Var) for n in walk(value)) and not any(isinstance(n, BufferLoad) for n in walk(value))


__all__ = ["LastingOperation", "lasting_operations"]
