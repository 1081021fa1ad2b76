"""Tensor intrinsics of TVM: those that it has registered in this process, for traces that name them, and the names under which it
registers those that it defines, for texts that import their constants."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..schedule import Intrinsics, process_intrinsics
from ..script import from_tvm
from .instructions import Instruction

_NAMES = {
    "AMDGPU_SDOT4": "sdot4",
    "ARM_DOT_4x4_i8_NEON": "dot_4x4_i8i8s32_neon",
    "ARM_DOT_4x4_i8_SDOT": "dot_4x4_i8i8s32_sdot",
    "ARM_DOT_4x4_u8_HDOT": "dot_4x4_u8u8i32_hdot",
    "ARM_DOT_4x4_u8_UDOT": "dot_4x4_u8u8u32_udot",
    "AVX512_DOT_16x4": "dot_16x4_avx512",
    "ROCM_MFMA_LOAD_16x16_B_SHARED_f16": "rocm_mfma_load_b_16x16_shared_f16",
    "ROCM_MFMA_LOAD_16x16_B_SHARED_s8": "rocm_mfma_load_b_16x16_shared_s8",
    "ROCM_MFMA_LOAD_16x4_B_SHARED_f32": "rocm_mfma_load_b_16x4_shared_f32",
    "ROCM_MFMA_fill_16x16_f32": "ROCM_mfma_fill_16x16_f32",
    "ROCM_MFMA_fill_16x16_i32": "ROCM_mfma_fill_16x16_i32",
    "SIMDGROUP_FILLED_8x8x8_bf16": "simdgroup_fill_8x8x8_bf16",
    "SIMDGROUP_FILLED_8x8x8_f32": "simdgroup_fill_8x8x8_f32",
    "SIMDGROUP_MULTI_ACC_8x8x8_f16": "simdgroup_multiply_accumulate_8x8x8_f16",
    "VDMPY_i16i16i32": "dot_product_32x2_i16i16i32_vdmpy",
    "VNNI_DOT_16x4": "dot_16x4_vnni",
    "VRMPY_u8i8i32": "dot_32x4_u8i8i32_vrmpy",
    "VRMPY_u8i8i32_VTCM": "dot_32x4_u8i8i32_vtcm_vrmpy",
    "VRMPY_u8u8i32": "dot_32x4_u8u8i32_vrmpy",
    "VRMPY_u8u8i32_VTCM": "dot_32x4_u8u8i32_vtcm_vrmpy",
}
"""The names in `tvm.s_tir.tensor_intrin` of TVM 0.27 that follow no rule."""
INTRINSIC_SUFFIX = "_INTRIN"


def registered_name(constant: str) -> str:
    """Return the name that a constant of TVM has as its value: "wmma_fill_16x16x16_f32" of WMMA_FILL_16x16x16_F32_INTRIN."""
    bare = constant.removesuffix(INTRINSIC_SUFFIX)
    name = bare.lower()
    if bare in _NAMES:
        return _NAMES[bare]
    if name.startswith("ldmatrix"):
        return f"mma_{name}"
    if bare.startswith("MMA_store"):
        return f"{name}_"
    if name.startswith("wmma_load"):
        return f"{name.removesuffix('_dyn')}_shared{'_dyn' if name.endswith('_dyn') else ''}"
    return name


def intrinsics_for(instructions: Iterable[Instruction]) -> Intrinsics:
    """Return Tilewright's registered intrinsics, and those of TVM that the instructions name and Tilewright lacks.

    TVM is not imported: a program that builds traces has loaded it. An unknown name is left to `tensorize`, which refuses it.
    """
    own = process_intrinsics()
    lacking = {name: _registered(name) for name in _named(instructions) if own.find(name) is None}
    added = {name: theirs for name, theirs in lacking.items() if theirs is not None}
    if not added:
        return own
    found = own.copy()
    for name, theirs in added.items():
        found.register(name, from_tvm(theirs.desc), from_tvm(theirs.impl))
    return found


def _named(instructions: Iterable[Instruction]) -> list[str]:
    calls = [i for i in instructions if i.method == "tensorize"]
    values = [value for i in calls for value in (*i.args[1:2], i.kwargs.get("tensor_intrin"))]
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


def _registered(name: str) -> Any:
    for module in ("tvm.s_tir", "tvm.tir"):
        table = getattr(sys.modules.get(module), "TensorIntrin", None)
        found = None if table is None else table.get(name, True)
        if found is not None:
            return found
    return None
