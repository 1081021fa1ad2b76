"""From a scheduled program to flat loops, in TVM's passes: where buffers live and how large they are, then loops without blocks."""

from .errors import LowerError
from .match_buffer import lower_match_buffer
from .pipeline import PASSES, Allocation, Pass, allocations, lower, plan, planned
from .renewed import Renewed
from .sizes import missing_sizes, size_values, size_variables, sizes_of_arrays, with_sizes
from .slots import BANKS_KEY, DOUBLE_BUFFER_KEY, Banks, banks_noted, marked_buffers
from .software_pipeline import pipeline_parts, pipelined
from .stages import PIPELINE_KEYS

__all__ = [
    "BANKS_KEY",
    "DOUBLE_BUFFER_KEY",
    "PASSES",
    "PIPELINE_KEYS",
    "Allocation",
    "Banks",
    "LowerError",
    "Pass",
    "Renewed",
    "allocations",
    "banks_noted",
    "lower",
    "lower_match_buffer",
    "marked_buffers",
    "missing_sizes",
    "pipeline_parts",
    "pipelined",
    "plan",
    "planned",
    "size_values",
    "size_variables",
    "sizes_of_arrays",
    "with_sizes",
]
