"""Intervals of compressed time, as columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]


class Spans(NamedTuple):
    """Intervals, and which entry of a table each is of; ordered by their starts."""

    starts: Column
    ends: Column
    of: Column


def spans(starts: list[int], ends: list[int], of: list[int]) -> Spans:
    """Spans of lists."""
    return Spans(np.array(starts, np.int64), np.array(ends, np.int64), np.array(of, np.int64))


def joined(*parts: Spans) -> Spans:
    """The non-empty spans of several tables, ordered by start."""
    starts, ends, of = (np.concatenate([part[n] for part in parts]) for n in range(3))
    lasting = np.flatnonzero(ends > starts)
    order = lasting[np.argsort(starts[lasting], kind="stable")]
    return Spans(starts[order], ends[order], of[order])
