"""From a scheduled program to flat loops, in TVM's passes: where buffers live and how large they are, then loops without blocks."""

from .errors import LowerError
from .pipeline import PASSES, Allocation, Pass, allocations, lower, plan

__all__ = ["PASSES", "Allocation", "LowerError", "Pass", "allocations", "lower", "plan"]
