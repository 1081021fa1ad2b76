"""From a scheduled program to flat loops, in TVM's passes: where buffers live and how large they are, then loops without blocks."""

from .errors import LowerError
from .pipeline import PASSES, Allocation, Pass, allocations, lower, plan, planned
from .renewed import Renewed
from .slots import Banks, banks_noted, marked_buffers
from .software_pipeline import pipelined

__all__ = [
    "PASSES",
    "Allocation",
    "Banks",
    "LowerError",
    "Pass",
    "Renewed",
    "allocations",
    "banks_noted",
    "lower",
    "marked_buffers",
    "pipelined",
    "plan",
    "planned",
]
