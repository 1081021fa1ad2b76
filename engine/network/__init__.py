"""Networks: the distinct kernels of a model, and their costs on a machine, in the order in which an inference runs them."""

from .execute import run_network
from .frontends import is_model_file, lowered_text
from .kernels import Kernel, distinct_kernels, merged, prepared_calls
from .report import KernelCost, NetworkReport, simulate_network
from .search import (
    KernelState,
    KernelStudy,
    NetworkProgress,
    NetworkStudy,
    explore_network,
    kernel_bound,
    progress_text,
    scheduled_program,
    study_json,
    study_text,
)
from .text import network_text
from .tvm_module import network_tvm_python

__all__ = [
    "Kernel",
    "KernelCost",
    "KernelState",
    "KernelStudy",
    "NetworkProgress",
    "NetworkReport",
    "NetworkStudy",
    "distinct_kernels",
    "explore_network",
    "is_model_file",
    "kernel_bound",
    "lowered_text",
    "merged",
    "network_text",
    "network_tvm_python",
    "prepared_calls",
    "progress_text",
    "run_network",
    "scheduled_program",
    "simulate_network",
    "study_json",
    "study_text",
]
