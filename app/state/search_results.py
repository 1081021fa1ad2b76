"""The results of a search, as a value in the store."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...engine.execute import Verdict
from ...engine.explore import DecisionWorth, Status, Trial, WarmStartUse
from ...engine.ir import TilewrightError
from .derived import Store
from .entries import Derived
from .model import Derivation, DerivedSchedule, Exploration
from .open_model import ModelSearch

SearchStatus = Literal["waiting", "running", "stopped", "ended", "failed"]


class Improved(msgspec.Struct, frozen=True, eq=False):
    """A schedule as the text of its cells, and its cycles."""

    text: str
    cycles: int


class Found(msgspec.Struct, frozen=True, eq=False):
    """The results of a search. `trials` are in the order of completion; `at` is the time of each, in seconds of searching. `offers` are the
    verdicts of the front by trial number, after the last trial; during verification, `checking` is the number of checks done and in total.
    `error` is the reason of a failure. `seconds` is the search time until now, `warm_start` what the search took from a database. `own` are
    the cycles of the schedule before a derivation; None if there was none, or if it does not run. `floor` are the cycles that every
    schedule of the program needs (0: not known), `worth` says what each decision of the best one is worth, after the last trial; `improved`
    is what its next steps made of it after a derivation."""

    status: SearchStatus
    trials: tuple[Trial, ...] = ()
    total: int = 0
    front: tuple[int, ...] = ()
    counts: dict[Status, int] = {}
    offers: dict[int, Verdict] = {}
    checking: tuple[int, int] | None = None
    seconds: float = 0.0
    at: tuple[float, ...] = ()
    error: TilewrightError | None = None
    warm_start: WarmStartUse = WarmStartUse()
    own: int | None = None
    floor: int = 0
    worth: tuple[DecisionWorth, ...] = ()
    improved: Improved | None = None

    @property
    def best(self) -> int | None:
        """The number of the first trial on the front that is not refuted, which has the smallest first objective."""
        refuted = {number for number, verdict in self.offers.items() if verdict.status == "failed"}
        return next((number for number in self.front if number not in refuted), None)


class ModelFound(msgspec.Struct, frozen=True, eq=False):
    """The progress of a search of a model's kernels: `done` of `total` kernels are scheduled or refused, an inference takes `cycles`.
    `is_complete`: no kernel is left to search; `reasons` say why some have no schedule. `search` is the one that ended."""

    status: SearchStatus
    done: int = 0
    total: int = 0
    cycles: int = 0
    seconds_left: float = 0.0
    is_complete: bool = False
    reasons: tuple[str, ...] = ()
    error: TilewrightError | None = None
    search: ModelSearch | None = None


MODEL_FOUND = Derived[ModelFound]("search of a model")
"""Of the path of a model."""

FOUND = Derived[Found]("results of a search")
"""Of a request."""

DERIVED = Derived[DerivedSchedule]("derived schedule")
"""Of a derivation."""


def found_now(exploration: Exploration, store: Store) -> Found | None:
    """The results of a search; None before its start."""
    return store.known(FOUND(exploration.request))


def derived_now(derivation: Derivation, store: Store) -> DerivedSchedule | None:
    """The fastest schedule that a running derivation has found; None before the first one."""
    return store.known(DERIVED(derivation))
