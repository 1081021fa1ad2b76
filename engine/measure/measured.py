"""What a measurement finds: the times of programs, and the computer, compiler and flags that they hold for."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import msgspec


class Spread(msgspec.Struct, frozen=True):
    """Samples of a time, in microseconds unless its owner says so: the median, and the limits of the middle eight tenths."""

    median: float
    low: float
    high: float

    @property
    def range_text(self) -> str:
        """The limits as text: "104 us to 108 us"."""
        return f"{time_text(self.low)} to {time_text(self.high)}"

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        """The spread of at least one sample; low and high are samples themselves."""
        found = sorted(samples)
        last = len(found) - 1
        middle = (found[last // 2] + found[(last + 1) // 2]) / 2
        return cls(middle, found[round(last / 10)], found[round(last * 9 / 10)])


class Host(msgspec.Struct, frozen=True):
    """Where a time was measured: processor, system, compiler, its flags, and the date (UTC); `clock` says which time, if it is not the
    processor time of one thread."""

    processor: str
    system: str
    compiler: str
    flags: str
    date: str
    clock: str = ""


class Measurement(msgspec.Struct, frozen=True, omit_defaults=True):
    """The times of one program: processor time of its one thread, so that other work on the computer changes only caches and clock.

    `warm`: a call right after another. `cold`: a call after the caches were overwritten. `difference`: where the results differ from those
    of the first program; empty if they are equal, None if they were not compared. `refusal`: why there are no times. `assembly`: the
    compiled code, if it was requested.
    """

    name: str
    warm: Spread | None = None
    cold: Spread | None = None
    calls: int = 0
    difference: str | None = None
    refusal: str = ""
    assembly: str = ""


class Measured(msgspec.Struct, frozen=True):
    """Measurements of one run. `busy`: elapsed time in units of processor time; above 1 other work had the processor in between."""

    host: Host
    rows: tuple[Measurement, ...]
    busy: float

    @property
    def disturbance(self) -> str:
        """A sentence if other work disturbed the measurement; empty if none did."""
        much = f"{self.busy:.1f} times the processor time elapsed"
        return f"other work ran beside it: {much}" if self.busy > MOST_BUSY else ""


MOST_BUSY = 1.2
"""Elapsed time in units of processor time beyond which other work is reported: it also costs caches and clock."""


def processor_name() -> str:
    """The model of this processor, as the system names it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return found.get("model name") or platform.processor() or "unknown processor"


def time_text(microseconds: float) -> str:
    """A time with a unit of its size: 12.3 us, 4.56 ms, 1.2 s."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:,.3g} {unit}"
    return f"{microseconds:.3g} us"


__all__ = ["Host", "Measured", "Measurement", "Spread", "processor_name", "time_text"]
