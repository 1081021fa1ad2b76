"""Lowering of a scheduled program to flat loops, in TVM's passes: buffer placement and sizes first, then loops without blocks."""

from .errors import LowerError
from .init_block import lower_init_block
from .match_buffer import lower_match_buffer
from .pipeline import PASSES, Allocation, Pass, Plan, allocations, lower, plan, planned, require_known
from .pipelining.double_buffer import slot_loops
from .pipelining.slots import (
    BANKS_KEY,
    DOUBLE_BUFFER_KEY,
    DOUBLE_BUFFER_KEYS,
    MAX_SLOTS,
    SLOTS_KEY,
    Banks,
    banks_noted,
    marked_buffers,
    marks_of,
)
from .pipelining.software_pipeline import pipelined
from .pipelining.stages import PIPELINE_KEYS, is_pipelined, stages_and_orders
from .rewrite_result import RewriteResult
from .scopes import is_fragment, is_shared_over
from .sizes import missing_sizes, size_values, size_variables, sizes_of_arrays, with_sizes
from .storage.same_threads import same_threads

__all__ = [
    "BANKS_KEY",
    "DOUBLE_BUFFER_KEY",
    "DOUBLE_BUFFER_KEYS",
    "MAX_SLOTS",
    "PASSES",
    "PIPELINE_KEYS",
    "SLOTS_KEY",
    "Allocation",
    "Banks",
    "LowerError",
    "Pass",
    "Plan",
    "RewriteResult",
    "allocations",
    "banks_noted",
    "is_fragment",
    "is_pipelined",
    "is_shared_over",
    "lower",
    "lower_init_block",
    "lower_match_buffer",
    "marked_buffers",
    "marks_of",
    "missing_sizes",
    "pipelined",
    "plan",
    "planned",
    "require_known",
    "same_threads",
    "size_values",
    "size_variables",
    "sizes_of_arrays",
    "slot_loops",
    "stages_and_orders",
    "with_sizes",
]
