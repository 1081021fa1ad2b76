"""Times of programs on this computer: TVM builds each for LLVM, and a confined process runs it."""

from .measured import Host, Measured, Measurement, Spread, time_text
from .ranking import kendall_tau
from .request import MOST_PROGRAMS, Candidate, measure

__all__ = [
    "MOST_PROGRAMS",
    "Candidate",
    "Host",
    "Measured",
    "Measurement",
    "Spread",
    "kendall_tau",
    "measure",
    "time_text",
]
