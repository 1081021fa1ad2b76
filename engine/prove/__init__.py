"""Proofs that a scheduled affine program computes what the original does, for all inputs and all sizes. By islpy, the extra `prove`."""

from .proof import Proof, check, prove

__all__ = ["Proof", "check", "prove"]
