"""Networks: the distinct kernels of a model, and their costs on a machine, in the order in which an inference runs them."""

from .execute import run_network
from .frontends import is_model_file, lowered_text
from .kernels import Kernel, distinct_kernels, merged, prepared_calls
from .report import KernelCost, NetworkReport, simulate_network
from .text import network_text

__all__ = [
    "Kernel",
    "KernelCost",
    "NetworkReport",
    "distinct_kernels",
    "is_model_file",
    "lowered_text",
    "merged",
    "network_text",
    "prepared_calls",
    "run_network",
    "simulate_network",
]
