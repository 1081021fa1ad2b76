"""Proofs that a scheduled affine program is equivalent to the original, for all inputs and all sizes. Needs islpy, the extra `prove`."""

from .proof import QUICK_RUN, Proof, check, prove, tested
from .sized import Sized, sized

__all__ = ["QUICK_RUN", "Proof", "Sized", "check", "prove", "sized", "tested"]
