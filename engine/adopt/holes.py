"""Holes of a schedule: `tile = choose("tile", [32, 64, 128])` is a line whose value may be another one of the list.

Run by Python, and read by whoever does not explore, a hole is its first value. What a value is in text is kept, so that a hole can be
written back as `tile = 64`, byte for byte as it stood in the list.
"""

from __future__ import annotations

import ast
from functools import lru_cache

import msgspec

from ..ir import Refusal, TilewrightError
from ..script import CallStep, CallValue, Ref, python_tree

METHOD = "choose"
OWNERS = ("", "tilewright")
EXAMPLE = 'tile = choose("tile", [32, 64, 128])'


class HoleError(TilewrightError):
    """A line of `choose` that is no hole."""


class Hole(msgspec.Struct, frozen=True, eq=False):
    """Something to choose: `target` is the variable that the line sets, `name` what people and studies call it.

    `values` are numbers, strings, None, index maps, and lists of these; the first is taken where nobody chooses. `texts` are the values
    as written.
    """

    name: str
    target: str
    values: tuple[CallValue, ...]
    texts: tuple[str, ...]

    @property
    def is_ordered(self) -> bool:
        """Whether the values are numbers that rise or fall, so that neighbours are alike."""
        numbers = [v for v in self.values if isinstance(v, int) and not isinstance(v, bool)]
        return len(numbers) == len(self.values) and numbers in (sorted(numbers), sorted(numbers, reverse=True))


def is_hole(call: CallStep) -> bool:
    """Whether the line is one of `choose`."""
    return call.method == METHOD and call.receiver in OWNERS


# A hole is one variable, a name of its own, and a list of values written out.
def hole_of(call: CallStep) -> Hole:
    """The hole that the line is. Raises HoleError "bad-hole"."""
    given = {**dict(zip(("name", "values"), call.args, strict=False)), **call.kwargs}
    name, values = given.get("name"), given.get("values")
    wrong = ""
    if len(call.targets) != 1 or call.unpacks or call.index is not None:
        wrong = "what is chosen is given to one variable"
    elif len(call.args) > 2 or given.keys() != {"name", "values"} or len(given) != len(call.args) + len(call.kwargs):
        wrong = "choose takes a name and a list of values"
    elif not isinstance(name, str) or not name.strip():
        wrong = "a hole has a name to tell it by"
    elif not isinstance(values, list | tuple) or not values:
        wrong = "there is nothing to choose from"
    elif _refers(values):
        wrong = "values are written out, not variables"
    if wrong or not isinstance(name, str) or not isinstance(values, list | tuple):
        raise HoleError(Refusal("bad-hole", wrong, found=call.text[:80], expected=EXAMPLE, place=call.place))
    texts = _texts(call.text)
    return Hole(name, call.targets[0], tuple(values), texts)


def filled(call: CallStep, position: int) -> str:
    """The line with its hole filled: `tile = 64`."""
    return f"{call.targets[0]} = {hole_of(call).texts[position]}"


def _refers(value: CallValue) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_refers, value))
    return isinstance(value, Ref | dict)


@lru_cache(maxsize=256)
def _texts(line: str) -> tuple[str, ...]:
    """The values as they stand in the line, each in one line. A search comes by the same lines for each candidate."""
    (node,) = python_tree(line.strip()).body
    assert isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    call = node.value
    listed = call.args[1] if len(call.args) > 1 else next(k.value for k in call.keywords if k.arg == "values")
    assert isinstance(listed, ast.List | ast.Tuple)
    return tuple(_text(line.strip(), item) for item in listed.elts)


def _text(line: str, node: ast.expr) -> str:
    written = ast.get_source_segment(line, node) or ""
    return ast.unparse(node) if "\n" in written or "\r" in written or not written else written
