"""Running programs on NumPy arrays: what they mean, and the check that a schedule kept it."""

from .errors import ExecuteError
from .layouts import Image, ParameterLayout, image
from .program import run
from .values import DIVISIONS, PURE_CALLS
from .verify import Expectation, Verdict, random_inputs, verify

__all__ = [
    "DIVISIONS",
    "PURE_CALLS",
    "ExecuteError",
    "Expectation",
    "Image",
    "ParameterLayout",
    "Verdict",
    "image",
    "random_inputs",
    "run",
    "verify",
]
