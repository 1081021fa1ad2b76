"""Data that is given for a program: contents of integer parameters on which its trip counts and addresses depend.

A value is a number, the mean trip count of a loop or the mean of a parameter; a list or an array, the elements of a parameter; or words,
facts that generated elements have: "sorted", "distinct", "0..63".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain
from math import prod
from typing import Any, cast

from msgspec.structs import replace as replace_fields

from ..ir import Buffer, Contents, IRModule, Node, PrimFunc, Refusal, TilewrightError, build
from ..ir import dtype as dt
from ..ir.contents import Fact
from .loops import DataUse, data_use

DataValue = int | float | str | Sequence[Any]
"""What can be given for a name; an array of NumPy counts as a sequence."""


class DataError(TilewrightError):
    """A value is no data of the program. Codes: "unknown-data", "bad-data"."""


MOST_ELEMENTS = 1 << 20
MOST_DENOMINATOR = 64
"""The precision of a mean: a ratio with at most this denominator."""

_BOUNDS = re.compile(r"(-?\d{1,19})\.\.(-?\d{1,19})")
_FACTS: Mapping[str, Fact] = {"sorted": "sorted", "distinct": "distinct"}


def with_data(program: IRModule | PrimFunc, given: Mapping[str, DataValue]) -> IRModule | PrimFunc:
    """The program with the contents of its parameters that `given` determines, by the names of parameters, and of loops whose trip counts
    are data; earlier contents do not stay.

    Raises DataError.
    """
    if not given:
        return _without_data(program)
    if isinstance(program, PrimFunc):
        return _with_data(program, given, data_use(program))
    uses = {func: data_use(func) for func in program.functions}
    for name in given:
        if not any(name in names_of(use) for use in uses.values()):
            raise _unknown(name, dict.fromkeys(chain.from_iterable(map(names_of, uses.values()))))
    functions = tuple(
        _with_data(func, {n: v for n, v in given.items() if n in names_of(use)}, use) for func, use in uses.items()
    )
    return replace_fields(program, functions=functions)


def _without_data(program: IRModule | PrimFunc) -> IRModule | PrimFunc:
    if isinstance(program, PrimFunc):
        return replace_fields(program, data=()) if program.data else program
    if not any(func.data for func in program.functions):
        return program
    return replace_fields(program, functions=tuple(replace_fields(func, data=()) for func in program.functions))


def refuse(code: str, message: str, *nodes: Node, found: str = "", expected: str = "") -> DataError:
    """The error to raise: `raise refuse("bad-data", "…")`."""
    return DataError(Refusal(code, message, found, expected, (), nodes))


def names_of(use: DataUse) -> tuple[str, ...]:
    """The names for which data can be given: integer parameters, and loops whose trip counts are data."""
    return tuple(dict.fromkeys((*(b.name for b in use.integers), *(loop.name for loop in use.loops))))


def _with_data(func: PrimFunc, given: Mapping[str, DataValue], use: DataUse) -> PrimFunc:
    found: dict[str, Contents] = {}
    buffers, loops = {b.name: b for b in use.integers}, {loop.name: loop for loop in use.loops}
    for name, value in given.items():
        if name in buffers:
            contents = _contents(buffers[name], name, value, use)
        elif name not in loops:
            raise _unknown(name, names_of(use))
        elif (counting := loops[name].counts_with) is not None:
            contents = _mean_trips(counting, name, value, use)
        else:
            names = ", ".join(b.name for b in loops[name].parameters)
            raise refuse("unknown-data", f"the trip count of loop {name} is computed from {names}", found=name,
                         expected=f"a value for each of {names}")  # fmt: skip
        found[contents.buffer] = contents
    data = tuple(found.values())
    return func if data == func.data else replace_fields(func, data=data)


def _unknown(name: str, known: Sequence[str] | Mapping[str, None]) -> DataError:
    return refuse("unknown-data", f"the program has no integer parameter or data-dependent loop {name}", found=name,
                  expected=", ".join(known) or "none: nothing in it depends on integer data")  # fmt: skip


def _mean_trips(buffer: Buffer, loop: str, value: DataValue, use: DataUse) -> Contents:
    mean = _number(value)
    if mean is None or mean < 0:
        raise _bad(loop, value, "a mean trip count, such as 12")
    return _mean(buffer, mean, use, f"{_short(mean)} iterations of loop {loop} on average")


def _mean(buffer: Buffer, mean: Fraction, use: DataUse, words: str = "") -> Contents:
    ratio = mean.limit_denominator(MOST_DENOMINATOR)
    last = ", ".join(["…"] * (len(buffer.shape) - 1) + ["x"])
    step = "x" if ratio == 1 else f"{_short(ratio)} * x"
    if buffer in use.offsets:
        about = f"{buffer.name}[{last}] = {step}"
        line = (0, ratio.numerator, ratio.denominator)
    else:
        rounded = round(ratio)
        about, line = f"each element of {buffer.name} is {rounded}", (rounded, 0, 1)
    return Contents(buffer.name, line=line, about=f"{words}: {about}" if words else about)


def _contents(buffer: Buffer, name: str, value: DataValue, use: DataUse) -> Contents:
    if isinstance(value, str):
        return _facts(name, value)
    mean = _number(value)
    if mean is not None:
        return _mean(buffer, mean, use)
    values = _elements(name, value)
    extents = [build.int_value(e) for e in buffer.shape]
    if None not in extents and prod(cast("list[int]", extents)) != len(values):
        shape = ", ".join(map(str, extents))
        raise refuse("bad-data", f"{name} has {len(values)} values, not those of shape ({shape})", found=str(len(values)),
                     expected=str(prod(cast("list[int]", extents))))  # fmt: skip
    low, high = _range(buffer.dtype)
    wrong = next((v for v in values if not low <= v <= high), None)
    if wrong is not None:
        raise _bad(name, wrong, f"integers of type {buffer.dtype}")
    return Contents(name, values, about=f"{name} has the {len(values):,} given values")


def _range(dtype: str) -> tuple[int, int]:
    bits = dt.bits(dtype)
    return (0, 2**bits - 1) if dtype.startswith("uint") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _facts(name: str, text: str) -> Contents:
    facts: list[Fact] = []
    low: int | None = None
    high: int | None = None
    for word in re.split(r"[,\s]+", text.strip()):
        bounds = _BOUNDS.fullmatch(word)
        if word in _FACTS:
            facts.append(_FACTS[word])
        elif bounds is not None and int(bounds[1]) <= int(bounds[2]):
            low, high = int(bounds[1]), int(bounds[2])
        else:
            raise _bad(name, text, "sorted, distinct, and bounds such as 0..63")
    return Contents(name, facts=tuple(facts), low=low, high=high, about=f"{name} is generated: {text.strip()}")


def _number(value: object) -> Fraction | None:
    """A mean; None for anything that is not one number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 2**40:
        return None
    return Fraction(value)


def _elements(name: str, value: object) -> tuple[int, ...]:
    """The elements of a list, a nested list or an array, row-major."""
    if hasattr(value, "tolist"):
        value = cast("Any", value).tolist()
    found: list[int] = []
    todo: list[Any] = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, list | tuple):
            todo += reversed(cast("list[Any]", one))
        elif isinstance(one, int) and not isinstance(one, bool):
            found.append(one)
        else:
            raise _bad(name, one, "integers")
        if len(found) > MOST_ELEMENTS:
            raise _bad(name, f"more than {MOST_ELEMENTS} values", f"at most {MOST_ELEMENTS} values, or a mean")
    if not found:
        raise _bad(name, "no values", "at least one integer")
    return tuple(found)


def _bad(name: str, found: object, expected: str) -> DataError:
    return refuse("bad-data", f"{str(found)[:80]!r} is no data for {name}", found=str(found)[:80], expected=expected)


def _short(number: Fraction) -> str:
    return f"{float(number):g}"


__all__ = ["MOST_ELEMENTS", "DataValue", "names_of", "with_data"]
