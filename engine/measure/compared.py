"""Measured times beside predicted cycles."""

from __future__ import annotations

import msgspec

from .measured import Measured, Measurement
from .ranking import kendall_tau


class TimedRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A program with its cycles on the machine that predicts, the time of these in microseconds, and that time in units of the measured
    one; None where unknown."""

    times: Measurement
    cycles: int | None = None
    predicted_us: float | None = None
    predicted_to_measured: float | None = None


class Compared(msgspec.Struct, frozen=True):
    """Measured programs and the cycles that a machine predicts for each, None for those that it cannot run."""

    measured: Measured
    machine: str
    clock_hz: int
    cycles: tuple[int | None, ...]

    @property
    def rows(self) -> tuple[TimedRow, ...]:
        """The programs in the order of the measurement."""
        return tuple(self._row(times, cycles) for times, cycles in zip(self.measured.rows, self.cycles, strict=True))

    @property
    def order(self) -> float | None:
        """Kendall's tau of the predicted and the measured order; None for fewer than three programs."""
        known = [
            (r.cycles, r.times.warm.median) for r in self.rows if r.cycles is not None and r.times.warm is not None
        ]
        return kendall_tau([cycles for cycles, _ in known], [median for _, median in known]) if len(known) > 2 else None

    def _row(self, times: Measurement, cycles: int | None) -> TimedRow:
        microseconds = None if cycles is None or not self.clock_hz else cycles / self.clock_hz * 1e6
        ratio = None if microseconds is None or times.warm is None else microseconds / times.warm.median
        return TimedRow(times, cycles, microseconds, ratio)


__all__ = ["Compared", "TimedRow"]
