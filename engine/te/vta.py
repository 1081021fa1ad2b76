"""VTA's configuration in its tutorials, `env = vta.get_env()`: the default configuration.

Source: apache/tvm-vta config/pynq_sample.json, python/vta/environment.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..script.subset.scope import Value
from ..script.subset.values import Attributes
from .model import Intrinsic

ENVIRONMENT: Final[dict[str, int | float | str]] = {
    "TARGET": "pynq",
    "BATCH": 1,
    "BLOCK_IN": 16,
    "BLOCK_OUT": 16,
    "INP_WIDTH": 8,
    "WGT_WIDTH": 8,
    "ACC_WIDTH": 32,
    "OUT_WIDTH": 8,
    "inp_dtype": "int8",
    "wgt_dtype": "int8",
    "acc_dtype": "int32",
    "out_dtype": "int8",
    "inp_scope": "local.inp_buffer",
    "wgt_scope": "local.wgt_buffer",
    "acc_scope": "local.acc_buffer",
    "dma_copy": "dma_copy",
    "alu": "alu",
}
"""Default values."""


def environment(values: Mapping[str, Value] | None = None) -> Attributes:
    """Return the environment, with other `values`; its instruction for matrices has no text."""
    real = {**ENVIRONMENT, "gemm": Intrinsic()}
    mock = Attributes({**real, "dma_copy": "skip_dma_copy", "alu": "skip_alu"}, "VTA's environment")
    return Attributes({**real, "mock": mock, **(values or {})}, "VTA's environment")
