"""The outcome of a candidate: its figures on the machine, or why it has none; and the objectives to minimise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from ...hwsim import Machine, TaskCost, row_name
from ...ir import Refusal, TilewrightError

Status = Literal["fits", "over", "pruned", "refused", "failed"]
"""fits: it runs within memories and budgets. over: it runs, and exceeds a memory or a budget. pruned: its lower bound is no better than a
known result, so it was not simulated. refused: a call or the machine refuses it. failed: it exceeds the limits of time or memory, or its
worker died."""

CYCLES, ENERGY, TRAFFIC, PEAK = "cycles", "energy", "traffic", "peak"
"""The figures that can be objectives. "peak local.vtcm" is that of one memory, or of a block of it; "peak" the sum over all but the
largest."""

LOST = "worker-lost"
"""The code of a candidate whose workers died. Its outcome is unknown, so a resumed study evaluates it again."""

Unit = Literal["cycles", "pJ", "bytes"]

UNITS: Mapping[str, Unit] = {CYCLES: "cycles", ENERGY: "pJ", TRAFFIC: "bytes", PEAK: "bytes"}


class ObjectiveError(TilewrightError):
    """A figure that no report has."""


class Figures(msgspec.Struct, frozen=True):
    """The cost of a candidate. `bound` is a lower bound on the cycles of every schedule of the same tasks, `bound_by` the engine, unit or
    port.

    `energy_pj` is in pJ, `traffic_bytes` counts copies between memories, `peaks` are bytes by row of memory ("local.vtcm",
    "local.vtcm[0]"). Figures that are not `exact` come without a simulation: cycles and peaks are lower bounds, energy and traffic are
    exact.
    """

    cycles: int
    bound: int
    bound_by: str
    energy_pj: float
    traffic_bytes: int
    peaks: dict[str, int]
    exact: bool = True

    def figure(self, name: str) -> float:
        """A figure by name; see CYCLES, ENERGY, TRAFFIC, PEAK. Raises ObjectiveError "unknown-objective"."""
        kind, _, scope = name.partition(" ")
        match kind:
            case "cycles" if name == CYCLES:
                return self.cycles
            case "energy" if name == ENERGY:
                return self.energy_pj
            case "traffic" if name == TRAFFIC:
                return self.traffic_bytes
            case "peak" if name == PEAK:
                return sum(self.peaks.values())
            case "peak" if rows := _rows(self.peaks, scope):
                return max(self.peaks[row] for row in rows)
            case _:
                raise _unknown(name, tuple(self.peaks))


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of a candidate. `code` and `message` say why it does not fit, `line` is the refused line of the space, `full` the row of
    memory whose capacity is exceeded."""

    status: Status
    figures: Figures | None = None
    code: str = ""
    message: str = ""
    line: int | None = None
    full: str = ""

    @property
    def fits(self) -> bool:
        return self.status == "fits"


def figures_of(cost: TaskCost, far: str) -> Figures:
    """The figures of a report, or of a lower bound; `far` is the scope of the memory that is excluded from the peaks."""
    by, bound = (cost.bounds[0].name, cost.bounds[0].cycles) if cost.bounds else ("", 0)
    peaks = {row: size for row, size in cost.peaks.items() if row.partition("[")[0] != far}
    exact = cost.promise == "exact"
    return Figures(cost.cycles, bound, by, cost.energy_pj, cost.copied_bytes, peaks, exact=exact)


def overflow_of(needed: Mapping[str, int], capacities: Mapping[str, int]) -> Outcome | None:
    """The outcome if a memory, or a row of one, needs more bytes than its capacity, else None."""
    full = next((name for name, size in needed.items() if size > capacities.get(name, size)), None)
    if full is None:
        return None
    message = f"{full} needs at least {needed[full]:,} bytes, but has {capacities[full]:,}"
    return Outcome("over", None, "capacity-overflow", message, full=full)


def vector(figures: Figures, objectives: Sequence[str]) -> tuple[float, ...]:
    """The figures of the objectives, in order."""
    return tuple(figures.figure(name) for name in objectives)


# Raises ObjectiveError unless each name is a figure that reports of this machine have.
def require_objectives(names: Iterable[str], machine: Machine) -> None:
    far = machine.far.scope
    rows = [row_name(m, block) for m in machine.memories if m.scope != far for block in range(m.blocks)]
    some = Figures(0, 0, "", 0.0, 0, dict.fromkeys(rows, 0))
    for name in names:
        some.figure(name)


def _rows(peaks: Mapping[str, int], scope: str) -> list[str]:
    return [row for row in peaks if scope in (row, row.partition("[")[0])]


def _unknown(name: str, rows: tuple[str, ...]) -> ObjectiveError:
    known = [CYCLES, ENERGY, TRAFFIC, PEAK, *(f"{PEAK} {row}" for row in rows)]
    return ObjectiveError(Refusal("unknown-objective", f"there is no metric {name!r}", expected=", ".join(known)))
