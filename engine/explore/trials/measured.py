"""The best candidates of a study by their predicted cycles, measured on this computer."""

from __future__ import annotations

import msgspec

from ...hwsim import Machine
from ...measure import Candidate, Compared, Measured, Measurement, measure
from ...schedule import Schedule
from ..space.model import Point, Space
from .study import Study, Trial

START = "start"
"""The name of the program without the schedule."""


class MeasuredTrials(msgspec.Struct, frozen=True, eq=False):
    """The times of trials, the best predicted one first, and of the program without a schedule."""

    measured: Measured
    machine: Machine
    trials: tuple[Trial, ...]

    @property
    def rows(self) -> list[tuple[Trial, Measurement]]:
        """Each trial with its times."""
        return list(zip(self.trials, self.measured.rows[1:], strict=True))

    @property
    def fastest(self) -> Trial | None:
        """The trial with the smallest median among those with the results of the program; None without one."""
        timed = [(row.warm.median, trial.number, trial) for trial, row in self.rows if row.warm and not row.difference]
        return min(timed)[2] if timed else None

    @property
    def compared(self) -> Compared:
        """The times beside the predicted cycles; those of the program are not known."""
        cycles = tuple(t.outcome.figures.cycles if t.outcome.figures else None for t in self.trials)
        return Compared(self.measured, self.machine.name, self.machine.clock_hz, (None, *cycles))


def measured_trials(study: Study, most: int, *, seconds: float = 10.0, cpu: str = "") -> MeasuredTrials:
    """Measure the `most` fitting trials with the fewest predicted cycles. `seconds` and `cpu` are those of `measure`, whose errors it
    raises."""
    fitting = [(t.outcome.figures.cycles, t.number, t) for t in study.trials if t.outcome.fits and t.outcome.figures]
    chosen = tuple(trial for *_, trial in sorted(fitting)[:most])
    candidates = [
        _candidate(START, study.space, None),
        *(_candidate(f"#{t.number}", study.space, t.point) for t in chosen),
    ]
    return MeasuredTrials(measure(candidates, seconds=seconds, cpu=cpu), study.machine, chosen)


def _candidate(name: str, space: Space, point: Point | None) -> Candidate:
    schedule = Schedule(space.program) if point is None else space.schedule_at(point).schedule
    return Candidate.of(name, schedule, space.sizes)


__all__ = ["START", "MeasuredTrials", "measured_trials"]
