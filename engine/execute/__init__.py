"""Execution of programs on NumPy arrays: reference semantics, and verification of schedules."""

from .errors import ExecuteError
from .inputs import MOST_TRIPS, random_inputs
from .lanes import element, lane_of, lanes_of
from .layouts import Image, ParameterLayout, image
from .operation_count import operation_count
from .program import BufferContents, run
from .values import DIVISIONS, KNOWN_INTRINSICS, NO_OPERATION, PURE_CALLS, numpy_dtype
from .verify import Expectation, Verdict, VerdictStatus, compared, given_in_layout, run_cost, verify

__all__ = [
    "DIVISIONS",
    "KNOWN_INTRINSICS",
    "MOST_TRIPS",
    "NO_OPERATION",
    "PURE_CALLS",
    "BufferContents",
    "ExecuteError",
    "Expectation",
    "Image",
    "ParameterLayout",
    "Verdict",
    "VerdictStatus",
    "compared",
    "element",
    "given_in_layout",
    "image",
    "lane_of",
    "lanes_of",
    "numpy_dtype",
    "operation_count",
    "random_inputs",
    "run",
    "run_cost",
    "verify",
]
