"""Memories of an AI core as scopes of buffers, with tilelang-ascend's names."""

from __future__ import annotations

L1, L0A, L0B, L0C, UB = "shared.l1", "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator", "shared"
CUBE = (L1, L0A, L0B, L0C)
"""The memories of the cube core."""
ALLOCATIONS = {"alloc_L1": L1, "alloc_L0A": L0A, "alloc_L0B": L0B, "alloc_L0C": L0C, "alloc_ub": UB}

__all__ = ["ALLOCATIONS", "CUBE", "L0A", "L0B", "L0C", "L1", "UB"]
