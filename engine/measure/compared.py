"""Measured times beside predicted cycles."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .measured import Measured, Measurement
from .ranking import kendall_tau


class TimedRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A program with its cycles on the machine that predicts, the time of these in microseconds, and that time in units of the measured
    one; None where unknown. `ports_us`: the time of its compiled code by the port model, or
    `ports_refusal`."""

    times: Measurement
    cycles: int | None = None
    predicted_us: float | None = None
    predicted_to_measured: float | None = None
    ports_us: float | None = None
    ports_refusal: str = ""


class Compared(msgspec.Struct, frozen=True):
    """Measured programs and the cycles that a machine predicts for each, None for those that it cannot run. `ports` are the times by the
    port model, if it was asked: in microseconds, or why there is none."""

    measured: Measured
    machine: str
    clock_hz: int
    cycles: tuple[int | None, ...]
    ports: tuple[float | str, ...] = ()

    @property
    def rows(self) -> tuple[TimedRow, ...]:
        """The programs in the order of the measurement."""
        ports = self.ports or ("",) * len(self.cycles)
        return tuple(self._row(*each) for each in zip(self.measured.rows, self.cycles, ports, strict=True))

    @property
    def order(self) -> float | None:
        """Kendall's tau of the predicted and the measured order; None for fewer than three programs."""
        return self._order([r.cycles for r in self.rows])

    @property
    def ports_order(self) -> float | None:
        """The same for the port model."""
        return self._order([r.ports_us for r in self.rows])

    def _order(self, predicted: Sequence[float | None]) -> float | None:
        warm = (row.warm for row in self.measured.rows)
        known = [(p, w.median) for p, w in zip(predicted, warm, strict=True) if p is not None and w is not None]
        return kendall_tau([p for p, _ in known], [w for _, w in known]) if len(known) > 2 else None

    def _row(self, times: Measurement, cycles: int | None, ports: float | str) -> TimedRow:
        microseconds = None if cycles is None or not self.clock_hz else cycles / self.clock_hz * 1e6
        ratio = None if microseconds is None or times.warm is None else microseconds / times.warm.median
        ports_us, refusal = (None, ports) if isinstance(ports, str) else (ports, "")
        return TimedRow(times, cycles, microseconds, ratio, ports_us, refusal)


__all__ = ["Compared", "TimedRow"]
