"""Mutations of JSON by its tree: items dropped, doubled, swapped, replaced, wrapped and nested deeply."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

Json = Any

LEAVES: tuple[Json, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 64, 2**31, 2**63, -(2**63), 2**64, 10**30, 10**400, 0.5, -0.0, 1e308, float("inf"), float("nan"),
    "", "x", "None", "b0", "l1", '"quoted"', '"', '"\\ud800"', "\ud800", "\x00", "main", "C", "global", "blockIdx.x", "lambda i, j: [j, i]",
    "lambda i: [i // 0]", [], {}, [[]], [None], {"a": 1}, {"a": {"b": [1]}}, [1, 2, 3], ["l1"], ["b0", "l1"],
)  # fmt: skip
"""Replacements of an item."""


def mutated_json(random: Random, value: Json, seeds: Sequence[Json], words: Sequence[str] = ()) -> Json:
    """A copy of the value after one to four mutations; `words` are strings with a meaning for the reader."""
    value = deepcopy(value)
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        value = _once(random, value, seeds, words)
    return value


def _once(random: Random, value: Json, seeds: Sequence[Json], words: Sequence[str]) -> Json:
    holders = list(_holders(value))
    if not holders:
        return random.choice(LEAVES)
    holder, key = random.choice(holders)
    match random.randrange(9):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, deepcopy(holder[key]))
        case 2:
            other, place = random.choice(holders)
            holder[key], other[place] = deepcopy(other[place]), deepcopy(holder[key])
        case 3:
            holder[key] = _nested(random, holder[key])
        case 4:
            other, place = random.choice(list(_holders(random.choice(seeds))) or holders)
            holder[key] = deepcopy(other[place])
        case 5 if words:
            holder[key] = random.choice(words)
        case 6 if isinstance(holder[key], list) and holder[key]:
            random.shuffle(holder[key])
        case 7 if isinstance(holder, dict):
            holder[random.choice((*words, "x", ""))] = holder.pop(key)
        case _:
            holder[key] = deepcopy(random.choice(LEAVES))
    return value


def _nested(random: Random, value: Json) -> Json:
    for _ in range(random.choice((1, 1, 2, 40, 150))):
        value = [value] if random.random() < 0.7 else {"a": value}
    return value


def _holders(value: Json) -> Any:
    """Each item of the tree as (the list or dict that it is in, its place)."""
    stack = [value]
    while stack:
        holder = stack.pop()
        pairs = enumerate(holder) if isinstance(holder, list) else holder.items() if isinstance(holder, dict) else ()
        for key, item in list(pairs):
            yield holder, key
            if isinstance(item, list | dict):
                stack.append(item)


def json_text(value: Json) -> str:
    """The JSON text, including infinities and lone surrogates."""
    return json.dumps(value)
