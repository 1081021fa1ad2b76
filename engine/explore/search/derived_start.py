"""From a program to a search: the derivation of its space, whose default schedule is simulated, and the search that begins with it.

The command line, the page and networks all search so: what a derivation simulated is not simulated again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...hwsim import Machine
from ...ir import IRModule, PrimFunc
from ..database.database import Database
from ..database.warm_start import SpaceOrigin, WarmStart
from ..derive.derived_space import DerivedSpace, deriving_space
from ..space.model import Point, Space
from ..space.pins import unpinned
from ..trials.evaluator import EvaluationRequest, Evaluator
from ..trials.outcome import Outcome
from ..trials.study import Settings, Study
from .loop import explore


class DerivedStart(msgspec.Struct, frozen=True, eq=False):
    """A derived space, and the outcome of its default schedule."""

    space: DerivedSpace
    outcome: Outcome

    def known_in(self, space: Space) -> Mapping[Point, Outcome]:
        """The outcome of the default point of a space, the derived one read again or a part of it, if its values are the derived ones."""
        whole, point = unpinned(space, space.default)
        of = self.space.space
        return {space.default: self.outcome} if whole.texts_at(point) == of.texts_at(of.default) else {}


def deriving_starts(
    program: IRModule | PrimFunc,
    machine: Machine,
    settings: Settings,
    *,
    sizes: Mapping[str, int],
    database: Database | str | Path | None = None,
    **derivation: Any,
) -> Iterator[DerivedStart | None]:
    """Derives a space step by step, as `deriving_space` with the arguments `derivation`: yields the start of a search with the fastest
    schedule so far whenever there is a faster one, and the result last; None in between. `database` has schedules to begin with."""
    with WarmStart(database, program, sizes, machine) as warm:
        records = warm.records
    for derived in deriving_space(program, machine, sizes=sizes, records=records, **derivation):
        yield None if derived is None else start_of_search(derived, machine, settings)


def start_of_search(derived: DerivedSpace, machine: Machine, settings: Settings) -> DerivedStart:
    """The start of a search of a derived space: its default schedule is simulated."""
    evaluator = Evaluator(derived.space, machine, settings.objectives, settings.budgets, settings.limits)
    return DerivedStart(derived, evaluator.tried(EvaluationRequest(0, derived.space.default)))


def search_from(start: DerivedStart | None, space: Space, machine: Machine, settings: Settings, **search: Any) -> Study:
    """Searches a space, as `explore` with the arguments `search`. `start` is where the space comes from, if it was derived."""
    origin = SpaceOrigin() if start is None else start.space.origin
    known: Mapping[Point, Outcome] = {} if start is None else start.known_in(space)
    return explore(space, machine, settings, origin=origin, known=known, **search)


__all__ = ["DerivedStart", "deriving_starts", "search_from", "start_of_search"]
