"""Holes of a schedule: `tile = choose("tile", [32, 64, 128])` is a line whose value is one of a list.

Outside of an exploration (in Python, or in a plain evaluation), a hole has its first value. The source text of each value is kept, so that
a hole can be replaced by `tile = 64` with exactly the text from the list.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from msgspec.structs import replace as replace_fields

from ..ir import Refusal, TilewrightError
from ..script import CallStep, CallValue, Ref, python_tree

METHOD = "choose"
OWNERS = ("", "tilewright")
EXAMPLE = 'tile = choose("tile", [32, 64, 128])'


class HoleError(TilewrightError):
    """An invalid `choose` line."""


class Hole(msgspec.Struct, frozen=True, eq=False):
    """A choice between values: `target` is the variable that the line sets, `name` is the name in user interfaces and studies.

    `values` are numbers, strings, None, index maps, and lists of these; the first is the default. `texts` are their source texts.
    """

    name: str
    target: str
    values: tuple[CallValue, ...]
    texts: tuple[str, ...]

    @property
    def is_ordered(self) -> bool:
        """Whether the values are monotonic numbers, so that neighbours in the list are similar."""
        numbers = [v for v in self.values if isinstance(v, int) and not isinstance(v, bool)]
        return len(numbers) == len(self.values) and numbers in (sorted(numbers), sorted(numbers, reverse=True))


def is_hole(call: CallStep) -> bool:
    """Whether the line is a `choose` call."""
    return call.method == METHOD and call.receiver in OWNERS


# A valid hole sets one variable and has its own name and a list of literal values.
def hole_of(call: CallStep) -> Hole:
    """Return the hole that the line defines. Raises HoleError "bad-hole"."""
    given = {**dict(zip(("name", "values"), call.args, strict=False)), **call.kwargs}
    name, values = given.get("name"), given.get("values")
    wrong = ""
    if len(call.targets) != 1 or call.unpacks or call.index is not None:
        wrong = "the result of choose must be assigned to one variable"
    elif len(call.args) > 2 or given.keys() != {"name", "values"} or len(given) != len(call.args) + len(call.kwargs):
        wrong = "choose needs a name and a list of values"
    elif not isinstance(name, str) or not name.strip():
        wrong = "the first argument of choose must be the name of the hole"
    elif not isinstance(values, list | tuple) or not values:
        wrong = "the list of values is empty"
    elif _refers(values):
        wrong = "values must be literals, not variables"
    if wrong or not isinstance(name, str) or not isinstance(values, list | tuple):
        raise HoleError(Refusal("bad-hole", wrong, found=call.text[:80], expected=EXAMPLE, place=call.place))
    texts = _texts(call.text)
    return Hole(name, call.targets[0], tuple(values), texts)


def filled(call: CallStep, position: int) -> str:
    """Return the line with its hole replaced by a value: `tile = 64`."""
    return f"{call.targets[0]} = {hole_of(call).texts[position]}"


def with_values(call: CallStep, positions: Iterable[int]) -> CallStep:
    """Return the line whose hole has the values at these positions, in this order."""
    hole, chosen = hole_of(call), tuple(positions)
    owner = f"{call.receiver}." if call.receiver else ""
    name = json.dumps(hole.name, ensure_ascii=False)
    text = f"{hole.target} = {owner}{call.method}({name}, [{', '.join(hole.texts[n] for n in chosen)}])"
    return replace_fields(call, args=(hole.name, [hole.values[n] for n in chosen]), kwargs={}, text=text)


def _refers(value: CallValue) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_refers, value))
    return isinstance(value, Ref | dict)


@lru_cache(maxsize=256)
def _texts(line: str) -> tuple[str, ...]:
    """Return the source texts of the values, each on one line. Cached, because a search reads the same lines for each candidate."""
    (node,) = python_tree(line.strip()).body
    assert isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    call = node.value
    listed = call.args[1] if len(call.args) > 1 else next(k.value for k in call.keywords if k.arg == "values")
    assert isinstance(listed, ast.List | ast.Tuple)
    return tuple(_text(line.strip(), item) for item in listed.elts)


def _text(line: str, node: ast.expr) -> str:
    written = ast.get_source_segment(line, node) or ""
    return ast.unparse(node) if "\n" in written or "\r" in written or not written else written
