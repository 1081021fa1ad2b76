"""The search of all kernels of a network under one time budget."""

from .loop import KernelState, NetworkProgress, NetworkStudy, explore_network
from .study import KernelStudy, scheduled_program
from .text import progress_text, study_json, study_text

__all__ = [
    "KernelState",
    "KernelStudy",
    "NetworkProgress",
    "NetworkStudy",
    "explore_network",
    "progress_text",
    "scheduled_program",
    "study_json",
    "study_text",
]
