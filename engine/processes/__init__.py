"""Work with limits: budgets of processor time and memory, and child processes that can be killed."""

from .budget import GIBI, Allowance, Budget, OverBudgetError, remaining_seconds, spend, uninterrupted, within
from .isolated import here_or_isolated, isolated, perform_here
from .pipe import READY, receive, send
from .process import ChildProcess, run_child
from .process_limits import limit_memory

__all__ = [
    "GIBI",
    "READY",
    "Allowance",
    "Budget",
    "ChildProcess",
    "OverBudgetError",
    "here_or_isolated",
    "isolated",
    "limit_memory",
    "perform_here",
    "receive",
    "remaining_seconds",
    "run_child",
    "send",
    "spend",
    "uninterrupted",
    "within",
]
