"""From a scheduled program to flat loops, in TVM's passes: where buffers live and how large they are, then loops without blocks."""

from .errors import LowerError
from .pipeline import PASSES, Allocation, Pass, allocations, lower, plan, planned
from .renewed import Renewed

__all__ = ["PASSES", "Allocation", "LowerError", "Pass", "Renewed", "allocations", "lower", "plan", "planned"]
