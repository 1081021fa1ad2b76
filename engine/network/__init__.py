"""Networks: the distinct kernels of a model, and their costs on a machine, in the order in which an inference runs them."""

from .c_module import network_c
from .choice import choose_on_chip
from .differences import (
    KernelDifference,
    NetworkDifference,
    difference_json,
    difference_text,
    network_difference,
)
from .execute import run_network
from .frontends import is_model_file, lowered_text
from .kernels import Kernel, distinct_kernels, inference_counts, merged, open_sizes, prepared_calls
from .onchip import OnChipPlan, PlannedCall, PlannedTensor, Simulations, Transfer, plan_json, plan_text
from .report import KernelCost, NetworkReport, kernel_cost, simulate_network
from .search import (
    KernelState,
    KernelStudy,
    NetworkProgress,
    NetworkStudy,
    explore_network,
    progress_text,
    scheduled_program,
    study_json,
    study_text,
)
from .text import network_text
from .timeline import CallSpan, engine_loads, inference_spans, on_chip_bytes, reading_calls, tensor_text
from .trace import network_trace
from .tvm_module import network_tvm_python, network_tvm_script

__all__ = [
    "CallSpan",
    "Kernel",
    "KernelCost",
    "KernelDifference",
    "KernelState",
    "KernelStudy",
    "NetworkDifference",
    "NetworkProgress",
    "NetworkReport",
    "NetworkStudy",
    "OnChipPlan",
    "PlannedCall",
    "PlannedTensor",
    "Simulations",
    "Transfer",
    "choose_on_chip",
    "difference_json",
    "difference_text",
    "distinct_kernels",
    "engine_loads",
    "explore_network",
    "inference_counts",
    "inference_spans",
    "is_model_file",
    "kernel_cost",
    "lowered_text",
    "merged",
    "network_c",
    "network_difference",
    "network_text",
    "network_trace",
    "network_tvm_python",
    "network_tvm_script",
    "on_chip_bytes",
    "open_sizes",
    "plan_json",
    "plan_text",
    "prepared_calls",
    "progress_text",
    "reading_calls",
    "run_network",
    "scheduled_program",
    "simulate_network",
    "study_json",
    "study_text",
    "tensor_text",
]
