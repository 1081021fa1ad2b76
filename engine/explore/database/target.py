"""Machines as the key of a database: what the parts are, and their figures."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from math import inf
from typing import Any, cast

import msgspec

from ...hwsim import Machine
from .workload import Number, numbers_apart

IGNORED = frozenset({"description", "source"})
"""Fields of machines and their parts that no simulation depends on."""


class MachineTarget(msgspec.Struct, frozen=True):
    """A machine up to its name. `structure` is a digest of its parts, `numbers` are their figures in order."""

    name: str
    structure: str
    numbers: tuple[Number, ...]

    def is_equal(self, other: MachineTarget) -> bool:
        """Whether the machines have equal parts and figures."""
        return (self.structure, self.numbers) == (other.structure, other.numbers)

    def distance(self, other: MachineTarget) -> float:
        """The sum of the ratios of their figures, in factors of two; infinite for other parts."""
        return numbers_apart(self.numbers, other.numbers) if self.structure == other.structure else inf


def target_of(machine: Machine) -> MachineTarget:
    """The key of a machine."""
    tables: dict[str, Any] = msgspec.to_builtins(machine)
    tables.pop("name")
    numbers: list[Number] = []
    parts = " ".join(_parts(tables, numbers))
    return MachineTarget(machine.name, hashlib.sha256(parts.encode()).hexdigest(), tuple(numbers))


def _parts(value: Any, numbers: list[Number]) -> Iterator[str]:
    """Yields the parts of a table, and collects its numbers."""
    match value:
        case dict():
            yield "{"
            for key, item in cast("dict[str, Any]", value).items():
                if key not in IGNORED:
                    yield f"{key}:"
                    yield from _parts(item, numbers)
            yield "}"
        case list() | tuple():
            yield "["
            for item in cast("list[Any]", value):
                yield from _parts(item, numbers)
            yield "]"
        case int() | float() if not isinstance(value, bool):
            numbers.append(value)
            yield "#"
        case _:
            yield repr(value)


__all__ = ["MachineTarget", "target_of"]
