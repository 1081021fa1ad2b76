"""Elements that tasks of several blocks update atomically: which tasks update the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import msgspec
import numpy as np
from propcache.api import cached_property

from ....ir import Buffer, Expr, Var, build, free_vars, substitute
from ...access.ports import atomic_ports
from ...tasks.grid import Values, axes, is_known, values
from ...tasks.nest import Loop
from ...tasks.tree import TaskProgram, Template
from ..repeats import Place

MOST = 1 << 16
"""Limit on the tasks of a template whose elements are listed."""


class Elements(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The first element of a buffer that each task of a template updates, by the loops around it. `indices` is None if they depend on
    data.
    """

    loops: tuple[Loop, ...]
    indices: tuple[Expr, ...] | None

    @cached_property
    def is_one(self) -> bool:
        """Whether all tasks update the same elements."""
        return self.indices is not None and not any(map(free_vars, self.indices))

    def at(self, place: Place) -> tuple[int, ...]:
        """Returns the element of a task."""
        here: dict[Var, Values | int] = {loop.var: i for loop, i in zip(self.loops, place, strict=True)}
        return tuple(int(values(index, here)) for index in self.indices or ())

    @cached_property
    def different(self) -> int | None:
        """The number of different elements; None if it is not known, or too large to count."""
        if self.indices is None or prod(loop.extent for loop in self.loops) > MOST:
            return None
        shape = [loop.extent for loop in self.loops]
        where = axes({loop.var: loop.extent for loop in self.loops})
        found = [np.broadcast_to(values(index, where), shape).reshape(-1) for index in self.indices]
        return len(np.unique(np.stack(found, 1), axis=0)) if found and shape else 1


class UpdatedElements(msgspec.Struct, frozen=True, eq=False):
    """The elements of a buffer that tasks update, by template."""

    of_template: Mapping[int, Elements]

    @property
    def is_known(self) -> bool:
        return all(e.indices is not None for e in self.of_template.values())

    @property
    def is_one(self) -> bool:
        """Whether all tasks update the same elements."""
        every = self.of_template.values()
        return all(e.is_one for e in every) and len({e.at((0,) * len(e.loops)) for e in every}) == 1

    @property
    def different(self) -> int | None:
        """The number of elements that tasks of the only template update; None if it is not known."""
        every = [e.different for e in self.of_template.values()]
        return every[0] if len(every) == 1 else None


def elements_of(program: TaskProgram) -> dict[int, UpdatedElements]:
    """Returns what tasks update, by port of elements."""
    numbers = {port: n for n, port in enumerate(program.ports) if port.elements}
    found: dict[int, dict[int, Elements]] = {n: {} for n in numbers.values()}
    for template in program.templates if numbers else ():
        for buffer, updated in _updated(template):
            for port in atomic_ports(program.places.by_buffer[buffer].memory, buffer):
                if port in numbers:
                    # Updates of one task at several elements count as of one that depends on data.
                    known = found[numbers[port]]
                    known[template.number] = Elements(template.outer, None) if template.number in known else updated
    return {n: UpdatedElements(known) for n, known in found.items()}


def _updated(template: Template) -> Iterator[tuple[Buffer, Elements]]:
    for piece in template.variants.pieces:
        measured = piece.measured
        if not measured.work.atomic:
            continue
        first = {v: build.const(0, v.dtype) for v in measured.inner}
        target = measured.work.writes[0]
        indices = tuple(substitute(index, first) for index in target.indices)
        yield target.buffer, Elements(template.outer, indices if all(map(is_known, indices)) else None)


__all__ = ["Elements", "UpdatedElements", "elements_of"]
