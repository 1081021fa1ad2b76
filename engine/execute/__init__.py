"""Running programs on NumPy arrays: what they mean, and the check that a schedule kept it."""

from .errors import ExecuteError
from .layouts import ParameterLayout
from .program import run
from .verify import Verdict, random_inputs, verify

__all__ = ["ExecuteError", "ParameterLayout", "Verdict", "random_inputs", "run", "verify"]
