"""What a program costs on a machine. Each figure says what it promises about the cycles of a replay:

Report            `simulate`         exact         of these tasks; a lower bound if the cost of its cache misses is not known
LowerBound        `lower_bound_of`   lower bound   of these tasks, before their replay
PipelinesBound    `UnpipedBound.at`  lower bound   of a program with these pipelines, before they are applied
ProgramBound      `program_bound`    lower bound   of every schedule of a program
CostEstimate      `estimate_cost`    estimate      of a program, from its loops alone: close to the replay, bounds nothing
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from ..report.model import Bound

Promise = Literal["exact", "lower bound", "estimate"]


class ProgramCost(Protocol):
    """The cycles of a program."""

    @property
    def promise(self) -> Promise: ...

    @property
    def cycles(self) -> int: ...


class TaskCost(ProgramCost, Protocol):
    """The cost of tasks. `bounds` are the work of engines and ports, the highest first; `energy_pj`, `copied_bytes` and `peaks`, the bytes
    by memory row, are exact.
    """

    @property
    def bounds(self) -> Sequence[Bound]: ...

    @property
    def energy_pj(self) -> float: ...

    @property
    def copied_bytes(self) -> int: ...

    @property
    def peaks(self) -> Mapping[str, int]: ...
