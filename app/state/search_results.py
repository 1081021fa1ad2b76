"""What is known of a search, as a value in the store."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...engine.execute import Verdict
from ...engine.explore import Status, Trial
from ...engine.ir import TilewrightError
from .derived import Store
from .model import Exploration

Standing = Literal["waiting", "running", "stopped", "ended", "failed"]


class Found(msgspec.Struct, frozen=True, eq=False):
    """What is known of a search: `trials` in the order in which they ended, and when, in seconds of searching. `offers` are the verdicts on
    the front, by number, once all was tried; while the checks go on `checking` says how many of how many were made. `error` is why it
    could not be done. `seconds` it took until now."""

    standing: Standing
    trials: tuple[Trial, ...] = ()
    total: int = 0
    front: tuple[int, ...] = ()
    counts: dict[Status, int] = {}
    offers: dict[int, Verdict] = {}
    checking: tuple[int, int] | None = None
    seconds: float = 0.0
    at: tuple[float, ...] = ()
    error: TilewrightError | None = None


def found_now(exploration: Exploration, store: Store) -> Found | None:
    """What is known of a search; None before it began."""
    return store.known("found", (exploration.sought,))
