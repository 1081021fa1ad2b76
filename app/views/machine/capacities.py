"""Suggested sizes for a memory: half and twice the machine file's, and those of real parts (`static/capacities.toml`)."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

import msgspec

from .... import static
from ..labels.numbers import size_text


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The size of the real part `part` for parameter `figure` of preset `machine`."""

    machine: str
    figure: str
    part: str
    size_bytes: int
    source: str


class SuggestedSize(msgspec.Struct, frozen=True):
    """A size to set with one click."""

    text: str
    size_bytes: int
    hint: str


@cache
def real_sizes() -> tuple[Size, ...]:
    """All sizes of the file; frozen, so that sessions can share them."""
    text = (resources.files(static) / "capacities.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["size"], tuple[Size, ...])


def offers(machine: str, figure: str, size_bytes: int) -> tuple[SuggestedSize, ...]:
    """The suggestions for a parameter whose value in the machine file is `size_bytes`."""
    found = [
        SuggestedSize("×½", size_bytes // 2, f"Half of the value in the machine file: {size_text(size_bytes // 2)}"),
        SuggestedSize("×1", size_bytes, f"The value in the machine file: {size_text(size_bytes)}"),
        SuggestedSize("×2", 2 * size_bytes, f"Twice the value in the machine file: {size_text(2 * size_bytes)}"),
    ]
    named = [s for s in real_sizes() if (s.machine, s.figure) == (machine, figure)]
    return (*found, *(SuggestedSize(f"{s.part}: {size_text(s.size_bytes)}", s.size_bytes, s.source) for s in named))
