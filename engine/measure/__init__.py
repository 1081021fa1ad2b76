"""Times of programs on this computer: TVM builds each for LLVM, and a confined process runs it."""

from .compared import Compared, TimedRow
from .measured import Host, Measured, Measurement, Spread, time_text
from .ranking import kendall_tau
from .request import MOST_PROGRAMS, Candidate, measure

__all__ = [
    "MOST_PROGRAMS",
    "Candidate",
    "Compared",
    "Host",
    "Measured",
    "Measurement",
    "Spread",
    "TimedRow",
    "kendall_tau",
    "measure",
    "time_text",
]
