"""Proofs that a scheduled affine program computes what the original does, for all inputs and all sizes. By islpy, the extra `prove`."""

from .proof import Proof, check, prove
from .sized import Sized, sized

__all__ = ["Proof", "Sized", "check", "prove", "sized"]
